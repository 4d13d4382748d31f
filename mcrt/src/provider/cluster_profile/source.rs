//! What the host has: the watches, and what the profiles of one cluster say together.
use super::{ClusterProfiles, Way, links::is_leaving, options::SecretLayout, program, secrets};
use crate::{
    apis::cluster_profile::{CLUSTER_SET_LABELS, CONTROL_PLANE_HEALTHY, ClusterProfile},
    cache::{Store, WatchScope},
    cluster::{ClusterName, ObjectKey, Properties, Property, PropertyOrigin},
    connect::Connection,
    provider::{
        ClusterSpec,
        host::{Described, HostReader, HostSource},
    },
    redaction,
};
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::core::{ApiResource, DynamicObject, PartialObjectMeta};
use std::{collections::BTreeMap, sync::Arc};

/// The property with the version of Kubernetes, from `status.version`.
const VERSION: &str = "kubernetes-version";

/// The stores of one stream.
#[derive(Debug)]
pub struct View {
    profiles: Store<DynamicObject>,
    /// Where cluster sets are asked for.
    namespaces: Option<Store<PartialObjectMeta<Namespace>>>,
    pub(super) secrets: Option<Store<Secret>>,
    /// The namespaces with Secrets for this consumer.
    pub(super) consumed: Option<Store<PartialObjectMeta<Namespace>>>,
}

/// A profile that counts.
pub(super) struct Live {
    pub(super) key: ObjectKey,
    pub(super) uid: String,
    labels: BTreeMap<String, String>,
    /// It may not fit its type: then why.
    read: Result<ClusterProfile, String>,
}

impl HostSource for ClusterProfiles {
    type View = View;

    async fn open(&self, reader: &mut HostReader) -> Result<View, String> {
        let kind = ApiResource::erase::<ClusterProfile>(&());
        let mut scope = WatchScope::all(kind.clone());
        scope.namespaces.clone_from(&self.namespaces);
        scope.labels.clone_from(&self.labels);
        let (state, same) = (Arc::clone(&self.state), self.same);
        // As it comes: one that does not fit its type must not hold up the others.
        let affected = move |profile: &DynamicObject| state.lock().profile(profile, same);
        let profiles = reader.watch(scope, kind, affected).await;
        let namespaces = match self.cluster_sets[..] {
            [] => None,
            _ => Some(self.watch_namespaces(reader, None).await),
        };
        let (mut secrets, mut consumed) = (None, None);
        if let Way::Secrets { consumer, layout } = &self.way {
            tracing::warn!(
                "clusters are reached by Secrets of ClusterProfiles, which the proposal has deprecated: use access \
                 providers"
            );
            secrets = Some(self.watch_secrets(reader, consumer, *layout).await?);
            if *layout != SecretLayout::Labels {
                let labels = secrets::consumed_by(consumer);
                consumed = Some(self.watch_namespaces(reader, Some(labels)).await);
            }
        }
        Ok(View {
            profiles,
            namespaces,
            secrets,
            consumed,
        })
    }

    fn describe(&self, view: &View, group: &ObjectKey) -> Vec<Described> {
        let live = self.live_of(view, group);
        let Some(chosen) = self.choose(view, group, &live) else {
            self.state.lock().memory.forget_group(group);
            return Vec::new();
        };
        vec![self.one(view, chosen)]
    }
}

impl ClusterProfiles {
    async fn watch_namespaces(
        &self,
        reader: &mut HostReader,
        labels: Option<String>,
    ) -> Store<PartialObjectMeta<Namespace>> {
        let mut scope = WatchScope::all(ApiResource::erase::<Namespace>(&()));
        scope.labels = labels;
        let state = Arc::clone(&self.state);
        let affected = move |namespace: &PartialObjectMeta<Namespace>| {
            let name = namespace.metadata.name.as_deref().unwrap_or_default();
            state.lock().links.namespace(name)
        };
        reader.watch(scope, (), affected).await
    }

    /// The profiles of a group that count: there, selected, and not on their way out.
    fn live_of(&self, view: &View, group: &ObjectKey) -> Vec<Live> {
        let mut members = self.state.lock().links.members(group);
        if members.is_empty() {
            // A Secret may have come before its profile.
            members.push(group.clone());
        }
        let live = members.into_iter().filter_map(|key| {
            let live = self.live(view, &key);
            if live.is_none() {
                let mut state = self.state.lock();
                state.memory.forget(&key);
                if view.profiles.get(&key).is_none() {
                    state.links.forget(&key);
                }
            }
            live
        });
        live.collect()
    }

    /// A profile, if it counts.
    pub(super) fn live(&self, view: &View, key: &ObjectKey) -> Option<Live> {
        let object = view.profiles.get(key)?;
        if is_leaving(&*object) || !self.selects(view, &object) {
            return None;
        }
        let DynamicObject { metadata, data, .. } = Arc::unwrap_or_clone(object);
        let labels = metadata.labels.clone().unwrap_or_default();
        let uid = metadata.uid.clone().unwrap_or_default();
        let read = serde_json::from_value::<ClusterProfile>(data);
        Some(Live {
            key: key.clone(),
            uid,
            labels,
            read: read
                .map(|profile| ClusterProfile { metadata, ..profile })
                .map_err(|error| format!("cannot be read: {}", redaction::undecodable(&error))),
        })
    }

    fn selects(&self, view: &View, profile: &DynamicObject) -> bool {
        let manager = profile.data.pointer("/spec/clusterManager/name");
        let manager = manager.and_then(|name| name.as_str()).unwrap_or_default();
        if !self.managers.is_empty() && !self.managers.iter().any(|wanted| wanted == manager) {
            return false;
        }
        let Some(namespaces) = &view.namespaces else {
            return true;
        };
        let name = profile.metadata.namespace.as_deref().unwrap_or_default();
        let namespace = namespaces.get(&ObjectKey::cluster_scoped(name));
        let of_namespace = namespace
            .as_ref()
            .and_then(|namespace| namespace.metadata.labels.as_ref());
        let labels = [profile.metadata.labels.as_ref(), of_namespace];
        let mut sets = labels.into_iter().flatten().flat_map(|labels| {
            let named = CLUSTER_SET_LABELS.iter();
            named.filter_map(|label| labels.get(*label))
        });
        sets.any(|set| self.cluster_sets.contains(set))
    }

    /// Which of the profiles of one cluster stands for it: the one that did, while it is there; else the first that can
    /// be used.
    fn choose<'a>(&self, view: &View, group: &ObjectKey, live: &'a [Live]) -> Option<&'a Live> {
        let [first, others @ ..] = live else {
            return None;
        };
        if self.same.is_none() || others.is_empty() {
            // The only one, and remembered in case others come.
            self.state.lock().memory.choose(group, &first.key);
            return Some(first);
        }
        let before = {
            let memory = &self.state.lock().memory;
            let before = memory.chosen(group);
            let engaged = |one: &&Live| Some(&one.key) == before && memory.is_engaged(&one.key, &one.uid);
            live.iter().find(engaged)
        };
        let usable = || live.iter().find(|one| self.is_usable(view, one));
        let chosen = before.or_else(usable).unwrap_or(first);
        self.state.lock().memory.choose(group, &chosen.key);
        Some(chosen)
    }

    fn is_usable(&self, view: &View, one: &Live) -> bool {
        let Ok(profile) = &one.read else {
            return false;
        };
        self.engage.refuses(profile).is_none() && self.connection(view, &one.key, profile).is_ok()
    }

    fn one(&self, view: &View, live: &Live) -> Described {
        let name = match self.name(view, live) {
            Ok(name) => name,
            Err(described) => return *described,
        };
        match self.spec(view, live, &name) {
            Ok(spec) => Described::Cluster(spec),
            Err(Refusal::Unusable(reason)) => Described::Unusable {
                name,
                reason: of_profile(&live.key, &reason),
            },
            Err(Refusal::Leaves(reason)) => Described::Left {
                name,
                reason: of_profile(&live.key, &reason),
            },
        }
    }

    fn spec(&self, view: &View, live: &Live, name: &ClusterName) -> Result<ClusterSpec, Refusal> {
        let profile = live.read.as_ref().map_err(|why| Refusal::Unusable(why.clone()))?;
        if let Some(why) = self.engage.refuses(profile) {
            let memory = &mut self.state.lock().memory;
            if !memory.is_engaged(&live.key, &live.uid) {
                return Err(Refusal::Unusable(why));
            }
            if self.leave {
                memory.leave(&live.key);
                return Err(Refusal::Leaves(why));
            }
        }
        let connection = self
            .connection(view, &live.key, profile)
            .map_err(Refusal::Unusable)?;
        self.state.lock().memory.engage(&live.key, &live.uid);
        let spec = ClusterSpec::new(name.clone(), live.uid.clone(), connection);
        Ok(spec.with_properties(properties(live.labels.clone(), profile)))
    }

    fn connection(
        &self,
        view: &View,
        key: &ObjectKey,
        profile: &ClusterProfile,
    ) -> Result<Connection, String> {
        match &self.way {
            Way::Programs(file) => program::connection(file, key, profile, &self.policy),
            Way::Secrets { layout, .. } => self.by_secret(view, key, *layout),
        }
    }
}

/// Why a profile gives no description.
enum Refusal {
    /// It stays as it was.
    Unusable(String),
    /// It was engaged, and is to be no longer.
    Leaves(String),
}

pub(super) fn of_profile(key: &ObjectKey, reason: &str) -> String {
    format!("ClusterProfile `{key}`: {reason}")
}

/// Its labels; and what the inventory says, of which the manager's own words go before what it copied from the member.
fn properties(labels: BTreeMap<String, String>, profile: &ClusterProfile) -> Properties {
    let mut properties = Properties {
        labels,
        ..Properties::default()
    };
    let mut add = |name: &str, value: &str| {
        let property = Property {
            value: value.to_owned(),
            origin: PropertyOrigin::Inventory,
        };
        properties.named.insert(name.to_owned(), property);
    };
    let status = profile.status.iter();
    for property in status.clone().flat_map(|status| &status.properties) {
        add(&property.name, &property.value);
    }
    let mut versions = status.filter_map(|status| status.version.as_ref()?.kubernetes.as_deref());
    if let Some(version) = versions.next() {
        add(VERSION, version);
    }
    if let Some(condition) = profile.condition(CONTROL_PLANE_HEALTHY) {
        add(CONTROL_PLANE_HEALTHY, &condition.status);
    }
    properties
}
