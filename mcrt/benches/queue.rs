//! What the fair queue costs: single operations, whole lists, purges, storms, and bytes per queued key.
//!
//! Keys are made beforehand; all numbers are per key unless the name says otherwise, counters included.
#![allow(
    clippy::cast_precision_loss,
    reason = "counts and rates are printed, not computed with"
)]

use std::hint::black_box;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mcrt::cluster::ObjectKey;
use mcrt::queue::{FairQueue, Lane, Outcome, Priority, QueueSettings};
use tokio::runtime::{Builder, Runtime};

type Object = Arc<ObjectKey>;
type Queue = FairQueue<Object>;
type Key = (Lane, Lane, Object);

const STORM_PRODUCERS: u64 = 8;
const PAGE: usize = 500;

fn queue(lanes: usize) -> (Queue, Vec<Lane>) {
    let queue = Queue::new(QueueSettings::default());
    let lanes: Vec<_> = (0..lanes).map(|_| queue.engage(NonZeroU32::MIN)).collect();
    for lane in &lanes {
        queue.resume(*lane);
    }
    (queue, lanes)
}

fn objects(count: usize) -> Vec<Object> {
    (0..count)
        .map(|n| Arc::new(ObjectKey::namespaced("default", format!("object-{n}"))))
        .collect()
}

/// Keys spread over the lanes, in an order that jumps about in memory as events do.
fn keys(lanes: &[Lane], count: usize) -> Vec<Key> {
    let objects = objects(count);
    // A step that shares no factor with the count visits each once.
    let step = (7_368_787 % count) | 1;
    (0..count)
        .map(|n| {
            let lane = lanes[n % lanes.len()];
            (lane, lane, Arc::clone(&objects[n * step % count]))
        })
        .collect()
}

fn fill(queue: &Queue, keys: &[Key]) {
    for page in keys.chunks(PAGE) {
        queue.add_all(page.iter().cloned(), Priority::Low);
    }
}

fn drain(queue: &Queue) -> usize {
    let mut count = 0;
    while let Some(item) = queue.try_pop() {
        item.done(Outcome::Done);
        count += 1;
    }
    count
}

/// A key is added, another handed out and done, with `backlog` keys always queued.
fn lockstep(c: &mut Criterion) {
    let mut group = c.benchmark_group("add+pop+done");
    for (lanes, backlog) in [
        (1, 1_000),
        (100, 1_000),
        (1, 100_000),
        (100, 100_000),
        (10_000, 100_000),
        (10_000, 1_000_000),
    ] {
        let (queue, lanes) = queue(lanes);
        let keys = keys(&lanes, backlog);
        fill(&queue, &keys);
        let (lane, object) = (lanes[0], Arc::new(ObjectKey::namespaced("default", "spare")));
        let mut spare = (lane, object);
        let id = BenchmarkId::new(format!("{} lanes", lanes.len()), backlog);
        group.bench_function(id, |b| {
            b.iter(|| {
                queue.add(spare.0, spare.0, Arc::clone(&spare.1), Priority::Normal);
                let item = queue.try_pop().expect("the backlog is never empty");
                spare = (item.target(), Arc::clone(item.object()));
                item.done(Outcome::Done);
            });
        });
    }
    group.finish();
}

fn duplicate_add(c: &mut Criterion) {
    let mut group = c.benchmark_group("duplicate add");
    for backlog in [1_000, 100_000] {
        let (queue, lanes) = queue(100);
        let keys = keys(&lanes, backlog);
        fill(&queue, &keys);
        let copies: Vec<Key> = keys
            .iter()
            .map(|(h, t, o)| (*h, *t, Arc::new(ObjectKey::clone(o))))
            .collect();
        for (name, keys) in [("same pointer", &keys), ("equal object", &copies)] {
            let mut next = keys.iter().cycle();
            group.bench_function(BenchmarkId::new(name, backlog), |b| {
                b.iter(|| {
                    let (home, target, object) = next.next().expect("a cycle has no end");
                    queue.add(*home, *target, Arc::clone(object), Priority::Low);
                });
            });
        }
    }
    group.finish();
}

fn delayed_add(c: &mut Criterion) {
    let (queue, lanes) = queue(100);
    let keys = keys(&lanes, 100_000);
    let mut next = keys.iter().cycle();
    let mut delay = 60_000;
    c.bench_function("delayed add, ever earlier", |b| {
        b.iter(|| {
            let (home, target, object) = next.next().expect("a cycle has no end");
            delay = if delay < 40_000 { 60_000 } else { delay - 1 };
            queue.add_after(
                *home,
                *target,
                Arc::clone(object),
                Priority::Low,
                Duration::from_millis(delay),
            );
        });
    });
}

fn fill_and_drain(c: &mut Criterion) {
    let mut group = c.benchmark_group("fill and drain");
    group.sample_size(10);
    for (lanes, count) in [(1, 100_000), (100, 100_000), (10_000, 1_000_000)] {
        let (queue, lanes) = queue(lanes);
        let keys = keys(&lanes, count);
        group.throughput(Throughput::Elements(count as u64));
        group.bench_function(BenchmarkId::new(format!("{} lanes", lanes.len()), count), |b| {
            b.iter(|| {
                fill(&queue, &keys);
                assert_eq!(drain(&queue), count);
            });
        });
    }
    group.finish();
}

fn purge(c: &mut Criterion) {
    let count = 100_000;
    let mut group = c.benchmark_group("purge");
    group
        .sample_size(10)
        .throughput(Throughput::Elements(count as u64));
    let setup = || {
        let (queue, lanes) = queue(2);
        fill(&queue, &keys(&lanes[..1], count));
        (queue, lanes[0])
    };
    group.bench_function("100000 keys of one lane", |b| {
        b.iter_batched(
            setup,
            |(queue, lane)| black_box((queue.purge(lane), queue)),
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

fn runtime() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .expect("threads can be started")
}

/// Eight producers and eight consumers on one runtime: wall time per key.
fn async_pop(c: &mut Criterion) {
    let count = 100_000;
    let runtime = runtime();
    let (queue, lanes) = queue(100);
    let keys = Arc::new(keys(&lanes, count));
    let mut group = c.benchmark_group("async pop");
    group
        .sample_size(10)
        .throughput(Throughput::Elements(count as u64));
    group.bench_function("8 producers, 8 consumers", |b| {
        b.iter_custom(|rounds| {
            (0..rounds)
                .map(|_| runtime.block_on(exchange(&queue, &keys)))
                .sum()
        });
    });
    group.finish();
}

async fn exchange(queue: &Queue, keys: &Arc<Vec<Key>>) -> Duration {
    let (start, left) = (Instant::now(), Arc::new(AtomicU64::new(keys.len() as u64)));
    let consumers: Vec<_> = (0..8)
        .map(|_| {
            let (queue, left) = (queue.clone(), Arc::clone(&left));
            tokio::spawn(async move {
                while left
                    .fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1))
                    .is_ok()
                {
                    queue.pop().await.expect("the queue is open").done(Outcome::Done);
                    tokio::task::coop::consume_budget().await;
                }
            })
        })
        .collect();
    let producers = (0..8).map(|part| {
        let (queue, keys) = (queue.clone(), Arc::clone(keys));
        tokio::spawn(async move {
            for (home, target, object) in keys.iter().skip(part).step_by(8) {
                queue.add(*home, *target, Arc::clone(object), Priority::Normal);
                tokio::task::coop::consume_budget().await;
            }
        })
    });
    for task in producers.collect::<Vec<_>>().into_iter().chain(consumers) {
        task.await.expect("no task of the benchmark panics");
    }
    start.elapsed()
}

/// Dispatches per second of one consumer, idle and while eight producers add pages of keys as fast as they can.
fn storm(_: &mut Criterion) {
    let runtime = runtime();
    let (queue, lanes) = queue(100);
    let keys = Arc::new(keys(&lanes, 400_000));
    let rate = |seconds: f64, dispatched: u64| dispatched as f64 / seconds;
    fill(&queue, &keys);
    let idle = runtime.block_on(async {
        let start = Instant::now();
        for _ in 0..keys.len() {
            queue.pop().await.expect("the queue is open").done(Outcome::Done);
        }
        rate(start.elapsed().as_secs_f64(), keys.len() as u64)
    });
    let (before, stop) = (queue.counters(), Arc::new(AtomicBool::new(false)));
    let under_storm = runtime.block_on(async {
        let producers: Vec<_> = (0..STORM_PRODUCERS)
            .map(|part| tokio::spawn(produce(queue.clone(), Arc::clone(&keys), Arc::clone(&stop), part)))
            .collect();
        let start = Instant::now();
        let mut dispatched = 0;
        while start.elapsed() < Duration::from_secs(3) {
            for _ in 0..100 {
                queue.pop().await.expect("the queue is open").done(Outcome::Done);
            }
            dispatched += 100;
        }
        let seconds = start.elapsed().as_secs_f64();
        stop.store(true, Relaxed);
        for producer in producers {
            producer.await.expect("no task of the benchmark panics");
        }
        rate(seconds, dispatched)
    });
    let after = queue.counters();
    let (added, merged) = (after.added - before.added, after.merged - before.merged);
    println!(
        "storm: {idle:.0} dispatches a second idle, {under_storm:.0} ({:.0} %) during",
        100.0 * under_storm / idle
    );
    println!("storm: meanwhile {added} adds were new and {merged} merged");
}

async fn produce(queue: Queue, keys: Arc<Vec<Key>>, stop: Arc<AtomicBool>, part: u64) {
    let skip = usize::try_from(part).unwrap_or_default() * keys.len() / 8 / PAGE;
    for page in keys.chunks(PAGE).cycle().skip(skip) {
        if stop.load(Relaxed) {
            return;
        }
        queue.add_all(page.iter().cloned(), Priority::Normal);
        tokio::task::yield_now().await;
    }
}

/// Bytes that each queued key adds, without its object: as the queue itself accounts for them.
fn bytes(_: &mut Criterion) {
    for count in [100_000, 1_000_000] {
        let (queue, lanes) = queue(100);
        let keys = keys(&lanes, count);
        let before = queue.counters().heap_bytes;
        fill(&queue, &keys);
        let each = (queue.counters().heap_bytes - before) as f64 / count as f64;
        drain(&queue);
        println!(
            "bytes: {each:.1} a key at {count}; {} in all once drained",
            queue.counters().heap_bytes
        );
    }
}

criterion_group!(
    benches,
    lockstep,
    duplicate_add,
    delayed_add,
    fill_and_drain,
    purge,
    async_pop,
    storm,
    bytes
);
criterion_main!(benches);
