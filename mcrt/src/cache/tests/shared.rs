//! Clusters that are parts of one server, and the watches that they share.
use super::{
    super::{CacheSettings, Cacheable, Caches, SharedWatch, Subscription},
    ListLimits, Recorder, WatchScope, WatchState, reaches, synced, until,
};
use crate::{
    cluster::{ClusterName, ObjectKey},
    connect::{Access, Life, SharedServer, Transport, TransportSettings},
};
use k8s_openapi::api::core::v1::{ConfigMap, Node, Secret};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind, PartialObjectMeta};
use mcrt_sim::Server;
use serde_json::json;
use std::{sync::Arc, time::Duration};

struct Bed {
    server: Server,
    shared: SharedServer,
    limits: Arc<ListLimits>,
}

struct Engaged {
    life: Life,
    transport: Transport,
    caches: Caches,
}

/// A cache, and what it tells.
struct Watched<K> {
    cache: crate::cache::Cache<K>,
    told: Arc<Recorder>,
    _subscription: Subscription,
}

impl Bed {
    fn new(namespaces: &[&str]) -> Self {
        let server = Server::new("shared");
        let bed = Self {
            shared: SharedServer::namespaces(Access::service("shared", server.service())),
            server,
            limits: Arc::default(),
        };
        for name in namespaces {
            bed.namespace(name);
        }
        bed
    }

    fn namespace(&self, name: &str) {
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        self.server.create(object).unwrap();
    }

    fn put(&self, namespace: &str, name: &str, value: &str) {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": namespace, "labels": {"team": "x"}},
            "data": {"value": value},
        });
        if self.server.replace(object.clone()).is_err() {
            self.server.create(object).unwrap();
        }
    }

    fn delete(&self, namespace: &str, name: &str) {
        self.server
            .delete("v1", "ConfigMap", Some(namespace), name)
            .unwrap();
    }

    fn engage(&self, key: &str) -> Engaged {
        let life = Life::new();
        let access = self.shared.member(key);
        let transport = access.connect(&TransportSettings::default(), &life).unwrap();
        let name = ClusterName::new(key).unwrap();
        let caches = Caches::of(
            name,
            &transport,
            Arc::clone(&self.limits),
            CacheSettings::default(),
        );
        Engaged {
            life,
            transport,
            caches,
        }
    }

    fn watch(&self) -> SharedWatch {
        let watches = self.shared.watches();
        assert_eq!(watches.len(), 1, "{watches:?}");
        watches.into_iter().next().unwrap()
    }

    fn config_map_requests(&self) -> (u64, u64) {
        let counts = self.server.counters().kind("configmaps");
        (counts.lists, counts.watches)
    }

    async fn ends(&self, engaged: Engaged) {
        engaged.end().await;
    }

    async fn nothing_is_left(&self) {
        assert_eq!((self.shared.members(), self.shared.tasks()), (0, 0));
        assert!(self.shared.watches().is_empty());
        until("no request is open", || self.server.counters().open_requests == 0).await;
    }
}

impl Engaged {
    async fn watches<K: Cacheable>(&self, scope: WatchScope, kind: K::DynamicType) -> Watched<K> {
        let cache = self.caches.open::<K>(scope, kind);
        let told = Arc::<Recorder>::default();
        let subscription = cache.subscribe(Arc::clone(&told) as _).await;
        cache.start();
        Watched {
            cache,
            told,
            _subscription: subscription,
        }
    }

    async fn maps(&self) -> Watched<ConfigMap> {
        let watched = self.watches(maps(), ()).await;
        synced(&watched.cache).await;
        watched
    }

    async fn end(self) {
        self.caches.close().await;
        self.life.end().await;
    }
}

impl<K: Cacheable> Watched<K> {
    async fn tells(&self, expected: &[&str]) {
        until(&format!("{expected:?}"), || self.told.len() >= expected.len()).await;
        assert_eq!(self.told.take_sorted(), expected);
    }
}

fn maps() -> WatchScope {
    WatchScope {
        labels: Some("team".into()),
        ..WatchScope::all(ApiResource::erase::<ConfigMap>(&()))
    }
}

async fn settle() {
    tokio::time::sleep(Duration::from_secs(5)).await;
}

#[tokio::test(start_paused = true)]
async fn members_share_one_list_and_one_watch_and_each_is_told_of_its_own() {
    let bed = Bed::new(&["a", "b"]);
    bed.put("a", "one", "1");
    bed.put("b", "one", "1");
    let (a, b) = (bed.engage("a"), bed.engage("b"));
    let (in_a, in_b) = (a.maps().await, b.maps().await);
    in_a.tells(&["(+a/one)", "synced"]).await;
    in_b.tells(&["(+b/one)", "synced"]).await;
    bed.put("a", "one", "2");
    bed.put("b", "two", "1");
    bed.delete("b", "one");
    in_a.tells(&["~a/one"]).await;
    in_b.tells(&["+b/two", "-b/one"]).await;
    settle().await;
    assert_eq!((in_a.told.len(), in_b.told.len()), (0, 0));
    assert_eq!(bed.config_map_requests(), (1, 1));
    assert_eq!((bed.watch().members, bed.watch().objects), (2, 2));
    assert_eq!(in_b.cache.store().list().len(), 1);
    bed.ends(a).await;
    assert_eq!(bed.watch().members, 1);
    bed.put("a", "late", "1");
    bed.put("b", "late", "1");
    in_b.tells(&["+b/late"]).await;
    assert_eq!(in_a.told.len(), 0, "it has left");
    bed.ends(b).await;
    bed.nothing_is_left().await;
}

#[tokio::test(start_paused = true)]
async fn a_member_that_joins_late_is_told_of_everything_without_a_request() {
    let bed = Bed::new(&["a", "b", "c"]);
    let a = bed.engage("a");
    let _maps = a.maps().await;
    bed.put("b", "one", "1");
    bed.put("b", "two", "1");
    bed.delete("b", "two");
    until("they are known", || bed.watch().objects == 1).await;
    let b = bed.engage("b");
    b.maps().await.tells(&["(+b/one)", "synced"]).await;
    let c = bed.engage("c");
    c.maps().await.tells(&["synced"]).await;
    assert_eq!(bed.config_map_requests(), (1, 1));
    for engaged in [a, b, c] {
        bed.ends(engaged).await;
    }
    bed.nothing_is_left().await;
}

#[tokio::test(start_paused = true)]
async fn a_relist_is_diffed_in_each_member() {
    let bed = Bed::new(&["a", "b"]);
    for name in ["goes", "stays"] {
        bed.put("a", name, "1");
        bed.put("b", name, "1");
    }
    let (a, b) = (bed.engage("a"), bed.engage("b"));
    let (in_a, in_b) = (a.maps().await, b.maps().await);
    in_a.told.take();
    in_b.told.take();
    bed.server.partition();
    bed.server.disconnect_watches();
    settle().await;
    bed.delete("a", "goes");
    bed.put("a", "comes", "1");
    bed.server.compact();
    bed.server.heal();
    in_a.tells(&["(+a/comes)", "(-a/goes)"]).await;
    until("all hear of the relist", || {
        (in_a.told.relists(), in_b.told.relists()) == (1, 1)
    })
    .await;
    assert_eq!(in_b.told.len(), 0, "nothing changed in it");
    bed.put("b", "stays", "2");
    in_b.tells(&["~b/stays"]).await;
    bed.ends(a).await;
    bed.ends(b).await;
    bed.nothing_is_left().await;
}

#[tokio::test(start_paused = true)]
async fn a_member_that_is_suspended_is_told_on_and_holds_up_nobody() {
    let bed = Bed::new(&["a", "b"]);
    let (a, b) = (bed.engage("a"), bed.engage("b"));
    let (in_a, in_b) = (a.maps().await, b.maps().await);
    a.transport.breaker().suspend();
    bed.put("a", "one", "1");
    bed.put("b", "one", "1");
    in_b.tells(&["+b/one", "synced"]).await;
    in_a.tells(&["+a/one", "synced"]).await;
    assert!(a.transport.client().apiserver_version().await.is_err());
    assert!(b.transport.client().apiserver_version().await.is_ok());
    assert_eq!(bed.config_map_requests(), (1, 1));
    bed.ends(a).await;
    bed.ends(b).await;
    bed.nothing_is_left().await;
}

#[tokio::test(start_paused = true)]
async fn an_outage_of_the_server_interrupts_the_watch_which_goes_on_from_its_last_version() {
    let bed = Bed::new(&["a", "b"]);
    let (a, b) = (bed.engage("a"), bed.engage("b"));
    let (in_a, in_b) = (a.maps().await, b.maps().await);
    bed.put("a", "before", "1");
    in_a.tells(&["+a/before", "synced"]).await;
    in_b.tells(&["synced"]).await;
    let base = bed.shared.base().unwrap();
    base.breaker().open();
    settle().await;
    let asked = bed.server.counters().requests;
    settle().await;
    assert_eq!(
        bed.server.counters().requests,
        asked,
        "nothing is asked meanwhile"
    );
    assert!(in_a.cache.store().stale_for().is_some());
    bed.put("b", "meanwhile", "1");
    base.breaker().close();
    in_b.tells(&["+b/meanwhile"]).await;
    assert_eq!(bed.config_map_requests().0, 1, "nothing is listed again");
    drop(base);
    bed.ends(a).await;
    bed.ends(b).await;
    bed.nothing_is_left().await;
}

#[tokio::test(start_paused = true)]
async fn members_that_ask_at_once_whether_the_server_is_ready_ask_once() {
    let bed = Bed::new(&[]);
    let engaged: Vec<_> = (0..100).map(|n| bed.engage(&format!("n{n}"))).collect();
    let asked = || bed.server.counters().count(|row| row.verb == mcrt_sim::Verb::Raw);
    let probes = engaged.iter().map(|it| {
        let client = it.transport.client();
        async move {
            crate::connect::probe(&client, Duration::from_secs(3))
                .await
                .unwrap()
        }
    });
    futures::future::join_all(probes).await;
    assert_eq!(asked(), 1);
    let versions = engaged.iter().map(|it| it.transport.client());
    futures::future::join_all(versions.map(async |it| it.apiserver_version().await.unwrap())).await;
    assert_eq!(asked(), 2);
    for it in engaged {
        bed.ends(it).await;
    }
    bed.nothing_is_left().await;
}

#[tokio::test(start_paused = true)]
async fn probes_of_members_open_the_breaker_of_the_server_and_close_it() {
    let bed = Bed::new(&[]);
    let a = bed.engage("a");
    let client = a.transport.client();
    let base = bed.shared.base().unwrap();
    bed.server.partition();
    for _ in 0..3 {
        let failed = crate::connect::probe(&client, Duration::from_secs(1)).await;
        assert!(failed.unwrap_err().is_of_transport());
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    assert!(!base.breaker().circuit().is_closed());
    bed.server.heal();
    for _ in 0..2 {
        crate::connect::probe(&client, Duration::from_secs(1))
            .await
            .unwrap();
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    assert!(base.breaker().circuit().is_closed());
    drop(base);
    bed.ends(a).await;
    bed.nothing_is_left().await;
}

#[tokio::test(start_paused = true)]
async fn other_selectors_and_forms_are_other_watches_and_each_ends_with_its_last_member() {
    let bed = Bed::new(&["a", "b"]);
    bed.put("a", "one", "1");
    let (a, b) = (bed.engage("a"), bed.engage("b"));
    let _in_a = a.maps().await;
    let meta = a.watches::<PartialObjectMeta<ConfigMap>>(maps(), ()).await;
    let all = b
        .watches::<ConfigMap>(WatchScope::all(ApiResource::erase::<ConfigMap>(&())), ())
        .await;
    synced(&meta.cache).await;
    synced(&all.cache).await;
    meta.tells(&["(+a/one)", "synced"]).await;
    assert_eq!(bed.shared.watches().len(), 3);
    bed.ends(a).await;
    assert_eq!(bed.shared.watches().len(), 1);
    bed.ends(b).await;
    bed.nothing_is_left().await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_names_namespaces_is_that_of_the_member_or_finds_nothing() {
    let bed = Bed::new(&["a", "b"]);
    bed.put("a", "one", "1");
    let a = bed.engage("a");
    let in_a = a.maps().await;
    in_a.tells(&["(+a/one)", "synced"]).await;
    let named = |names: &[&str]| WatchScope {
        namespaces: names.iter().map(ToString::to_string).collect(),
        ..maps()
    };
    let own = a.watches::<ConfigMap>(named(&["a", "z"]), ()).await;
    own.tells(&["(+a/one)", "synced"]).await;
    let other = a.watches::<ConfigMap>(named(&["b"]), ()).await;
    other.tells(&["synced"]).await;
    assert_eq!(bed.shared.watches().len(), 1);
    bed.ends(a).await;
    bed.nothing_is_left().await;
}

#[tokio::test(start_paused = true)]
async fn kinds_that_live_in_no_namespace_are_forbidden_in_one() {
    let bed = Bed::new(&["a"]);
    let a = bed.engage("a");
    let nodes = WatchScope::all(ApiResource::erase::<Node>(&()));
    let typed = a.watches::<Node>(nodes.clone(), ()).await;
    reaches(&typed.cache, WatchState::Forbidden).await;
    assert!(bed.shared.watches().is_empty(), "nothing is asked for it");
    bed.server
        .create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "b"}}))
        .unwrap();
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Namespace"));
    let dynamic = a
        .watches::<DynamicObject>(WatchScope::all(kind.clone()), kind)
        .await;
    reaches(&dynamic.cache, WatchState::Forbidden).await;
    assert_eq!(dynamic.told.len(), 0);
    bed.ends(a).await;
    bed.nothing_is_left().await;
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_forbidden_is_so_in_each_member_until_it_is_allowed() {
    let bed = Bed::new(&["a", "b"]);
    bed.server.hook(|request| {
        if request.plural() == "configmaps" {
            mcrt_sim::Verdict::Fail {
                code: 403,
                reason: "Forbidden",
                message: "no".into(),
            }
        } else {
            mcrt_sim::Verdict::Pass
        }
    });
    let a = bed.engage("a");
    let in_a = a.watches::<ConfigMap>(maps(), ()).await;
    reaches(&in_a.cache, WatchState::Forbidden).await;
    let b = bed.engage("b");
    let in_b = b.watches::<ConfigMap>(maps(), ()).await;
    reaches(&in_b.cache, WatchState::Forbidden).await;
    bed.server.clear_hook();
    synced(&in_a.cache).await;
    synced(&in_b.cache).await;
    bed.ends(a).await;
    bed.ends(b).await;
    bed.nothing_is_left().await;
}

#[tokio::test(start_paused = true)]
async fn a_member_that_does_not_read_falls_behind_alone_and_catches_up() {
    let bed = Bed::new(&["a", "b"]);
    let (a, b) = (bed.engage("a"), bed.engage("b"));
    let (in_a, in_b) = (a.maps().await, b.maps().await);
    in_a.told.take();
    in_b.told.take();
    // The server's events come while no task of the members runs: all of one page at once.
    for n in 0..3000 {
        bed.put("a", "busy", &n.to_string());
    }
    bed.put("a", "last", "1");
    bed.put("b", "one", "1");
    in_b.tells(&["+b/one"]).await;
    let last = ObjectKey::namespaced("a", "last");
    until("it has caught up", || in_a.cache.store().get(&last).is_some()).await;
    let busy = in_a.cache.store().get(&ObjectKey::namespaced("a", "busy"));
    assert_eq!(busy.unwrap().data.as_ref().unwrap()["value"], "2999");
    bed.ends(a).await;
    bed.ends(b).await;
    bed.nothing_is_left().await;
}

#[tokio::test(start_paused = true)]
async fn requests_that_leave_the_namespace_are_refused_with_the_reason_and_never_sent() {
    let bed = Bed::new(&["a", "b"]);
    bed.put("a", "one", "1");
    let a = bed.engage("a");
    let client = a.transport.client();
    let own: kube::Api<ConfigMap> = kube::Api::default_namespaced(client.clone());
    assert_eq!(
        own.get("one").await.unwrap().metadata.namespace.as_deref(),
        Some("a")
    );
    let asked = bed.server.counters().requests;
    let other: kube::Api<Secret> = kube::Api::namespaced(client.clone(), "b");
    let everywhere: kube::Api<ConfigMap> = kube::Api::all(client);
    for error in [
        other.get("x").await.unwrap_err(),
        everywhere
            .list(&kube::api::ListParams::default())
            .await
            .unwrap_err(),
    ] {
        let kube::Error::Api(status) = error else {
            panic!("{error}");
        };
        assert_eq!((status.code, &*status.reason), (403, "Forbidden"));
        assert!(
            status.message.contains("outside of the namespace"),
            "{}",
            status.message
        );
    }
    assert_eq!(bed.server.counters().requests, asked);
    assert!(a.transport.breaker().circuit().is_closed());
    bed.ends(a).await;
    bed.nothing_is_left().await;
}

/// Informers of client-go let handlers pile up on a shared cache.
#[tokio::test(start_paused = true)]
async fn a_thousand_namespaces_that_come_and_go_leave_no_subscriber_behind() {
    let bed = Bed::new(&["stays"]);
    let stays = bed.engage("stays");
    let in_stays = stays.maps().await;
    for round in 0..10 {
        let mut engaged = Vec::new();
        for n in 0..100 {
            let name = format!("n{round}-{n}");
            bed.namespace(&name);
            bed.put(&name, "one", "1");
            engaged.push((bed.engage(&name), name));
        }
        let mut watched = Vec::new();
        for (member, name) in &engaged {
            let maps = member.maps().await;
            until("it is told", || maps.cache.store().list().len() == 1).await;
            watched.push((maps, name.clone()));
        }
        assert_eq!(bed.watch().members, 101);
        for (member, _) in engaged {
            bed.ends(member).await;
        }
        assert_eq!((bed.watch().members, bed.shared.members()), (1, 1));
        for (maps, name) in watched {
            maps.told.take();
            bed.put(&name, "one", "2");
            bed.delete(&name, "one");
            settle().await;
            assert_eq!(maps.told.len(), 0, "a handler of {name} ran");
        }
    }
    until("all is known to be gone", || bed.watch().objects == 0).await;
    in_stays.told.take();
    bed.put("stays", "one", "1");
    in_stays.tells(&["+stays/one"]).await;
    assert_eq!(bed.config_map_requests().0, 1);
    bed.ends(stays).await;
    bed.nothing_is_left().await;
}
