//! What a simulated fleet may cost at most. Prints what it measured and fails where a budget is missed:
//! `cargo bench -p mcrt-sim --bench budgets`.
#![allow(
    clippy::unwrap_used,
    clippy::naive_bytecount,
    clippy::cast_precision_loss,
    reason = "a program that measures: it stops where something fails, and its numbers are for people"
)]

use std::process::ExitCode;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::future::join_all;
use http_body_util::{BodyExt, Empty};
use mcrt_sim::{Fleet, Listener, Server};
use serde_json::{Value, json};
use tower::ServiceExt;

/// What was measured and what it may be.
struct Budget {
    what: &'static str,
    measured: f64,
    unit: &'static str,
    limit: f64,
    /// Whether the limit is the least rather than the most.
    least: bool,
}

impl Budget {
    fn most(what: &'static str, measured: f64, unit: &'static str, limit: f64) -> Self {
        Self {
            what,
            measured,
            unit,
            limit,
            least: false,
        }
    }

    fn least(what: &'static str, measured: f64, unit: &'static str, limit: f64) -> Self {
        Self {
            what,
            measured,
            unit,
            limit,
            least: true,
        }
    }

    fn show(&self) -> bool {
        let kept = if self.least {
            self.measured >= self.limit
        } else {
            self.measured <= self.limit
        };
        let (bound, verdict) = (
            if self.least { "at least" } else { "at most" },
            if kept { "ok" } else { "MISSED" },
        );
        let Self {
            what,
            measured,
            unit,
            limit,
            ..
        } = self;
        println!("{verdict:7} {what}: {measured:.2} {unit} ({bound} {limit} {unit})");
        kept
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    // The order matters: what is measured first finds a fresh heap.
    let mut budgets = idle_fleet().await;
    budgets.extend(objects());
    budgets.extend(writes());
    budgets.push(watchers().await);
    // Every line is shown, also after one that failed.
    let missed = budgets.iter().filter(|budget| !budget.show()).count();
    if missed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

const CLUSTERS: usize = 1000;

/// A thousand clusters that nobody asks anything of: as they are, with a watch each, and with a port each.
async fn idle_fleet() -> Vec<Budget> {
    let (before, start) = (resident(), Instant::now());
    let names: Vec<_> = (0..CLUSTERS).map(|number| format!("cluster-{number}")).collect();
    let fleet = Fleet::of(names.iter().map(String::as_str));
    let started = start.elapsed();
    let bare = resident() - before;
    let servers = fleet.servers();
    let start = Instant::now();
    let watches = join_all(servers.iter().map(|server| watch(server, "configmaps"))).await;
    let opened = start.elapsed();
    let watching = resident() - before;
    let start = Instant::now();
    let mut listeners: Vec<Listener> = Vec::new();
    for server in &servers {
        match server.listen().await {
            Ok(listener) => listeners.push(listener),
            Err(error) => {
                println!("note: {} ports and no more: {error}", listeners.len());
                break;
            }
        }
    }
    let listened = start.elapsed();
    let listening = resident() - before;
    drop((watches, listeners));
    vec![
        Budget::most("1,000 idle clusters start in", started.as_secs_f64(), "s", 2.0),
        Budget::most("1,000 idle clusters hold", mib(bare), "MiB", 200.0),
        Budget::most("a watch on each starts in", opened.as_secs_f64(), "s", 2.0),
        Budget::most("with a watch each they hold", mib(watching), "MiB", 200.0),
        Budget::most("a port for each opens in", listened.as_secs_f64(), "s", 2.0),
        Budget::most(
            "with a watch and a port each they hold",
            mib(listening),
            "MiB",
            200.0,
        ),
    ]
}

/// How much memory objects take, compared with their JSON.
fn objects() -> Vec<Budget> {
    const OBJECTS: usize = 50_000;
    let server = Server::new("objects");
    // Objects of one kind to begin with, so that what is there once for all does not count.
    server.create(pod("first")).unwrap();
    let before = resident();
    let mut bytes = 0;
    for number in 0..OBJECTS {
        bytes += server
            .create(pod(&format!("pod-{number}")))
            .unwrap()
            .to_string()
            .len();
    }
    let with_log = resident() - before;
    server.compact();
    let without_log = resident() - before;
    println!("note: {} bytes of JSON an object", bytes / OBJECTS);
    vec![
        Budget::most(
            "objects without the log take",
            without_log as f64 / bytes as f64,
            "x their JSON",
            2.0,
        ),
        Budget::most(
            "objects with the log take",
            with_log as f64 / bytes as f64,
            "x their JSON",
            3.0,
        ),
    ]
}

/// Writes in this process, one after the other, by a second of one core: what neighbours do does not count.
fn writes() -> Vec<Budget> {
    let [created, replaced] = write_rates(config_map);
    let [pods_created, pods_replaced] = write_rates(pod);
    println!(
        "note: of pods with twelve variables, {pods_created:.0} creates and {pods_replaced:.0} updates a second"
    );
    vec![
        Budget::least("creates", created, "a second", 20_000.0),
        Budget::least("updates", replaced, "a second", 20_000.0),
    ]
}

/// Creates and updates a second of objects of one sort.
fn write_rates(object: fn(&str) -> Value) -> [f64; 2] {
    const WRITES: usize = 20_000;
    let server = Server::new("writes");
    let name = |number| format!("object-{number}");
    let objects: Vec<_> = (0..WRITES).map(|number| object(&name(number))).collect();
    let start = spent();
    for object in objects {
        server.create(object).unwrap();
    }
    let created = rate(WRITES, spent().saturating_sub(start));
    let objects: Vec<_> = (0..WRITES)
        .map(|number| {
            let mut object = object(&name(number));
            object["metadata"]["labels"]["round"] = "two".into();
            object
        })
        .collect();
    let start = spent();
    for object in objects {
        server.replace(object).unwrap();
    }
    [created, rate(WRITES, spent().saturating_sub(start))]
}

/// How long this thread has been at work: on a core where the system says so, else by the clock.
fn spent() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let status = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let on_a_core = status
        .split_whitespace()
        .next()
        .and_then(|nanos| nanos.parse().ok());
    on_a_core.map_or_else(|| START.elapsed(), Duration::from_nanos)
}

/// A hundred watchers of one kind: how many events they get a second, taken together.
async fn watchers() -> Budget {
    const WATCHERS: usize = 100;
    const CHANGES: usize = 5_000;
    let server = Server::new("watchers");
    let watches = join_all((0..WATCHERS).map(|_| watch(&server, "pods"))).await;
    let start = Instant::now();
    let readers: Vec<_> = watches
        .into_iter()
        .map(|mut body| {
            tokio::spawn(async move {
                let mut seen = 0;
                while seen < CHANGES {
                    let frame = body.frame().await.unwrap().unwrap();
                    seen += frame
                        .data_ref()
                        .unwrap()
                        .iter()
                        .filter(|byte| **byte == b'\n')
                        .count();
                }
            })
        })
        .collect();
    for number in 0..CHANGES {
        server.create(pod(&format!("pod-{number}"))).unwrap();
        if number % 50 == 0 {
            tokio::task::yield_now().await;
        }
    }
    for reader in readers {
        reader.await.unwrap();
    }
    let events = rate(WATCHERS * CHANGES, start.elapsed());
    Budget::least("events delivered to 100 watchers", events, "a second", 50_000.0)
}

/// An open watch from now on.
async fn watch(server: &Server, plural: &str) -> mcrt_sim::Body {
    let path = format!(
        "/api/v1/{plural}?watch=1&resourceVersion={}",
        server.resource_version()
    );
    let request = http::Request::get(path).body(Empty::<Bytes>::new()).unwrap();
    let response = server.service().oneshot(request).await.unwrap();
    assert_eq!(response.status(), 200);
    response.into_body()
}

/// A small object.
fn config_map(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": "web"}},
        "data": {"key": "a value of some length"},
    })
}

/// An object of a common size.
fn pod(name: &str) -> Value {
    let variables: Vec<_> = (0..12)
        .map(|number| json!({"name": format!("VARIABLE_{number}"), "value": "a value of some length"}))
        .collect();
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": "web", "tier": "front"}},
        "spec": {"nodeName": "node-1", "containers": [{"name": "web", "image": "registry/web:1", "env": variables}]},
    })
}

fn rate(count: usize, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}

fn mib(bytes: usize) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// How much memory the process has, by `/proc`; zero where there is none.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
    kib.unwrap_or_default() * 1024
}
