//! A reconciler that writes down what it is asked and does what the test says.

use std::{
    collections::BTreeSet,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Resource;
use mcrt::{
    Action, ApiKind, Cacheable, Context, Controller, ControllerBuilder, Epoch, HandWired, Reconciler, Watch,
};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::objects::LABEL;

/// Which function ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// `reconcile`.
    Reconcile,
    /// `gone`.
    Gone,
}

/// One run of a reconciler, written down.
#[derive(Clone, Debug)]
pub struct Run {
    /// Which function.
    pub what: What,
    /// The request, as it prints.
    pub request: String,
    /// Where the work went.
    pub cluster: String,
    /// Which life of it.
    pub epoch: Epoch,
    /// The object's name.
    pub name: String,
    /// The object's UID.
    pub uid: String,
    /// The object's version.
    pub version: String,
    /// How often in a row it had failed.
    pub attempt: u32,
    /// When it began.
    pub began: Instant,
    /// When it ended, by itself or by force.
    pub ended: Option<Instant>,
    id: u64,
}

/// One call of a reconciler, for the function that does its work.
pub struct Call<T: Send + Sync + 'static = ConfigMap, const GONE: bool = false> {
    /// The object.
    pub object: Arc<T>,
    /// What it can reach.
    pub cx: Context<Recorder<T, GONE>>,
}

impl<T: Resource + Send + Sync, const GONE: bool> Call<T, GONE> {
    /// The object's name.
    pub fn name(&self) -> &str {
        self.object.meta().name.as_deref().unwrap_or_default()
    }

    /// The name of the cluster where the work goes.
    pub fn cluster(&self) -> &str {
        self.cx.cluster().name().as_str()
    }
}

impl<T: Send + Sync, const GONE: bool> fmt::Debug for Call<T, GONE> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Call").field(&self.cx).finish()
    }
}

type Work<T, const GONE: bool> =
    Arc<dyn Fn(Call<T, GONE>) -> BoxFuture<'static, mcrt::Result<Action>> + Send + Sync>;

/// Writes down every run. Clones share what was written. `GONE` says whether deletions are told.
pub struct Recorder<T: Send + Sync + 'static = ConfigMap, const GONE: bool = false> {
    runs: Arc<Mutex<Vec<Run>>>,
    begun: Arc<AtomicU64>,
    work: Option<Work<T, GONE>>,
    farewell: Option<Work<T, GONE>>,
}

impl<T: Send + Sync, const GONE: bool> Recorder<T, GONE> {
    /// The same, doing this on every reconcile.
    #[must_use]
    pub fn doing<F>(mut self, work: impl Fn(Call<T, GONE>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = mcrt::Result<Action>> + Send + 'static,
    {
        self.work = Some(Arc::new(move |call| Box::pin(work(call))));
        self
    }

    /// The same, doing this for every object that is gone.
    #[must_use]
    pub fn on_gone<F>(mut self, work: impl Fn(Call<T, GONE>) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = mcrt::Result<()>> + Send + 'static,
    {
        self.farewell = Some(Arc::new(move |call| {
            let done = work(call);
            Box::pin(async move { done.await.map(|()| Action::await_change()) })
        }));
        self
    }

    /// Every run so far.
    pub fn runs(&self) -> Vec<Run> {
        self.runs.lock().clone()
    }

    /// The run that began last.
    pub fn last(&self) -> Option<Run> {
        self.runs.lock().last().cloned()
    }

    /// Forgets the runs so far.
    pub fn forget(&self) {
        self.runs.lock().clear();
    }

    /// The runs for an object of a cluster.
    pub fn of(&self, cluster: &str, name: &str) -> Vec<Run> {
        let mut runs = self.runs();
        runs.retain(|run| run.cluster == cluster && run.name == name);
        runs
    }

    /// How often an object of a cluster was reconciled.
    pub fn count(&self, cluster: &str, name: &str) -> usize {
        let runs = self.of(cluster, name);
        runs.iter().filter(|run| run.what == What::Reconcile).count()
    }

    /// Whether an object of a cluster was reconciled that often.
    pub fn expect(&self, cluster: &str, name: &str, times: usize) -> Result<(), String> {
        match self.count(cluster, name) {
            count if count == times => Ok(()),
            count => Err(format!(
                "{cluster}/{name}: {count} reconciles, not {times}; {}",
                self.summary()
            )),
        }
    }

    /// Every request that was reconciled.
    pub fn requests(&self) -> BTreeSet<String> {
        self.runs().into_iter().map(|run| run.request).collect()
    }

    /// The most runs of one request that overlapped.
    pub fn most_at_once(&self) -> usize {
        let runs = self.runs();
        let overlap = |run: &Run| {
            let running = |other: &&Run| {
                other.request == run.request
                    && other.began <= run.began
                    && other.ended.is_none_or(|ended| ended > run.began)
            };
            runs.iter().filter(running).count()
        };
        runs.iter().map(overlap).max().unwrap_or(0)
    }

    /// How often each request ran.
    pub fn summary(&self) -> String {
        let mut counts = std::collections::BTreeMap::<String, usize>::new();
        for run in self.runs() {
            *counts
                .entry(format!("{:?} {}", run.what, run.request))
                .or_default() += 1;
        }
        let shown: Vec<_> = counts
            .iter()
            .take(20)
            .map(|(run, count)| format!("{run}: {count}"))
            .collect();
        format!("{} keys: {}", counts.len(), shown.join(", "))
    }

    fn begin(&self, what: What, object: &T, cx: &Context<Self>) -> End
    where
        T: Cacheable,
    {
        let meta = object.meta();
        let id = self.begun.fetch_add(1, Ordering::Relaxed);
        let run = Run {
            id,
            what,
            request: cx.request().to_string(),
            cluster: cx.cluster().to_string(),
            epoch: cx.cluster().epoch(),
            name: meta.name.clone().unwrap_or_default(),
            uid: meta.uid.clone().unwrap_or_default(),
            version: meta.resource_version.clone().unwrap_or_default(),
            attempt: cx.attempt(),
            began: Instant::now(),
            ended: None,
        };
        self.runs.lock().push(run);
        End {
            runs: self.runs.clone(),
            id,
        }
    }
}

impl<T: Cacheable, const GONE: bool> Recorder<T, GONE> {
    /// Wiring with this reconciler's kind: the fixtures' objects in every cluster.
    pub fn wiring(&self, name: &str) -> ControllerBuilder<Self>
    where
        T: ApiKind,
    {
        let mut wiring = ControllerBuilder::new(name);
        wiring.for_kind(Watch::new().labels(LABEL));
        wiring
    }

    /// A controller with nothing but this reconciler's kind.
    ///
    /// # Panics
    /// Never: the wiring is complete.
    pub fn controller(&self, name: &str) -> Controller
    where
        T: ApiKind,
    {
        self.build(self.wiring(name))
    }

    /// A controller from more wiring.
    ///
    /// # Panics
    /// If the wiring is wrong.
    pub fn build(&self, wiring: ControllerBuilder<Self>) -> Controller {
        wiring.build(self.clone()).expect("the wiring is right")
    }
}

/// Marks the end of a run when dropped: also of one that is dropped at an await.
struct End {
    runs: Arc<Mutex<Vec<Run>>>,
    id: u64,
}

impl Drop for End {
    fn drop(&mut self) {
        let mut runs = self.runs.lock();
        if let Some(run) = runs.iter_mut().rev().find(|run| run.id == self.id) {
            run.ended = Some(Instant::now());
        }
    }
}

impl<T: Send + Sync, const GONE: bool> HandWired for Recorder<T, GONE> {}

impl<T: Cacheable, const GONE: bool> Reconciler for Recorder<T, GONE> {
    type Object = T;
    const GONE: bool = GONE;

    async fn reconcile(&self, object: Arc<T>, cx: Context<Self>) -> mcrt::Result<Action> {
        let _end = self.begin(What::Reconcile, &object, &cx);
        match &self.work {
            Some(work) => work(Call { object, cx }).await,
            None => Ok(Action::await_change()),
        }
    }

    async fn gone(&self, object: Arc<T>, cx: Context<Self>) -> mcrt::Result<()> {
        let _end = self.begin(What::Gone, &object, &cx);
        if let Some(work) = &self.farewell {
            work(Call { object, cx }).await?;
        }
        Ok(())
    }
}

impl<T: Send + Sync, const GONE: bool> Default for Recorder<T, GONE> {
    fn default() -> Self {
        Self {
            runs: Arc::default(),
            begun: Arc::default(),
            work: None,
            farewell: None,
        }
    }
}

impl<T: Send + Sync, const GONE: bool> Clone for Recorder<T, GONE> {
    fn clone(&self) -> Self {
        Self {
            runs: self.runs.clone(),
            begun: self.begun.clone(),
            work: self.work.clone(),
            farewell: self.farewell.clone(),
        }
    }
}

impl<T: Send + Sync, const GONE: bool> fmt::Debug for Recorder<T, GONE> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.summary())
    }
}
