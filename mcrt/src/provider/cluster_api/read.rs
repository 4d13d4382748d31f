//! What is watched, and what a Cluster and its Secret say together.
use super::ClusterApi;
use crate::{
    apis::cluster_api::{
        CLUSTER_NAME_LABEL, CONTROL_PLANE_AVAILABLE, Cluster, GROUP, REMOTE_CONNECTION_PROBE, VERSIONS,
    },
    cache::{Store, WatchScope},
    cluster::{ClusterName, ObjectKey, Properties, Property, PropertyOrigin},
    connect::Connection,
    provider::{
        ClusterSpec,
        host::{Described, HostReader, HostSource},
        secret,
    },
    redaction,
};
use k8s_openapi::{api::core::v1::Secret, apimachinery::pkg::apis::meta::v1::OwnerReference};
use kube::{
    Client,
    core::{ApiResource, DynamicObject, ObjectMeta},
};
use std::collections::BTreeMap;

/// What the Secret of a cluster is called after the cluster's name.
const SUFFIX: &str = "-kubeconfig";
const KEY: &str = "value";

/// The stores of one stream.
#[derive(Debug)]
pub struct View {
    /// Untyped: an object that does not fit its type must not keep the others from being listed.
    clusters: Store<DynamicObject>,
    secrets: Store<Secret>,
}

impl HostSource for ClusterApi {
    type View = View;

    async fn open(&self, reader: &mut HostReader) -> Result<View, String> {
        let resource = served(&reader.client()).await?;
        let scope = |resource: ApiResource, labels: Option<&String>| {
            let mut scope = WatchScope::all(resource);
            scope.namespaces.clone_from(&self.namespaces);
            scope.labels = labels.filter(|selector| !selector.is_empty()).cloned();
            scope
        };
        // The Secrets first: a cluster that is ready is then described by what is there.
        let secrets = scope(ApiResource::erase::<Secret>(&()), Some(&self.secret_labels));
        let secrets = reader
            .watch(secrets, (), |secret: &Secret| cluster_of(secret))
            .await;
        let clusters = scope(resource.clone(), self.labels.as_ref());
        let itself = |cluster: &DynamicObject| vec![ObjectKey::of(cluster)];
        let clusters = reader.watch(clusters, resource, itself).await;
        Ok(View { clusters, secrets })
    }

    fn describe(&self, view: &View, object: &ObjectKey) -> Vec<Described> {
        let Some(found) = view.clusters.get(object) else {
            return Vec::new();
        };
        if found.metadata.deletion_timestamp.is_some() {
            return Vec::new();
        }
        let name = match self.names.of(object) {
            Ok(name) => name,
            Err(reason) => return vec![Described::Nameless(format!("Cluster {reason}"))],
        };
        let cluster = match typed(&found) {
            Ok(cluster) => cluster,
            Err(part) => {
                let reason = format!("Cluster `{object}`: a value in `{part}` does not fit its type");
                return vec![Described::Unusable { name, reason }];
            }
        };
        if !cluster.is_control_plane_initialized() || (self.leave_when_paused && cluster.is_paused()) {
            return Vec::new();
        }
        vec![match self.connection(view, object, &cluster) {
            Ok(connection) => described(name, &cluster, connection),
            Err(reason) => Described::Unusable { name, reason },
        }]
    }
}

impl ClusterApi {
    fn connection(&self, view: &View, object: &ObjectKey, cluster: &Cluster) -> Result<Connection, String> {
        let key = ObjectKey {
            namespace: object.namespace.clone(),
            name: format!("{}{SUFFIX}", object.name).into(),
        };
        let secret = view.secrets.get(&key);
        // One that is being deleted is as good as gone, and may come again.
        let secret = secret.filter(|secret| secret.metadata.deletion_timestamp.is_none());
        let Some(secret) = secret else {
            let labels = match &*self.secret_labels {
                "" => String::new(),
                labels => format!(", or lacks the label `{labels}`"),
            };
            return Err(format!("Secret `{key}` is not there{labels}"));
        };
        self.belongs(&secret, object, cluster)
            .map_err(|reason| format!("Secret `{key}` {reason}"))?;
        secret::connection(&secret, KEY, None, &self.policy)
    }

    /// Whether a Secret of the right name is that of the cluster.
    fn belongs(&self, secret: &Secret, object: &ObjectKey, cluster: &Cluster) -> Result<(), String> {
        let labels = secret.metadata.labels.as_ref();
        if let Some(of) = labels.and_then(|labels| labels.get(CLUSTER_NAME_LABEL))
            && **of != *object.name
        {
            return Err(format!(
                "is that of the cluster `{of}`, by its label `{CLUSTER_NAME_LABEL}`"
            ));
        }
        let owners = secret.metadata.owner_references.as_deref().unwrap_or_default();
        let [first, ..] = owners else {
            return Ok(());
        };
        let mut clusters = owners
            .iter()
            .filter(|owner| group(owner) == GROUP && owner.kind == "Cluster")
            .peekable();
        if clusters.peek().is_some() {
            let uid = cluster.metadata.uid.as_deref();
            return if clusters.any(|owner| Some(&*owner.uid) == uid) {
                Ok(())
            } else {
                Err("is that of another Cluster, by its owner: it goes with that one".to_owned())
            };
        }
        if owners.iter().any(|owner| self.may_own(owner, cluster)) {
            return Ok(());
        }
        Err(format!(
            "is owned by a {} of {}, which is not of Cluster API: if it is the cluster's, allow that with \
             `ClusterApi::allow_owner`",
            first.kind,
            group(first)
        ))
    }

    fn may_own(&self, owner: &OwnerReference, cluster: &Cluster) -> bool {
        let group = group(owner);
        let references = [&cluster.spec.control_plane_ref, &cluster.spec.infrastructure_ref];
        let mut references = references.into_iter().flatten();
        group
            .strip_suffix(GROUP)
            .is_some_and(|parent| parent.ends_with('.'))
            || self.owners.iter().any(|allowed| allowed == group)
            || references.any(|reference| {
                (reference.group(), &reference.kind, &reference.name) == (group, &owner.kind, &owner.name)
            })
    }
}

fn group(owner: &OwnerReference) -> &str {
    owner.api_version.split_once('/').map_or("", |(group, _)| group)
}

/// The Cluster that a Secret is for, by its name: who else the name may be for is told apart once both are seen.
fn cluster_of(secret: &Secret) -> Vec<ObjectKey> {
    let mut key = ObjectKey::of(secret);
    let Some(cluster) = key.name.strip_suffix(SUFFIX).filter(|name| !name.is_empty()) else {
        return Vec::new();
    };
    key.name = cluster.into();
    vec![key]
}

/// The kind in the newest version that the host serves.
async fn served(client: &Client) -> Result<ApiResource, String> {
    for version in VERSIONS {
        let resource = Cluster::resource(version);
        match client.list_api_group_resources(&resource.api_version).await {
            Ok(list) if list.resources.iter().any(|served| served.name == resource.plural) => {
                return Ok(resource);
            }
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => {
                let why = redaction::texts(&error).pop().unwrap_or_default();
                return Err(format!("cannot ask the host for the versions of {GROUP}: {why}"));
            }
        }
    }
    Err(format!(
        "the host serves no Clusters of {GROUP} in {}: install Cluster API",
        VERSIONS.join(" or ")
    ))
}

/// The object as a Cluster, or the part of it that does not fit.
fn typed(object: &DynamicObject) -> Result<Cluster, &'static str> {
    fn part<T: serde::de::DeserializeOwned>(
        object: &DynamicObject,
        part: &'static str,
    ) -> Result<Option<T>, &'static str> {
        let value = object.data.get(part).cloned().unwrap_or_default();
        serde_json::from_value(value).map_err(|_| part)
    }
    Ok(Cluster {
        spec: part(object, "spec")?.unwrap_or_default(),
        status: part(object, "status")?,
        metadata: ObjectMeta::clone(&object.metadata),
    })
}

fn described(name: ClusterName, cluster: &Cluster, connection: Connection) -> Described {
    let properties = Properties {
        labels: cluster.metadata.labels.clone().unwrap_or_default(),
        named: named(cluster),
    };
    let uid = cluster.metadata.uid.clone().unwrap_or_default();
    Described::Cluster(ClusterSpec::new(name, uid, connection).with_properties(properties))
}

fn named(cluster: &Cluster) -> BTreeMap<String, Property> {
    let topology = cluster.spec.topology.as_ref();
    let given = [
        ("topology.class", topology.and_then(|topology| topology.class())),
        (
            "topology.version",
            topology.and_then(|topology| topology.version.as_deref()),
        ),
        ("paused", cluster.is_paused().then_some("true")),
        (
            CONTROL_PLANE_AVAILABLE,
            cluster.condition(CONTROL_PLANE_AVAILABLE),
        ),
        (
            REMOTE_CONNECTION_PROBE,
            cluster.condition(REMOTE_CONNECTION_PROBE),
        ),
    ];
    let property = |(name, value): (&str, Option<&str>)| {
        let property = Property {
            value: value?.to_owned(),
            origin: PropertyOrigin::Provider,
        };
        Some((name.to_owned(), property))
    };
    given.into_iter().filter_map(property).collect()
}
