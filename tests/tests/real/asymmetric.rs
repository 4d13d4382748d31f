//! A kind that some clusters serve and others do not, installed and removed while a controller runs: the same story on
//! simulated servers and on real ones.
use std::{
    collections::{BTreeMap, HashSet},
    error::Error,
    marker::PhantomData,
    sync::Arc,
    time::Duration,
};

use k8s_openapi::{
    api::core::v1::ConfigMap, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, ResourceExt as _,
    api::{DeleteParams, PostParams},
    core::{ApiResource, DynamicObject, GroupVersionKind},
    runtime::reflector::ObjectRef,
};
use mcrt::{
    Action, Cluster, Context, Controller, ControllerBuilder, FleetSettings, HandWired, InitialList,
    ListChoice, Manager, ManagerHandle, Reconciler, Watch, WatchState, provider::ClusterSpec,
    providers::Clusters,
};
use mcrt_sim::{Fault, Server, Verdict};
use mcrt_tests::{
    Running,
    control_plane::{ControlPlane, Options, assets, start_many},
    eventually,
    logs::Logs,
    running::cluster,
    simulated::{Sims, spec},
};
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::Instant;

type Outcome = Result<(), Box<dyn Error>>;

const LABEL: &str = "mcrt.dev/asymmetric";

fn widgets() -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("example.com", "v1", "Widget"), "widgets")
}

/// Writes down what it reconciled, and how its store of widgets fared then.
#[derive(Clone)]
struct Seen<K>(Arc<Mutex<BTreeMap<String, String>>>, PhantomData<fn() -> K>);

impl<K> Seen<K> {
    fn nothing() -> Self {
        Self(Arc::default(), PhantomData)
    }

    fn expect(&self, cluster: &str, name: &str) -> Result<String, String> {
        let request = format!("cluster://{cluster}/default/{name}");
        let seen = self.0.lock();
        seen.get(&request)
            .cloned()
            .ok_or_else(|| format!("{request} is not in {seen:?}"))
    }

    fn forget(&self) {
        self.0.lock().clear();
    }
}

impl HandWired for Seen<DynamicObject> {}
impl Reconciler for Seen<DynamicObject> {
    type Object = DynamicObject;
    async fn reconcile(&self, _: Arc<DynamicObject>, cx: Context<Self>) -> mcrt::Result<Action> {
        self.0.lock().insert(cx.request().to_string(), String::new());
        Ok(Action::await_change())
    }
}

impl HandWired for Seen<ConfigMap> {}
impl Reconciler for Seen<ConfigMap> {
    type Object = ConfigMap;
    async fn reconcile(&self, _: Arc<ConfigMap>, cx: Context<Self>) -> mcrt::Result<Action> {
        let store = cx.store::<DynamicObject>();
        let found = match cx.cached::<DynamicObject>("w") {
            Ok(found) => format!("{}, {}", store.state(), found.is_some()),
            Err(never) => format!("{}, {never}", store.state()),
        };
        self.0.lock().insert(cx.request().to_string(), found);
        Ok(Action::await_change())
    }
}

fn of_widgets(seen: &Seen<DynamicObject>) -> Controller {
    let mut wiring = ControllerBuilder::new("widgets");
    wiring.for_kind_with(widgets(), Watch::new());
    wiring.build(seen.clone()).unwrap()
}

/// Every widget concerns the config map `c`.
fn of_config_maps(name: &str, seen: &Seen<ConfigMap>, watch: Watch<DynamicObject>) -> Controller {
    let mut wiring = ControllerBuilder::new(name);
    wiring.for_kind(Watch::new().labels(LABEL));
    wiring.watches_with(widgets(), watch, |_, _, _| {
        Some(ObjectRef::<ConfigMap>::new("c").within("default"))
    });
    wiring.build(seen.clone()).unwrap()
}

struct Member {
    name: &'static str,
    client: Client,
    spec: ClusterSpec,
}

impl Member {
    async fn install(&self) {
        let definition = serde_json::from_value(json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.com"},
            "spec": {
                "group": "example.com", "scope": "Namespaced",
                "names": {"kind": "Widget", "listKind": "WidgetList", "plural": "widgets", "singular": "widget"},
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
                }],
            },
        }));
        let api = Api::<CustomResourceDefinition>::all(self.client.clone());
        let created = api.create(&PostParams::default(), &definition.unwrap()).await;
        created.unwrap();
    }

    async fn uninstall(&self) {
        let api = Api::<CustomResourceDefinition>::all(self.client.clone());
        let deleted = api.delete("widgets.example.com", &DeleteParams::default()).await;
        drop(deleted.unwrap());
        eventually(
            Duration::from_mins(1),
            "the definition is gone",
            async || match api.get_opt("widgets.example.com").await {
                Ok(None) => Ok(()),
                other => Err(format!(
                    "{:?}",
                    other.map(|found| found.map(|crd| crd.name_any()))
                )),
            },
        )
        .await;
    }

    /// Just after an installation the kind is not served yet.
    async fn create_widget(&self, name: &str) {
        let api = Api::<DynamicObject>::default_namespaced_with(self.client.clone(), &widgets());
        let widget = DynamicObject::new(name, &widgets());
        eventually(Duration::from_mins(1), "a widget", async || {
            let created = api.create(&PostParams::default(), &widget).await;
            created.map(drop).map_err(|error| error.to_string())
        })
        .await;
    }

    async fn create_config_map(&self) {
        let mut config = ConfigMap::default();
        config.metadata.name = Some("c".to_owned());
        config.metadata.labels = Some(BTreeMap::from([(LABEL.to_owned(), String::new())]));
        let api = Api::default_namespaced(self.client.clone());
        api.create(&PostParams::default(), &config).await.unwrap();
    }
}

fn states(manager: &ManagerHandle, cluster: &str) -> HashSet<WatchState> {
    let cluster = manager.fleet().get(&cluster.try_into().unwrap());
    let watches = cluster.iter().flat_map(Cluster::watches);
    watches
        .filter(|(scope, _)| scope.resource.plural == "widgets")
        .map(|(_, state)| state)
        .collect()
}

/// The whole story. Looks for missing kinds are `interval` apart.
async fn a_kind_comes_and_goes(a: Member, b: Member, interval: Duration) {
    let (limit, slack) = (Duration::from_mins(1), Duration::from_secs(15));
    a.install().await;
    a.create_widget("w").await;
    a.create_config_map().await;
    b.create_config_map().await;
    let (seen, careful, tolerant) = (Seen::nothing(), Seen::nothing(), Seen::nothing());
    let clusters = Clusters::new();
    clusters.add(a.spec.clone()).unwrap();
    clusters.add(b.spec.clone()).unwrap();
    let mut settings = FleetSettings::default();
    settings.caches.discovery_interval = interval;
    // The one that changes is listed by streams, the other by pages.
    settings.caches.initial_list_by = Some(ListChoice::new(|name, _| match name.as_str() {
        "b" => InitialList::Streaming,
        _ => InitialList::Paged,
    }));
    let manager = Manager::builder()
        .fleet_settings(settings)
        .provider(clusters)
        .controller(of_widgets(&seen))
        .controller(of_config_maps("careful", &careful, Watch::new()))
        .controller(of_config_maps("tolerant", &tolerant, Watch::new().optional()));
    let running = Running::start(manager.build().unwrap());
    let manager = running.handle().clone();
    let waits_for = |name: &str| {
        let controllers = manager.controllers();
        let controller = controllers.iter().find(|controller| controller.name() == name);
        let gating = controller.unwrap().waits_for().into_iter();
        gating
            .map(|gating| format!("{} {gating}", gating.cluster))
            .collect::<Vec<_>>()
    };

    eventually(limit, "all that can be done is done", async || {
        seen.expect(a.name, "w")?;
        careful.expect(a.name, "c")?;
        tolerant.expect(a.name, "c")?;
        tolerant.expect(b.name, "c").map(drop)
    })
    .await;
    assert_eq!(tolerant.expect(a.name, "c").unwrap(), "synced, true");
    let said = tolerant.expect(b.name, "c").unwrap();
    assert!(
        said.starts_with("absent, ") && said.contains("install its definition"),
        "{said}"
    );
    assert!(careful.expect(b.name, "c").is_err());
    assert_eq!(waits_for("careful"), ["b widgets.example.com: absent"]);
    assert!(waits_for("tolerant").is_empty() && waits_for("widgets").is_empty());

    for round in 0..2 {
        tolerant.forget();
        let name = format!("w{round}");
        b.install().await;
        b.create_widget(&name).await;
        eventually(interval + slack, "b has the kind", async || {
            seen.expect(b.name, &name)?;
            careful.expect(b.name, "c")?;
            tolerant.expect(b.name, "c").map(drop)
        })
        .await;
        assert!(waits_for("careful").is_empty());
        assert_eq!(states(&manager, "b"), HashSet::from([WatchState::Synced]));
        b.uninstall().await;
        let absent = HashSet::from([WatchState::Absent]);
        eventually(limit, "b has it no more", async || {
            let states = states(&manager, "b");
            if states == absent {
                Ok(())
            } else {
                Err(format!("{states:?}"))
            }
        })
        .await;
        // It stays away, and nothing else suffers.
        tokio::time::sleep(interval * 2).await;
        assert_eq!(states(&manager, "b"), absent);
        assert_eq!(states(&manager, "a"), HashSet::from([WatchState::Synced]));
    }
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_kind_comes_and_goes_on_simulated_clusters_without_an_error_in_the_log() {
    let logs = Logs::keep();
    let sims = Sims::of(["a", "b"]);
    let [a, b] = ["a", "b"].map(|name| {
        let server = sims.server(name);
        Member {
            name,
            client: Client::new(server.service(), "default"),
            spec: spec(&server),
        }
    });
    a_kind_comes_and_goes(a, b, Duration::from_secs(30)).await;
    let lists = ["a", "b"].map(|name| sims.server(name).counters().kind("widgets").lists);
    assert_eq!(lists, [1, 0]);
    let about_b = |words: &[&str]| {
        let words: Vec<_> = ["widgets"].iter().chain(words).copied().collect();
        logs.with(&words)
    };
    // One watch, shared by three controllers: absent at the start and after each removal.
    let absent = about_b(&["the kind is not served"]);
    assert_eq!(absent.len(), 3, "{absent:#?}");
    assert!(logs.with(&["ERROR"]).is_empty(), "{logs:?}");
    let warnings = logs.with(&["WARN"]);
    assert!(warnings.len() <= 1, "{warnings:#?}");
}

/// A simulated cluster `a` with the config map `c`, whose widgets answer as the hook says.
async fn with_widgets_that(verdict: Verdict) -> (Sims, Server) {
    let sims = Sims::of(["a"]);
    let server = sims.server("a");
    let client = Client::new(server.service(), "default");
    let member = Member {
        name: "a",
        client,
        spec: spec(&server),
    };
    member.install().await;
    member.create_widget("w").await;
    member.create_config_map().await;
    server.hook(move |call| {
        if call.plural() == "widgets" {
            verdict.clone()
        } else {
            Verdict::Pass
        }
    });
    (sims, server)
}

#[tokio::test(start_paused = true)]
async fn a_required_kind_that_is_refused_or_hangs_holds_its_controller_up_and_an_optional_one_does_not_for_long()
 {
    for (verdict, state, at_once) in [
        (Verdict::fail(403), WatchState::Forbidden, true),
        (Verdict::fail(404), WatchState::Absent, true),
        (Verdict::Hang, WatchState::Syncing, false),
        (Verdict::fail(503), WatchState::Syncing, false),
    ] {
        let (sims, server) = with_widgets_that(verdict).await;
        let (careful, tolerant) = (Seen::nothing(), Seen::nothing());
        let manager = sims
            .manager()
            .controller(of_config_maps("careful", &careful, Watch::new()))
            .controller(of_config_maps("tolerant", &tolerant, Watch::new().optional()));
        manager
            .run(async |running| {
                let begin = Instant::now();
                running
                    .until("who can do without works", async || {
                        tolerant.expect("a", "c").map(drop)
                    })
                    .await;
                let took = begin.elapsed().as_secs();
                assert!(
                    if at_once {
                        took < 2
                    } else {
                        (9..13).contains(&took)
                    },
                    "{state}: {took} s"
                );
                tokio::time::sleep(Duration::from_mins(5)).await;
                let said = tolerant.expect("a", "c").unwrap();
                assert!(said.starts_with(state.as_str()), "{said}");
                assert!(careful.expect("a", "c").is_err());
                for controller in running.handle.controllers() {
                    let gating: Vec<_> = controller.waits_for().iter().map(ToString::to_string).collect();
                    let expected = match controller.name() {
                        "careful" => vec![format!("widgets.example.com: {state}")],
                        _ => Vec::new(),
                    };
                    assert_eq!(gating, expected);
                }
                tolerant.forget();
                server.clear_hook();
                // What appears is a change for whoever watches it.
                running
                    .until("both know the widget", async || {
                        let both = [careful.expect("a", "c")?, tolerant.expect("a", "c")?];
                        let known = both.iter().all(|said| said == "synced, true");
                        if known { Ok(()) } else { Err(format!("{both:?}")) }
                    })
                    .await;
            })
            .await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_reconciled_kind_that_appears_is_listed_whole_before_anything_of_it_runs() {
    let (sims, server) = with_widgets_that(Verdict::fail(404)).await;
    let client = Client::new(server.service(), "default");
    let api = Api::<DynamicObject>::default_namespaced_with(client, &widgets());
    server.clear_hook();
    for n in 0..1_000 {
        let widget = DynamicObject::new(&format!("w{n}"), &widgets());
        api.create(&PostParams::default(), &widget).await.unwrap();
    }
    server.hook(|call| match (call.plural(), call.continue_token()) {
        ("widgets", _) => Verdict::fail(404),
        _ => Verdict::Pass,
    });
    let seen = Seen::nothing();
    sims.manager()
        .controller(of_widgets(&seen))
        .run(async |running| {
            running
                .until("it is absent", async || {
                    let absent = HashSet::from([WatchState::Absent]);
                    let states = states(&running.handle, "a");
                    if states == absent {
                        Ok(())
                    } else {
                        Err(format!("{states:?}"))
                    }
                })
                .await;
            // The second page takes its time.
            server.hook(|call| match (call.plural(), call.continue_token()) {
                ("widgets", Some(_)) => Verdict::Delay(Duration::from_secs(5)),
                _ => Verdict::Pass,
            });
            running
                .until("the first page is there", async || {
                    let states = states(&running.handle, "a");
                    let syncing = HashSet::from([WatchState::Syncing]);
                    if states == syncing {
                        Ok(())
                    } else {
                        Err(format!("{states:?}"))
                    }
                })
                .await;
            tokio::time::sleep(Duration::from_secs(4)).await;
            let early = seen.0.lock().len();
            assert!(early <= 1, "{early} reconciles of half a list");
            running
                .until("all of them", async || match seen.0.lock().len() {
                    1_001 => Ok(()),
                    seen => Err(format!("{seen} reconciles")),
                })
                .await;
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn the_transport_does_not_multiply_the_lists_of_a_watch() {
    for verdict in [
        Verdict::Reset,
        Verdict::fail(503),
        Fault::status(503).retry_after(Duration::from_secs(1)).into(),
        Fault::status(429).retry_after(Duration::from_secs(1)).into(),
        Verdict::Hang,
    ] {
        let (sims, server) = with_widgets_that(verdict.clone()).await;
        sims.manager()
            .controller(of_widgets(&Seen::nothing()))
            .run(async |_| {
                let before = server.counters().kind("widgets").lists;
                tokio::time::sleep(Duration::from_mins(5)).await;
                let lists = server.counters().kind("widgets").lists - before;
                assert!((1..=12).contains(&lists), "{lists} lists: {verdict:?}");
            })
            .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kind_comes_and_goes_on_real_control_planes() -> Outcome {
    let Some(assets) = assets()? else { return Ok(()) };
    let planes = start_many(2, &assets, &Options::default()).await?;
    let member = |name: &'static str, plane: &ControlPlane| Member {
        name,
        client: plane.client(),
        spec: cluster(name, &plane.kubeconfig(name)),
    };
    let (a, b) = (member("a", &planes[0]), member("b", &planes[1]));
    a_kind_comes_and_goes(a, b, Duration::from_secs(5)).await;
    Ok(())
}
