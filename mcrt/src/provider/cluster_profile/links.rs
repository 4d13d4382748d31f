//! Which objects belong together: the profiles of one cluster, those that claim one id, the Secrets of a profile.
use super::options::SameCluster;
use crate::{apis::cluster_property::CLUSTER_ID, cluster::ObjectKey};
use kube::{Resource, core::DynamicObject};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Read from the objects as they come. What has vanished may still be named here: whoever asks looks into the stores.
#[derive(Debug, Default)]
pub(super) struct Links {
    profiles: BTreeMap<ObjectKey, Linked>,
    groups: BTreeMap<ObjectKey, BTreeSet<ObjectKey>>,
    ids: BTreeMap<String, BTreeSet<ObjectKey>>,
    /// By profile.
    secrets: BTreeMap<ObjectKey, BTreeSet<ObjectKey>>,
    /// By namespace, the profiles of the Secrets in it.
    secrets_in: BTreeMap<String, BTreeSet<ObjectKey>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Linked {
    group: ObjectKey,
    id: Option<String>,
}

impl Links {
    /// A profile has appeared, changed or gone: the groups to describe again.
    pub(super) fn profile(&mut self, profile: &DynamicObject, same: Option<SameCluster>) -> Vec<ObjectKey> {
        let key = ObjectKey::of(profile);
        let linked = Linked::of(profile, &key, same);
        let before = self.profiles.insert(key.clone(), linked.clone());
        let mut ids = BTreeSet::new();
        let mut affected = BTreeSet::from([linked.group.clone()]);
        if let Some(before) = before.filter(|before| *before != linked) {
            affected.insert(before.group.clone());
            ids.extend(before.id.clone());
            self.unlink(&key, &before);
        }
        self.groups.entry(linked.group).or_default().insert(key.clone());
        if let Some(id) = linked.id {
            self.ids.entry(id.clone()).or_default().insert(key);
            ids.insert(id);
        }
        for id in ids {
            affected.extend(self.claimants(&id).iter().map(|key| self.group(key)));
        }
        affected.into_iter().collect()
    }

    /// A Secret of this key belongs to the profile of that key.
    pub(super) fn secret(&mut self, secret: &ObjectKey, profile: ObjectKey) -> ObjectKey {
        let group = self.group(&profile);
        if let Some(namespace) = secret.namespace.as_deref() {
            let profiles = self.secrets_in.entry(namespace.to_owned()).or_default();
            profiles.insert(profile.clone());
        }
        self.secrets.entry(profile).or_default().insert(secret.clone());
        group
    }

    /// The group of a profile; one that is not known yet is described when it is.
    pub(super) fn group(&self, profile: &ObjectKey) -> ObjectKey {
        let linked = self.profiles.get(profile);
        linked.map_or_else(|| profile.clone(), |linked| linked.group.clone())
    }

    pub(super) fn id(&self, profile: &ObjectKey) -> Option<&str> {
        self.profiles.get(profile)?.id.as_deref()
    }

    /// The profiles that claim an id.
    pub(super) fn claimants(&self, id: &str) -> Vec<ObjectKey> {
        self.ids.get(id).into_iter().flatten().cloned().collect()
    }

    /// The profiles of a group.
    pub(super) fn members(&self, group: &ObjectKey) -> Vec<ObjectKey> {
        self.groups.get(group).into_iter().flatten().cloned().collect()
    }

    /// The Secrets of a profile.
    pub(super) fn secrets(&self, profile: &ObjectKey) -> Vec<ObjectKey> {
        self.secrets.get(profile).into_iter().flatten().cloned().collect()
    }

    /// The groups of the profiles in a namespace, and of those whose Secrets are in it.
    pub(super) fn namespace(&self, namespace: &str) -> Vec<ObjectKey> {
        let in_it = |key: &&ObjectKey| key.namespace.as_deref() == Some(namespace);
        let profiles = self.profiles.keys().filter(in_it);
        let secrets = self.secrets_in.get(namespace).into_iter().flatten();
        let groups: BTreeSet<_> = profiles.chain(secrets).map(|key| self.group(key)).collect();
        groups.into_iter().collect()
    }

    /// A profile is gone.
    pub(super) fn forget(&mut self, profile: &ObjectKey) {
        if let Some(linked) = self.profiles.remove(profile) {
            self.unlink(profile, &linked);
        }
    }

    /// A Secret is gone, or belongs to another profile.
    pub(super) fn forget_secret(&mut self, profile: &ObjectKey, secret: &ObjectKey) {
        remove(&mut self.secrets, profile, secret);
    }

    fn unlink(&mut self, profile: &ObjectKey, linked: &Linked) {
        remove(&mut self.groups, &linked.group, profile);
        if let Some(id) = &linked.id {
            remove(&mut self.ids, id, profile);
        }
    }
}

fn remove<K: Ord>(map: &mut BTreeMap<K, BTreeSet<ObjectKey>>, key: &K, value: &ObjectKey) {
    if let Some(set) = map.get_mut(key) {
        set.remove(value);
        if set.is_empty() {
            map.remove(key);
        }
    }
}

impl Linked {
    /// Reads what it needs and no more: a profile that does not fit its type stays in its group.
    fn of(profile: &DynamicObject, key: &ObjectKey, same: Option<SameCluster>) -> Self {
        let text = |path: &str| {
            let text = profile.data.pointer(path).and_then(Value::as_str);
            text.filter(|text| !text.is_empty())
        };
        let properties = profile
            .data
            .pointer("/status/properties")
            .and_then(Value::as_array);
        let named = |property: &&Value| property.get("name").and_then(Value::as_str) == Some(CLUSTER_ID);
        let property = properties.and_then(|properties| properties.iter().find(named));
        let id = property.and_then(|property| property.get("value")?.as_str());
        let group = match same {
            None => None,
            Some(SameCluster::DisplayName) => text("/spec/displayName").map(|name| {
                let manager = text("/spec/clusterManager/name").unwrap_or_default();
                format!("{manager}: {name}")
            }),
            Some(SameCluster::ClusterId) => id.map(|id| format!("id: {id}")),
        };
        Self {
            group: group.map_or_else(|| key.clone(), ObjectKey::cluster_scoped),
            id: id.filter(|id| !id.is_empty()).map(str::to_owned),
        }
    }
}

/// Whether an object is on its way out.
pub(super) fn is_leaving(object: &impl Resource) -> bool {
    object.meta().deletion_timestamp.is_some()
}
