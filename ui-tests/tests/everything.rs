//! Every argument and every marker at once, and what they wire.
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Node, Secret, Service};
use mcrt::{
    Action, Context, ControllerBuilder, Index, MapContext, MulticlusterController, Reconciler, Request,
    kube::{core::PartialObjectMeta, runtime::reflector::ObjectRef},
    multicluster_controller, reconciler,
};
use std::{io, sync::Arc};

fn is_immutable(_: Option<&Secret>, key: &Secret) -> bool {
    key.immutable == Some(true)
}

#[multicluster_controller(
    for(ConfigMap, labels = "mcrt.dev/team,tier in (gold, silver)", predicate = generation),
    owns = Service,
    owns(Secret, full, namespaces("team-a", "team-b")),
    watches(Secret, on = host, labels = "mcrt.dev/signing-key", predicate = is_immutable),
    watches(Node, metadata_only, on = all),
    uses(Namespace, verbs(get, create)),
    uses(ConfigMap, verbs(delete)),
    provider = mcrt::providers::None,
    clusters(
        labels = "env=prod,tier in (gold, silver)",
        names("eu-*", "prod"),
        properties("region=eu"),
        except("eu-test", labels = "canary", "*-old"),
    ),
    name = "tokens",
    concurrency = 16,
    per_cluster = 4,
    resync = "10h",
    timeout = "90s",
    field_manager = "mcrt.dev/tokens",
    error_policy(initial = "1s", max = "5m", factor = 2.0, jitter = false, retries = 10),
)]
struct TeamTokens {
    issuer: String,
}

#[reconciler]
impl TeamTokens {
    #[reconcile]
    async fn reconcile(&self, config: Arc<ConfigMap>, cx: Context<Self>) -> mcrt::Result<Action> {
        let owned = cx.store::<Service>();
        let team = Self::by_team(&config).unwrap_or_else(|| self.issuer.clone());
        let key = cx.host().api::<Secret>().get_opt(&team).await?;
        drop((owned, key, cx.index(Self::BY_TEAM).get(&team)));
        Ok(Action::await_change())
    }

    #[gone]
    async fn forget(&self, config: Arc<ConfigMap>, cx: Context<Self>) -> io::Result<()> {
        drop((config, cx));
        Ok(())
    }

    #[index]
    pub(crate) fn by_team(config: &ConfigMap) -> Option<String> {
        config.metadata.labels.as_ref()?.get("mcrt.dev/team").cloned()
    }

    #[index]
    fn by_port(service: &PartialObjectMeta<Service>) -> Vec<u16> {
        drop(service.metadata.name.clone());
        Vec::new()
    }

    #[map]
    fn rotated(&self, key: &Secret, cx: MapContext<Self>) -> Vec<Request<ConfigMap>> {
        let team = key.metadata.name.clone().unwrap_or_else(|| self.issuer.clone());
        cx.index(Self::BY_TEAM).requests(&team)
    }

    #[map]
    fn drained(&self, node: &PartialObjectMeta<Node>, cx: MapContext<Self>) -> Option<ObjectRef<ConfigMap>> {
        let _ = (&self.issuer, cx.index(Self::BY_PORT));
        node.metadata.name.as_deref().map(ObjectRef::new)
    }
}

#[multicluster_controller(for(ConfigMap, on = host, metadata_only), owns = Secret)]
struct Namer;

#[reconciler]
impl Namer {
    #[reconcile]
    async fn name(
        &self,
        config: Arc<PartialObjectMeta<ConfigMap>>,
        cx: Context<Self>,
    ) -> mcrt::Result<Action> {
        drop((config, cx.host().api::<Secret>()));
        Ok(Action::await_change())
    }

    #[error_policy]
    fn patient(
        &self,
        config: Arc<PartialObjectMeta<ConfigMap>>,
        error: &mcrt::Error,
        cx: Context<Self>,
    ) -> Action {
        drop((config, cx, error.to_string()));
        Action::retry()
    }
}

/// The builder after a controller has written its declarations down.
fn wired<C: MulticlusterController>() -> String {
    let mut wiring = ControllerBuilder::<C>::new(C::NAME);
    C::wire(&mut wiring);
    format!("{wiring:?}")
}

#[test]
fn the_name_is_that_of_the_argument_or_of_the_struct() {
    assert_eq!(TeamTokens::NAME, "tokens");
    assert_eq!(Namer::NAME, "namer");
}

#[test]
fn features_are_those_of_the_application_not_of_mcrt() {
    assert!(
        TeamTokens::FEATURES.is_empty(),
        "this package has no features: {:?}",
        TeamTokens::FEATURES
    );
}

#[test]
fn declarations_are_wired_in_the_order_of_their_roles() {
    let kinds = r#"["for ConfigMap", "owns Service", "owns Secret", "watches Secret", "watches Node"]"#;
    assert!(wired::<TeamTokens>().contains(kinds), "{}", wired::<TeamTokens>());
    assert!(
        wired::<Namer>().contains(r#"["for ConfigMap", "owns Secret"]"#),
        "{}",
        wired::<Namer>()
    );
}

#[test]
fn a_wired_controller_can_be_built() {
    let mut wiring = ControllerBuilder::new(TeamTokens::NAME);
    TeamTokens::wire(&mut wiring);
    let built = wiring.build(TeamTokens {
        issuer: "mcrt".into(),
    });
    assert!(built.is_ok(), "{:?}", built.err());

    let mut wiring = ControllerBuilder::new(Namer::NAME);
    Namer::wire(&mut wiring);
    let built = wiring.build(Namer);
    assert!(built.is_ok(), "{:?}", built.err());
}

#[test]
fn the_clusters_of_a_controller_stand_in_its_plan() {
    let mut wiring = ControllerBuilder::new(TeamTokens::NAME);
    TeamTokens::wire(&mut wiring);
    let issuer = "mcrt".to_owned();
    let plan = wiring
        .build(TeamTokens { issuer })
        .map(|controller| controller.plan());
    let expected = "clusters: names eu-*, prod; labels env=prod,tier in (gold,silver); property region=eu; \
                    except eu-test, *-old; except labels canary";
    assert_eq!(
        plan.unwrap_or_default().last().map(String::as_str),
        Some(expected)
    );
}

#[test]
fn markers_say_what_a_reconciler_has() {
    const { assert!(TeamTokens::GONE && !TeamTokens::ERROR_POLICY) };
    const { assert!(!Namer::GONE && Namer::ERROR_POLICY) };
}

#[test]
fn only_a_provider_argument_gives_a_provider() {
    assert!(TeamTokens::provider().is_some());
    assert!(Namer::provider().is_none());
}

#[test]
fn requests_and_indexes_have_the_types_of_their_kinds() {
    let _: fn(TeamTokensRequest) -> Request<ConfigMap> = std::convert::identity;
    let _: fn(NamerRequest) -> Request<PartialObjectMeta<ConfigMap>> = std::convert::identity;
    let _: Index<TeamTokens, ConfigMap, String> = TeamTokens::BY_TEAM;
}
