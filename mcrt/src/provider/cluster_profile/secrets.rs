//! The deprecated way: a Secret with the kubeconfig of each profile, for one consumer.
use super::{ClusterProfiles, links::is_leaving, options::SecretLayout, source::View};
use crate::{
    cache::{Store, WatchScope},
    cluster::ObjectKey,
    connect::Connection,
    provider::{host::HostReader, secret},
};
use k8s_openapi::api::core::v1::Secret;
use kube::core::ApiResource;
use std::sync::Arc;

const CONSUMER: &str = "x-k8s.io/cluster-inventory-consumer";
const PROFILE: &str = "x-k8s.io/cluster-profile";
const PROFILE_NAMESPACE: &str = "x-k8s.io/cluster-profile-namespace";
/// The key of the data.
const KEY: &str = "Config";

/// A selector of what is labelled for this consumer.
pub(super) fn consumed_by(consumer: &str) -> String {
    format!("{CONSUMER}={consumer}")
}

impl ClusterProfiles {
    pub(super) async fn watch_secrets(
        &self,
        reader: &mut HostReader,
        consumer: &str,
        layout: SecretLayout,
    ) -> Result<Store<Secret>, String> {
        if !is_label_value(consumer) {
            return Err("the name of the consumer is no value that a label can have: correct it".to_owned());
        }
        let mut scope = WatchScope::all(ApiResource::erase::<Secret>(&()));
        scope.labels = Some(PROFILE.to_owned());
        if layout == SecretLayout::Labels {
            scope.labels = Some(format!("{},{PROFILE}", consumed_by(consumer)));
            scope.namespaces.clone_from(&self.namespaces);
        }
        let state = Arc::clone(&self.state);
        let affected = move |secret: &Secret| {
            let key = ObjectKey::of(secret);
            let links = &mut state.lock().links;
            let profiles = profiles(secret, layout).into_iter();
            profiles.map(|profile| links.secret(&key, profile)).collect()
        };
        Ok(reader.watch(scope, (), affected).await)
    }

    pub(super) fn by_secret(
        &self,
        view: &View,
        profile: &ObjectKey,
        layout: SecretLayout,
    ) -> Result<Connection, String> {
        let known = self.state.lock().links.secrets(profile);
        let mut found = Vec::new();
        for key in known {
            match view.secrets.as_ref().and_then(|secrets| secrets.get(&key)) {
                Some(secret) if profiles(&secret, layout).contains(profile) => {
                    if !is_leaving(&*secret) && self.is_for_us(view, &secret, profile) {
                        found.push((key, secret));
                    }
                }
                _ => self.state.lock().links.forget_secret(profile, &key),
            }
        }
        let secret = match &found[..] {
            [(_, secret)] => secret,
            [] => {
                return Err("not ready: there is no Secret with its kubeconfig for this consumer".to_owned());
            }
            [(one, _), (other, _), ..] => {
                return Err(format!(
                    "there are several Secrets with its kubeconfig, such as `{one}` and `{other}`: keep one"
                ));
            }
        };
        secret::connection(secret, KEY, None, &self.policy)
    }

    /// Whether a Secret of a profile is meant for this consumer, in one of the layouts that count.
    fn is_for_us(&self, view: &View, secret: &Secret, profile: &ObjectKey) -> bool {
        let super::Way::Secrets { consumer, layout } = &self.way else {
            return false;
        };
        let labelled = || {
            let labels = secret.metadata.labels.as_ref();
            labels.and_then(|labels| labels.get(CONSUMER)) == Some(consumer)
                && secret.metadata.namespace.as_deref() == profile.namespace.as_deref()
                && name(secret) == Some(&*profile.name)
        };
        let consumed = || {
            let namespace = secret.metadata.namespace.as_deref().unwrap_or_default();
            let consumed = view.consumed.as_ref();
            consumed.is_some_and(|consumed| consumed.get(&ObjectKey::cluster_scoped(namespace)).is_some())
                && elsewhere(secret).as_ref() == Some(profile)
        };
        match layout {
            SecretLayout::Labels => labelled(),
            SecretLayout::Namespaces => consumed(),
            SecretLayout::Both => labelled() || consumed(),
        }
    }
}

/// The profiles that a Secret may be of.
fn profiles(secret: &Secret, layout: SecretLayout) -> Vec<ObjectKey> {
    let beside = name(secret).map(|name| {
        let namespace = secret.metadata.namespace.as_deref().unwrap_or_default();
        ObjectKey::namespaced(namespace, name)
    });
    let profiles = match layout {
        SecretLayout::Labels => [beside, None],
        SecretLayout::Namespaces => [None, elsewhere(secret)],
        SecretLayout::Both => [beside, elsewhere(secret)],
    };
    profiles.into_iter().flatten().collect()
}

/// The profile that a Secret in a consumer's namespace names.
fn elsewhere(secret: &Secret) -> Option<ObjectKey> {
    let labels = secret.metadata.labels.as_ref()?;
    let namespace = labels.get(PROFILE_NAMESPACE).map_or("default", String::as_str);
    Some(ObjectKey::namespaced(namespace, name(secret)?))
}

fn name(secret: &Secret) -> Option<&str> {
    let labels = secret.metadata.labels.as_ref()?;
    labels.get(PROFILE).map(String::as_str)
}

fn is_label_value(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    text.len() <= 63 && text.chars().all(fits) && edge(text.chars().next()) && edge(text.chars().last())
}
