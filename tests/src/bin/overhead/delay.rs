//! From a write to its event, while many other writes are under way.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use futures::{StreamExt as _, TryStreamExt as _, future::join_all, stream::BoxStream};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client,
    api::{ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams},
    core::ObjectMeta,
};
use mcrt::connect::Life;
use serde_json::json;

use super::{Arguments, Outcome, Site, median};

/// How much later events may come to a watch whose client writes as well.
const GOAL: f64 = 1.1;
/// From one event to the next.
const PACE: Duration = Duration::from_millis(20);
/// The object whose changes are awaited.
const TICK: &str = "tick";

type Events = BoxStream<'static, kube::Result<WatchEvent<ConfigMap>>>;

/// Watches the same events through a client that writes at the same time, and through one that does nothing else.
#[expect(clippy::cast_precision_loss, reason = "some thousands of writes")]
pub(crate) async fn measure(server: &str, site: &Site, life: &Life, arguments: &Arguments) -> Outcome {
    let (busy, quiet, ticker) = (
        site.ours(life, arguments)?,
        site.ours(life, arguments)?,
        site.plain().await?,
    );
    for at in 0..arguments.writes {
        create(&ticker, &format!("busy-{at}")).await?;
    }
    create(&ticker, TICK).await?;
    let watches = [watch(&busy).await?, watch(&quiet).await?];
    let [before, _] = delays(&ticker, watches, arguments.events).await?;

    let stop = Arc::new(AtomicBool::new(false));
    let written = Arc::new(AtomicU64::new(0));
    let writing: Vec<_> = (0..arguments.writes)
        .map(|at| tokio::spawn(write(busy.clone(), at, stop.clone(), written.clone())))
        .collect();
    let watches = [watch(&busy).await?, watch(&quiet).await?];
    let began = Instant::now();
    let [beside, apart] = delays(&ticker, watches, arguments.events).await?;
    let took = began.elapsed().as_secs_f64();
    stop.store(true, Relaxed);
    for task in join_all(writing).await {
        task??;
    }
    let ratio = beside / apart;
    println!(
        "{server}: from a write to its event, p50 of {} events: {before:.2} ms without other writes; with {} writes \
         under way ({:.0} a second) {beside:.2} ms through the client that writes, {apart:.2} ms through another: \
         ratio {ratio:.2} (goal {GOAL}: {})",
        arguments.events,
        arguments.writes,
        written.load(Relaxed) as f64 / took,
        if ratio <= GOAL { "met" } else { "MISSED" },
    );
    Ok(())
}

async fn create(client: &Client, name: &str) -> Outcome {
    let object = ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some(BTreeMap::from([("object".to_owned(), name.to_owned())])),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    };
    let api = Api::<ConfigMap>::default_namespaced(client.clone());
    api.create(&PostParams::default(), &object).await?;
    Ok(())
}

async fn write(
    client: Client,
    at: usize,
    stop: Arc<AtomicBool>,
    written: Arc<AtomicU64>,
) -> kube::Result<()> {
    let api = Api::<ConfigMap>::default_namespaced(client);
    let (name, mut count) = (format!("busy-{at}"), 0);
    while !stop.load(Relaxed) {
        count += 1;
        patch(&api, &name, count).await?;
        written.fetch_add(1, Relaxed);
    }
    Ok(())
}

async fn patch(api: &Api<ConfigMap>, name: &str, count: usize) -> kube::Result<()> {
    let change = json!({"data": {"count": count.to_string()}});
    api.patch(name, &PatchParams::default(), &Patch::Merge(change))
        .await?;
    Ok(())
}

async fn watch(client: &Client) -> Outcome<Events> {
    let api = Api::<ConfigMap>::default_namespaced(client.clone());
    let selector = format!("object={TICK}");
    let listed = api.list(&ListParams::default().labels(&selector)).await?;
    let from = listed.metadata.resource_version.unwrap_or_default();
    let params = WatchParams::default().labels(&selector).timeout(280);
    Ok(api.watch(&params, &from).await?.boxed())
}

/// The median delay of each watch, in milliseconds.
async fn delays(ticker: &Client, watches: [Events; 2], events: usize) -> Outcome<[f64; 2]> {
    let sent = Arc::new(parking_lot::Mutex::new(Vec::<Instant>::new()));
    let api = Api::<ConfigMap>::default_namespaced(ticker.clone());
    let ticking = async {
        for _ in 0..events {
            let count = {
                let mut sent = sent.lock();
                sent.push(Instant::now());
                sent.len()
            };
            patch(&api, TICK, count).await?;
            tokio::time::sleep(PACE).await;
        }
        kube::Result::<()>::Ok(())
    };
    let follow = async |watch: Events| -> kube::Result<f64> {
        let seen: Vec<_> = watch
            .try_filter(|event| std::future::ready(matches!(event, WatchEvent::Modified(_))))
            .take(events)
            .map_ok(|_| Instant::now())
            .try_collect()
            .await?;
        let sent = sent.lock();
        let delays = seen.iter().zip(&*sent);
        Ok(median(
            delays
                .map(|(seen, sent)| (*seen - *sent).as_secs_f64() * 1000.0)
                .collect(),
        ))
    };
    let [one, other] = watches;
    let (all_sent, one, other) = tokio::join!(ticking, follow(one), follow(other));
    all_sent?;
    Ok([one?, other?])
}
