//! `access`: the fields of a kubeconfig's cluster and user in one object, made into a kubeconfig to be vetted.
use crate::{
    cluster::ClusterName,
    connect::{CLUSTER, USER},
};
use serde_json::{Map, Value, json};

/// The field of a context.
pub(super) const NAMESPACE: &str = "namespace";

/// A kubeconfig with one context, called like the cluster.
pub(super) fn kubeconfig(name: &ClusterName, access: Map<String, Value>) -> Result<String, String> {
    let (mut cluster, mut user) = (Map::new(), Map::new());
    let mut context = Map::new();
    for (field, value) in access {
        let part = match field.as_str() {
            NAMESPACE => &mut context,
            field if CLUSTER.contains(&field) => &mut cluster,
            field if USER.contains(&field) => &mut user,
            _ => {
                return Err(format!(
                    "`access` in its line has a field that is not known; known are {}, {}, {NAMESPACE}",
                    CLUSTER.join(", "),
                    USER.join(", ")
                ));
            }
        };
        // As good as absent, but for its name, which may be a typo.
        if !value.is_null() {
            part.insert(field, value);
        }
    }
    let name = name.as_str();
    for part in ["cluster", "user"] {
        context.insert(part.to_owned(), name.into());
    }
    let kubeconfig = json!({
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": context}],
        "current-context": name,
    });
    Ok(kubeconfig.to_string())
}
