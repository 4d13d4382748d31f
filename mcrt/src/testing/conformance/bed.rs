//! A fleet over the provider under test, while a check looks at it.
use super::{
    Adapter, Member, Site, Spot,
    outside::{done, made},
    second::Second,
    seen::{FILLED, LABEL, Seen, TEAM},
};
use crate::{
    CacheSettings, Cluster, ClusterName, Epoch, Manager, Sharding,
    connect::{Access, TransportSettings},
    provider::{Provider, ProviderContext},
    testing::Running,
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::json;
use std::{fmt::Display, sync::Arc};

/// A site with an adapter, before anything runs.
pub(super) struct Stage<A> {
    pub(super) site: Site,
    pub(super) adapter: A,
}

/// A running fleet.
pub(super) struct Bed<'a, A> {
    pub(super) stage: &'a Stage<A>,
    pub(super) running: &'a Running,
    pub(super) seen: Seen,
    /// Before the names of the provider's clusters.
    prefix: &'static str,
}

impl<A: Adapter> Stage<A> {
    pub(super) fn member(&self, at: usize) -> &Member {
        &self.site.members()[at]
    }

    /// Describes a cluster that is this member.
    pub(super) async fn add(&self, key: &str, at: usize) {
        let reach = self.member(at).reach().await;
        self.adapter.add(key, &reach).await;
    }

    pub(super) fn context(&self) -> ProviderContext {
        let (transport, caches) = (TransportSettings::default(), CacheSettings::default());
        ProviderContext::new(self.adapter.host(), transport, caches)
    }

    /// Lets a manager with a small controller run over the provider, and stops it: nothing may be left then.
    pub(super) async fn fleet(&self, test: impl AsyncFnOnce(&Bed<'_, A>)) {
        self.fleet_of(self.adapter.provider(), "", test).await;
    }

    /// As [`fleet`](Self::fleet), with a controller of the check's own.
    pub(super) async fn fleet_seen(&self, seen: Seen, test: impl AsyncFnOnce(&Bed<'_, A>)) {
        self.run(self.adapter.provider(), "", seen, None, test).await;
    }

    /// As [`fleet`](Self::fleet), with a second replica, which shares the clusters with the first.
    pub(super) async fn replicas(&self, test: impl AsyncFnOnce(&Bed<'_, A>, Second)) {
        let (host, sharding) = self.sharing().await;
        let seen = Seen::default();
        let (provider, with_others) = (self.adapter.provider(), Some((host.clone(), sharding.clone())));
        let run = async |bed: &Bed<'_, A>| {
            let second = self.second(host, sharding, &bed.seen);
            test(bed, second).await;
        };
        self.run(provider, "", seen, with_others, run).await;
    }

    /// As [`fleet`](Self::fleet), over a provider made of the adapter's, whose names get a prefix.
    pub(super) async fn fleet_of(
        &self,
        provider: Arc<dyn Provider>,
        prefix: &'static str,
        test: impl AsyncFnOnce(&Bed<'_, A>),
    ) {
        self.run(provider, prefix, Seen::default(), None, test).await;
    }

    async fn run(
        &self,
        provider: Arc<dyn Provider>,
        prefix: &'static str,
        seen: Seen,
        with_others: Option<(Access, Sharding)>,
        test: impl AsyncFnOnce(&Bed<'_, A>),
    ) {
        // The kit's own tasks are not to hide any that are left.
        self.site.rest().await;
        let mut manager = Manager::builder()
            .shared_provider(provider)
            .controller(seen.controller("seen", self.site.id()));
        if let Some((host, sharding)) = with_others {
            manager = manager.host(host).sharded(sharding.replica("first"));
        } else if let Some(host) = self.adapter.host() {
            manager = manager.host(host);
        }
        let manager = match manager.build() {
            Ok(manager) => manager,
            Err(error) => panic!("the manager cannot be built: {error}"),
        };
        let running = Running::start(manager, self.site.servers());
        running
            .during(async |running| {
                let bed = Bed {
                    stage: self,
                    running,
                    seen,
                    prefix,
                };
                test(&bed).await;
                self.site.rest().await;
            })
            .await;
    }

    pub(super) fn spot(&self, key: &str, at: usize) -> Spot {
        self.adapter.spot(key, self.member(at))
    }

    pub(super) fn configs(&self, key: &str, at: usize) -> Api<ConfigMap> {
        let spot = self.spot(key, at);
        Api::namespaced(spot.client, &spot.namespace)
    }

    /// Creates an object in the cluster of a key, of a team of its own name.
    pub(super) async fn create(&self, key: &str, at: usize, object: &str) {
        self.create_of(key, at, object, object).await;
    }

    pub(super) async fn create_of(&self, key: &str, at: usize, object: &str, team: &str) {
        let created = self.try_create(key, at, object, team).await;
        done("create an object in a member", created);
    }

    async fn try_create(&self, key: &str, at: usize, object: &str, team: &str) -> kube::Result<ConfigMap> {
        let config: ConfigMap = made(json!({
            "metadata": {"name": self.object(object), "labels": {LABEL: self.site.id(), TEAM: team}},
        }));
        let configs = self.configs(key, at);
        configs.create(&PostParams::default(), &config).await
    }

    /// Creates an object where a cluster was, unless that went with its description.
    pub(super) async fn create_if_there(&self, key: &str, at: usize, object: &str) {
        match self.try_create(key, at, object, object).await {
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            created => drop(done("create an object in a member", created)),
        }
    }

    /// Takes away what the controller filled in, as somebody else.
    pub(super) async fn clear(&self, key: &str, at: usize, object: &str) {
        let change = json!({"data": null});
        let (name, params) = (self.object(object), PatchParams::default());
        let patched = self
            .configs(key, at)
            .patch(&name, &params, &Patch::Merge(change))
            .await;
        done("change an object in a member", patched);
    }

    /// An object's name: servers may be shared by several sites.
    pub(super) fn object(&self, object: &str) -> String {
        format!("{}-{object}", self.site.id())
    }
}

impl<A: Adapter> Bed<'_, A> {
    /// The name of a key's cluster in this fleet.
    pub(super) fn name(&self, key: &str) -> ClusterName {
        let name = format!("{}{}", self.prefix, self.stage.adapter.cluster(key));
        match ClusterName::new(&name) {
            Ok(name) => name,
            Err(error) => panic!("`{name}` is no name of a cluster: {error}"),
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<Cluster> {
        self.running.manager().fleet().get(&self.name(key))
    }

    /// Waits, and shows the fleet if that takes too long.
    pub(super) async fn until<T, E: Display>(
        &self,
        what: &str,
        look: impl AsyncFnMut() -> Result<T, E>,
    ) -> T {
        let rejected = self.running.manager().fleet().rejections();
        let what = if rejected.is_empty() {
            what.to_owned()
        } else {
            format!("{what} (rejected: {rejected:?})")
        };
        self.running.within(self.stage.site.limit(), &what, look).await
    }

    /// For as long as nothing should happen.
    pub(super) async fn throughout<E: Display>(&self, what: &str, look: impl AsyncFnMut() -> Result<(), E>) {
        self.running.throughout(self.stage.site.quiet(), what, look).await;
    }

    /// Waits until a cluster is there and well.
    pub(super) async fn ready(&self, key: &str) -> Cluster {
        let what = format!("`{}` is engaged and answers", self.name(key));
        self.until(&what, async || match self.get(key) {
            Some(cluster) if cluster.health().is_ready() => Ok(cluster),
            Some(cluster) => Err(format!("it is {:?}", cluster.health())),
            None => Err(format!("there are {:?}", self.names())),
        })
        .await
    }

    /// Waits until a cluster is there and well in another life.
    pub(super) async fn ready_anew(&self, key: &str, before: Epoch) -> Cluster {
        let what = format!("`{}` has another life", self.name(key));
        self.until(&what, async || match self.get(key) {
            Some(cluster) if cluster.epoch() == before => Err("it has the life it had".to_owned()),
            Some(cluster) if cluster.health().is_ready() => Ok(cluster),
            Some(cluster) => Err(format!("it is {:?}", cluster.health())),
            None => Err("it is gone".to_owned()),
        })
        .await
    }

    /// Waits until a cluster is not there.
    pub(super) async fn gone(&self, key: &str) {
        let what = format!("`{}` is disengaged", self.name(key));
        self.until(&what, async || match self.get(key) {
            Some(cluster) => Err(format!("{cluster:?} is there")),
            None => Ok(()),
        })
        .await;
    }

    /// That a cluster is there, in the life it had.
    pub(super) fn goes_on(&self, key: &str, epoch: Epoch) -> Result<(), String> {
        match self.get(key) {
            Some(cluster) if cluster.epoch() == epoch => Ok(()),
            other => Err(format!("`{key}` was of epoch {epoch}, is {other:?}")),
        }
    }

    /// The names of the clusters that are there, sorted.
    pub(super) fn names(&self) -> Vec<String> {
        let clusters = self.running.manager().fleet().clusters();
        let mut names: Vec<_> = clusters
            .iter()
            .map(|cluster| cluster.name().to_string())
            .collect();
        names.sort();
        names
    }

    /// Waits until exactly the clusters of these keys are there.
    pub(super) async fn has_exactly(&self, keys: &[&str]) {
        let mut wanted: Vec<_> = keys.iter().map(|key| self.name(key).to_string()).collect();
        wanted.sort();
        self.until(&format!("the fleet is {wanted:?}"), async || match self.names() {
            names if names == wanted => Ok(()),
            names => Err(format!("{names:?}")),
        })
        .await;
    }

    /// Waits until an object is reconciled and filled in by the cluster of its key.
    pub(super) async fn filled(&self, key: &str, at: usize, object: &str) {
        let (configs, name, cluster) = (
            self.stage.configs(key, at),
            self.stage.object(object),
            self.name(key),
        );
        self.until(&format!("`{object}` of `{cluster}` is filled in"), async || {
            self.seen.expect(cluster.as_str(), &name)?;
            let config = configs.get(&name).await.map_err(|error| error.to_string())?;
            let is_filled = config.data.unwrap_or_default().contains_key(FILLED);
            is_filled
                .then_some(())
                .ok_or_else(|| "it is reconciled and not filled in".to_owned())
        })
        .await;
    }

    /// That work is done in a cluster: a new object is reconciled there.
    pub(super) async fn works(&self, key: &str, at: usize, object: &str) {
        self.stage.create(key, at, object).await;
        self.filled(key, at, object).await;
    }
}
