//! The controller over namespaces, and what it took.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use super::Outcome;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{config::Kubeconfig, runtime::reflector::ObjectRef};
use mcrt::{
    Action, Context, ControllerBuilder, HandWired, Manager, Reconciler, Watch, cache::SharedWatch,
    connect::Connection, providers::Namespaces,
};
use mcrt_tests::measure::Numbers;
use serde::{Deserialize, Serialize};

/// Said once everything is watched.
pub(crate) const READY: &str = "ready";

/// A run that takes longer hangs.
const LIMIT: Duration = Duration::from_mins(10);

/// Two rounds of probes.
const REST: Duration = Duration::from_secs(10);

const LABEL: &str = "mcrt.dev/slice";

/// What changes of the other kind give rise to.
const NOBODY: Option<ObjectRef<ConfigMap>> = None;

/// What one run took.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Cost {
    /// Until every object was reconciled.
    pub(crate) seconds: f64,
    /// For each namespace, beyond what the process had before it knew of any.
    pub(crate) kib_each: f64,
    /// For each event, of the shared watch alone.
    pub(crate) sorting_us: f64,
    /// For each event, of the whole process beyond what it takes at rest: reading, decoding, sorting, keeping, and the
    /// reconcile.
    pub(crate) cpu_us: f64,
    /// Milliseconds in a second at rest: probes of every namespace, answered from one request.
    pub(crate) rest_ms: f64,
    /// Started in all.
    pub(crate) watches: u64,
    pub(crate) sockets: u64,
}

#[derive(Clone, Default)]
struct Counting(Arc<AtomicUsize>);
impl HandWired for Counting {}
impl Reconciler for Counting {
    type Object = ConfigMap;
    async fn reconcile(&self, _: Arc<ConfigMap>, _: Context<Self>) -> mcrt::Result<Action> {
        self.0.fetch_add(1, Relaxed);
        Ok(Action::await_change())
    }
}

#[expect(clippy::cast_precision_loss, reason = "sizes and counts far below 2^52")]
pub(crate) async fn run(kubeconfig: &Path, namespaces: usize, events: usize) -> Outcome {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let host = Connection::from_kubeconfig(&kubeconfig, "host")?;
    let provider = Arc::new(Namespaces::new().skip("default"));
    let counting = Counting::default();
    let mut wiring = ControllerBuilder::new("counting");
    wiring
        .for_kind(Watch::new().labels(LABEL))
        .watches(Watch::<Secret>::new(), |_, _, _| NOBODY);
    let manager = Manager::builder()
        .shared_provider(Arc::clone(&provider) as _)
        .host(host.into())
        .controller(wiring.build(counting.clone())?)
        .build()?;
    let (began, before) = (Instant::now(), Numbers::read(Duration::ZERO)?);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(manager.run(async move {
        let _ = stopped.await;
    }));
    until(|| counting.0.load(Relaxed) >= namespaces).await?;
    let seconds = began.elapsed().as_secs_f64();
    // Queues of the beginning are given back.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let watched = Numbers::read(began.elapsed())?;
    tokio::time::sleep(REST).await;
    let rested = Numbers::read(began.elapsed())?;
    let at_rest = (rested.cpu_seconds - watched.cpu_seconds) / (rested.seconds - watched.seconds);
    let known = maps(&provider)?;
    println!("{READY}");
    // Until the parent has written everything.
    tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new())).await??;
    let all = known.events + events as u64;
    until(|| maps(&provider).is_ok_and(|maps| maps.events >= all)).await?;
    // Reconciles of the last events.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (after, maps) = (Numbers::read(began.elapsed())?, maps(&provider)?);
    let busy = after.cpu_seconds - rested.cpu_seconds;
    let shared = provider.shared().ok_or("there is no shared server")?;
    let cost = Cost {
        seconds,
        kib_each: (watched.resident_kib as f64 - before.resident_kib as f64) / namespaces as f64,
        sorting_us: maps.sorting.saturating_sub(known.sorting).as_secs_f64() * 1e6 / events as f64,
        cpu_us: (busy - at_rest * (after.seconds - rested.seconds)) * 1e6 / events as f64,
        rest_ms: at_rest * 1e3,
        watches: shared.watches().iter().map(|watch| watch.watches).sum(),
        sockets: after.sockets,
    };
    println!("{}", serde_json::to_string(&cost)?);
    let _ = stop.send(());
    running.await?;
    Ok(())
}

/// The shared watch of the config maps.
fn maps(provider: &Namespaces) -> Outcome<SharedWatch> {
    let watches = provider.shared().map(|shared| shared.watches());
    let maps = watches
        .into_iter()
        .flatten()
        .find(|watch| watch.scope.resource.plural == "configmaps");
    Ok(maps.ok_or("config maps are not watched")?)
}

async fn until(holds: impl Fn() -> bool) -> Outcome {
    let began = Instant::now();
    while !holds() {
        if began.elapsed() > LIMIT {
            return Err(format!("not within {LIMIT:?}").into());
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}
