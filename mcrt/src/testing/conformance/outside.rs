//! API servers that are not simulated: reached by the kubeconfig of an administrator.
use super::{
    reach::{Port, Reach, Way},
    relay::Relay,
};
use crate::connect::{Access, Connection, Policy};
use crate::redaction::undecodable;
use http::{Uri, uri::Authority};
use k8s_openapi::api::{
    authentication::v1::TokenRequest, core::v1::ServiceAccount, rbac::v1::ClusterRoleBinding,
};
use kube::{
    Api, Client,
    api::{DeleteParams, PostParams},
    config::Kubeconfig,
};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::{collections::BTreeMap, fmt, process};

/// An API server anywhere, and the way of its administrator.
///
/// The kit gives every description of it credentials of its own: service accounts in namespace `default`, bound to
/// `cluster-admin`. They stay behind: use servers that are made for tests.
pub struct Outside {
    pub(super) url: String,
    pub(super) ca_pem: String,
    pub(super) access: Access,
    /// The account behind each token.
    accounts: Mutex<BTreeMap<String, String>>,
}

/// The namespace of the accounts.
const NAMESPACE: &str = "default";

impl Outside {
    /// A server as the only context of a kubeconfig tells it: address, inline authority and what an administrator
    /// logs in by.
    ///
    /// # Panics
    /// If the kubeconfig cannot be used.
    pub fn of(kubeconfig: &str) -> Self {
        let policy = Policy::strict().allow_local_servers();
        let access = match Connection::from_bytes(kubeconfig, None, &policy) {
            Ok(connection) => connection.into(),
            Err(error) => panic!("the kubeconfig of a server of the site cannot be used: {error}"),
        };
        // The error is not shown: it may quote a value. The text has been vetted, so there is none.
        let Ok(read) = Kubeconfig::from_yaml(kubeconfig) else {
            panic!("the kubeconfig of a server of the site cannot be read");
        };
        let cluster = read.clusters.into_iter().find_map(|named| named.cluster);
        let (url, ca) = cluster
            .map(|cluster| (cluster.server, cluster.certificate_authority_data))
            .unwrap_or_default();
        Self {
            url: url.unwrap_or_default(),
            ca_pem: ca.as_deref().map(decoded).unwrap_or_default(),
            access,
            accounts: Mutex::default(),
        }
    }

    /// Makes an account that may do everything and gives a token of it.
    pub(super) async fn admit(&self, client: &Client, number: u64) -> String {
        let account = format!("conformance-{}-{number}", process::id());
        let token = account_token(client, NAMESPACE, &account).await;
        let binding: ClusterRoleBinding = made(json!({
            "metadata": {"name": account},
            "roleRef": role_ref("ClusterRole", "cluster-admin"),
            "subjects": [subject(NAMESPACE, &account)],
        }));
        let bindings = Api::<ClusterRoleBinding>::all(client.clone());
        done(
            "bind an account",
            bindings.create(&PostParams::default(), &binding).await,
        );
        self.accounts.lock().insert(token.clone(), account);
        token
    }

    /// Deletes the account behind a token.
    pub(super) async fn revoke(&self, client: &Client, token: &str) {
        let account = self.accounts.lock().remove(token);
        if let Some(account) = account {
            let accounts = Api::<ServiceAccount>::namespaced(client.clone(), NAMESPACE);
            done(
                "delete an account",
                accounts.delete(&account, &DeleteParams::default()).await,
            );
        }
    }
}

/// Makes an account and gives a token of it.
pub(super) async fn account_token(client: &Client, namespace: &str, account: &str) -> String {
    let accounts = Api::<ServiceAccount>::namespaced(client.clone(), namespace);
    let new: ServiceAccount = made(json!({"metadata": {"name": account}}));
    done(
        "create an account",
        accounts.create(&PostParams::default(), &new).await,
    );
    let request: TokenRequest = made(json!({"spec": {"audiences": []}}));
    let answer = accounts
        .create_token_request(account, &PostParams::default(), &request)
        .await;
    let answer = serde_json::to_value(done("ask for a token", answer)).unwrap_or_default();
    answer["status"]["token"].as_str().unwrap_or_default().to_owned()
}

impl Outside {
    /// The way of somebody with a token, past a relay.
    pub(super) fn access(&self, relay: &Relay, token: String) -> Access {
        let reach = Reach(Way::Port(Port {
            url: self.url.clone(),
            ca_pem: self.ca_pem.clone(),
            token,
        }));
        let name = self.authority().host().trim_matches(['[', ']']).to_owned();
        let relayed = reach.connection().and_then(|connection| {
            connection
                .with_server(&relay.url(), &Policy::strict().allow_local_servers())?
                .with_tls_server_name(&name)
        });
        match relayed {
            Ok(connection) => connection.into(),
            Err(error) => panic!("the host of the site cannot be reached past a relay: {error}"),
        }
    }

    /// Where a relay leads.
    pub(super) fn relay(&self) -> Relay {
        let authority = self.authority();
        Relay::to(format!(
            "{}:{}",
            authority.host(),
            authority.port_u16().unwrap_or(443)
        ))
    }

    fn authority(&self) -> Authority {
        let url = self.url.parse::<Uri>().ok();
        match url.and_then(|url| url.authority().cloned()) {
            Some(authority) => authority,
            None => panic!("the address of a server of the site has no host: {}", self.url),
        }
    }
}

/// An object from JSON: which fields are optional depends on the version of Kubernetes that is built against.
pub(super) fn made<K: DeserializeOwned>(object: Value) -> K {
    match serde_json::from_value(object) {
        Ok(object) => object,
        Err(error) => panic!("an object cannot be read: {}", undecodable(&error)),
    }
}

pub(super) fn role_ref(kind: &str, name: &str) -> Value {
    json!({"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name})
}

pub(super) fn subject(namespace: &str, account: &str) -> Value {
    json!({"kind": "ServiceAccount", "namespace": namespace, "name": account})
}

/// What the kit does for itself has to succeed.
pub(super) fn done<T>(what: &str, result: kube::Result<T>) -> T {
    match result {
        Ok(done) => done,
        Err(error) => panic!("the kit failed to {what}: {error}"),
    }
}

/// The text in a `*-data` field, as JSON would decode it.
fn decoded(data: &str) -> String {
    let bytes: Result<k8s_openapi::ByteString, _> = serde_json::from_value(data.into());
    bytes
        .ok()
        .and_then(|bytes| String::from_utf8(bytes.0).ok())
        .unwrap_or_default()
}

/// Shows no token.
impl fmt::Debug for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Outside").field(&self.url).finish()
    }
}
