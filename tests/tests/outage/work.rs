//! The work of these tests: a controller that writes down when it ran, and objects to run for.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{
    Api,
    api::{ObjectMeta, Patch, PatchParams},
};
use mcrt::{
    Action, ClusterName, Context, ControllerBuilder, HandWired, Manager, ObjectKey, Provider, Reconciler,
    Request, Watch,
};
use mcrt_tests::{Running, control_plane::ControlPlane, eventually};
use parking_lot::Mutex;

/// For what takes as long as a loaded machine makes it take.
pub(crate) const LIMIT: Duration = Duration::from_mins(2);

/// Writes down every run.
#[derive(Clone)]
pub(crate) struct Work {
    /// On the objects of this test alone: the server is shared.
    label: &'static str,
    runs: Arc<Mutex<BTreeMap<String, Vec<Instant>>>>,
}

impl HandWired for Work {}
impl Reconciler for Work {
    type Object = ConfigMap;
    async fn reconcile(&self, _: Arc<ConfigMap>, cx: Context<Self>) -> mcrt::Result<Action> {
        let mut runs = self.runs.lock();
        runs.entry(cx.request().to_string())
            .or_default()
            .push(Instant::now());
        Ok(Action::await_change())
    }
}

impl Work {
    pub(crate) fn of(label: &'static str) -> Self {
        Self {
            label,
            runs: Arc::default(),
        }
    }

    /// Starts a manager with this work; a Secret with the label asks for all of `asked` wherever it is
    /// seen in a cluster that stays bright.
    pub(crate) fn start(&self, provider: impl Provider, asked: Vec<(ClusterName, ObjectKey)>) -> Running {
        let mut wiring = ControllerBuilder::new("work");
        wiring.for_kind(Watch::new().labels(self.label));
        wiring.watches(Watch::<Secret>::new().labels(self.label), move |_, _, cx| {
            // Those that were in the dark are told later what the others have asked for already.
            let bright = cx.cluster().name().as_str().starts_with("bright");
            let asked = asked.iter().filter(|_| bright).cloned();
            asked
                .map(|(cluster, object)| Request::new(cluster, object))
                .collect::<Vec<_>>()
        });
        let manager = Manager::builder()
            .provider(provider)
            .controller(wiring.build(self.clone()).unwrap());
        Running::start(manager.build().unwrap())
    }

    /// When it ran for an object of a cluster.
    pub(crate) fn runs(&self, cluster: &str, object: &str) -> Vec<Instant> {
        let runs = self.runs.lock();
        runs.get(&request(cluster, object)).cloned().unwrap_or_default()
    }

    /// Waits until it ran that often for an object in each of these clusters.
    pub(crate) async fn until(&self, clusters: &[String], object: &str, times: usize) {
        let what = format!("{object} is reconciled {times} times");
        eventually(LIMIT, &what, async || {
            clusters
                .iter()
                .try_for_each(|cluster| match self.runs(cluster, object).len() {
                    ran if ran >= times => Ok(()),
                    ran => Err(format!("{ran} times in {cluster}")),
                })
        })
        .await;
    }

    /// Creates or changes an object to reconcile.
    pub(crate) async fn apply(&self, plane: &ControlPlane, object: &str, value: &str) -> kube::Result<()> {
        let config = ConfigMap {
            metadata: self.metadata(object),
            data: Some(BTreeMap::from([("key".to_owned(), value.to_owned())])),
            ..ConfigMap::default()
        };
        apply(&Api::default_namespaced(plane.client()), object, &config).await
    }

    /// Creates the Secret that asks for more.
    pub(crate) async fn ask(&self, plane: &ControlPlane, name: &str) -> kube::Result<()> {
        let secret = Secret {
            metadata: self.metadata(name),
            ..Secret::default()
        };
        apply(&Api::default_namespaced(plane.client()), name, &secret).await
    }

    fn metadata(&self, name: &str) -> ObjectMeta {
        ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some(BTreeMap::from([(self.label.to_owned(), String::new())])),
            ..ObjectMeta::default()
        }
    }
}

async fn apply<K>(api: &Api<K>, name: &str, object: &K) -> kube::Result<()>
where
    K: Clone + std::fmt::Debug + serde::de::DeserializeOwned + serde::Serialize,
{
    let params = PatchParams::apply("outage").force();
    api.patch(name, &params, &Patch::Apply(object)).await.map(drop)
}

fn request(cluster: &str, object: &str) -> String {
    format!("cluster://{cluster}/default/{object}")
}
