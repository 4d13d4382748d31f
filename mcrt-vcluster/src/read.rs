//! What is watched, and what the Secret of a vcluster says.
use crate::Vcluster;
use mcrt::{
    ObjectKey, Properties, Store,
    cache::WatchScope,
    connect::{Connection, Rejected},
    k8s_openapi::api::core::v1::Secret,
    kube::core::ApiResource,
    provider::{
        ClusterSpec,
        host::{Described, HostReader, HostSource},
    },
};

/// What the Secret of a vcluster is called before the vcluster's name.
const PREFIX: &str = "vc-";
const KEY: &str = "config";
/// In the Secret `vc-config-NAME`, which holds what the vcluster was made of and is no cluster.
const VALUES: &str = "config.yaml";

impl HostSource for Vcluster {
    type View = Store<Secret>;

    async fn open(&self, reader: &mut HostReader) -> Result<Self::View, String> {
        let mut scope = WatchScope::all(ApiResource::erase::<Secret>(&()));
        scope.namespaces.clone_from(&self.namespaces);
        scope.labels.clone_from(&self.labels);
        if self.labels.is_none() {
            // Not the tokens of service accounts, at least, nor what Helm keeps.
            scope.fields = Some("type=Opaque".to_owned());
        }
        let itself = |secret: &Secret| vec![ObjectKey::of(secret)];
        Ok(reader.watch(scope, (), itself).await)
    }

    fn describe(&self, secrets: &Self::View, object: &ObjectKey) -> Vec<Described> {
        let Some(secret) = secrets.get(object) else {
            return Vec::new();
        };
        let Some(name) = object.name.strip_prefix(PREFIX).filter(|name| !name.is_empty()) else {
            return Vec::new();
        };
        if secret.metadata.deletion_timestamp.is_some() || !self.is_meant(&secret) {
            return Vec::new();
        }
        let namespace = object.namespace.as_deref().unwrap_or_default();
        let cluster = match self.names.of(&ObjectKey::namespaced(namespace, name)) {
            Ok(cluster) => cluster,
            Err(reason) => {
                return vec![Described::Nameless(format!(
                    "Secret `{object}`: vcluster {reason}"
                ))];
            }
        };
        vec![match self.connection(&secret, namespace, name) {
            Ok(connection) => {
                let mut properties = Properties::default();
                properties.labels = secret.metadata.labels.clone().unwrap_or_default();
                let uid = secret.metadata.uid.clone().unwrap_or_default();
                Described::Cluster(ClusterSpec::new(cluster, uid, connection).with_properties(properties))
            }
            Err(reason) => Described::Unusable {
                name: cluster,
                reason: format!("Secret `{object}`: {reason}"),
            },
        }]
    }
}

impl Vcluster {
    /// Whether a Secret called like that of a vcluster is one. Without the label its key alone tells.
    fn is_meant(&self, secret: &Secret) -> bool {
        let has = |key| secret.data.as_ref().is_some_and(|data| data.contains_key(key));
        has(KEY) || (self.labels.is_some() && !has(VALUES))
    }

    fn connection(&self, secret: &Secret, namespace: &str, name: &str) -> Result<Connection, String> {
        let data = secret.data.as_ref().and_then(|data| data.get(KEY));
        let data =
            data.ok_or_else(|| format!("has no key `{KEY}`: the vcluster writes it when it has started"))?;
        self.vetted(&data.0, namespace, name)
            .map_err(|rejected| format!("key `{KEY}`: {rejected}"))
    }

    fn vetted(&self, kubeconfig: &[u8], namespace: &str, name: &str) -> Result<Connection, Rejected> {
        // The address is vetted once it is the one to be used.
        let reading = self.policy.clone().allow_local_servers();
        let connection = Connection::from_bytes(kubeconfig, None, &reading)?;
        let server = self.address.server(&connection.server(), namespace, name);
        let connection = connection.with_server(&server, &self.policy)?;
        match &self.tls_server_name {
            Some(name) => connection.with_tls_server_name(name),
            None => Ok(connection),
        }
    }
}
