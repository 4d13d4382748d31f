//! One context of a kubeconfig, read by allow-list.
//!
//! Each field of the chosen context, cluster and user is obeyed, allowed by the policy, or a reason to refuse: nothing
//! is passed over in silence. No reason repeats a value.
mod address;
mod choose;
pub(super) mod elsewhere;
mod exec;
mod field;
mod impersonate;
#[cfg(any(test, feature = "fuzzing"))]
mod property;
mod tls;
mod user;

use super::{
    connection::{Connection, Credentials},
    error::Rejected,
    kubeconfig::{self, CLUSTER},
    policy::Policy,
};
#[cfg(test)]
pub(super) use property::SECRET;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use property::vetting_holds;

use choose::Chosen;
use field::{At, unknown};
use kube::config::{Cluster, Context, Kubeconfig};

/// Vets a context of a text; without a name the current one, or the only one.
pub(super) fn bytes(bytes: &[u8], context: Option<&str>, policy: &Policy) -> Result<Connection, Rejected> {
    let kubeconfig = kubeconfig::parse_one(bytes)?;
    let name = choose::name(&kubeconfig, context)?;
    self::context(&kubeconfig, name, policy)
}

/// Vets one context.
pub(super) fn context(kubeconfig: &Kubeconfig, name: &str, policy: &Policy) -> Result<Connection, Rejected> {
    let chosen = Chosen::of(kubeconfig, name)?;
    let at_context = At::new(name, policy, format!("contexts[{}].context", field::shown(name)));
    let at_cluster = chosen.at_cluster(policy);
    refuse_unknown(&at_context, &at_cluster, chosen.context, chosen.cluster)?;
    let server = address::server(chosen.cluster, &at_cluster)?;
    let proxy = address::proxy(chosen.cluster, &at_cluster)?;
    let authorities = tls::authorities(chosen.cluster, &at_cluster)?;
    let mut connection = Connection {
        context: name.to_owned(),
        server,
        namespace: namespace(chosen.context, &at_context)?,
        trust: tls::trust(chosen.cluster, authorities.as_ref(), &at_cluster)?,
        tls_server_name: tls::server_name(chosen.cluster, &at_cluster)?,
        proxy,
        identity: None,
        credentials: Credentials::None,
        impersonate: None,
    };
    let Some(user) = chosen.user else {
        return Ok(connection);
    };
    let at_user = chosen.at_user(policy);
    user::refuse(user, &at_user)?;
    connection.identity = tls::identity(user, &at_user)?;
    connection.credentials = user::credentials(user, &at_user)?;
    connection.impersonate = impersonate::impersonate(user, &at_user)?;
    if let Some(config) = &user.exec {
        let told = exec::Told {
            cluster: chosen.cluster,
            authorities: authorities.as_ref().map(|(_, pem)| pem.as_slice()),
        };
        let plugin = exec::plugin(config, &told, &at_user)?;
        // As for kubectl: who has something to show already, asks no program.
        if connection.identity.is_none() && matches!(connection.credentials, Credentials::None) {
            connection.credentials = Credentials::Exec(plugin.into());
        }
    }
    Ok(connection)
}

fn refuse_unknown(
    at_context: &At<'_>,
    at_cluster: &At<'_>,
    context: &Context,
    cluster: &Cluster,
) -> Result<(), Rejected> {
    unknown(&context.other, at_context, "", &["cluster", "user", "namespace"])?;
    unknown(&cluster.other, at_cluster, "", CLUSTER)
}

fn namespace(context: &Context, at: &At<'_>) -> Result<String, Rejected> {
    let Some(namespace) = nonempty(context.namespace.as_ref()) else {
        return Ok("default".to_owned());
    };
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if namespace.len() > 63 || !namespace.chars().all(fits) {
        // It becomes part of paths of requests.
        return Err(at.invalid(".namespace", "not a name that a namespace can have"));
    }
    Ok(namespace.to_owned())
}

fn nonempty(text: Option<&String>) -> Option<&str> {
    text.map(String::as_str).filter(|text| !text.is_empty())
}
