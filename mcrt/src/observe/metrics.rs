//! What a manager does in numbers, as `OpenMetrics` text.
use crate::{
    Cluster, ControllerCounters, ControllerHandle, Fleet, ManagerHandle, cache::WatchState,
    queue::LaneCounters,
};
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric, text::encode},
    metrics::{MetricType, counter::ConstCounter, gauge::ConstGauge},
    registry::Registry,
};
use std::{collections::BTreeMap, fmt};

/// The numbers of a manager, in the text format of [OpenMetrics](https://openmetrics.io), for Prometheus and whatever
/// reads the same. Serve it as `application/openmetrics-text; version=1.0.0; charset=utf-8`.
///
/// They are read when this is called, from counters that are kept anyway; it waits for nothing. A cluster that has left
/// has no series any more. There are a few series for each cluster, and three for each cluster and controller; none for
/// objects.
pub fn metrics(manager: &ManagerHandle) -> String {
    let mut registry = Registry::with_prefix("mcrt");
    registry.register_collector(Box::new(Numbers::of(manager)));
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = encode(&mut text, &registry);
    text
}

/// What was read at one moment.
#[derive(Debug)]
struct Numbers {
    controllers: Vec<(String, ControllerCounters)>,
    lanes: Vec<(String, String, LaneCounters)>,
    clusters: Vec<Seen>,
    counts: [(&'static str, usize); 4],
    replicas: usize,
}

#[derive(Debug)]
struct Seen {
    name: String,
    health: &'static str,
    watches: BTreeMap<&'static str, usize>,
}

/// Of a cluster that is engaged.
const HEALTH: [&str; 7] = [
    "connecting",
    "ready",
    "degraded",
    "unreachable",
    "unauthorized",
    "lost",
    "suspended",
];
const WATCHES: [WatchState; 5] = [
    WatchState::Idle,
    WatchState::Syncing,
    WatchState::Synced,
    WatchState::Forbidden,
    WatchState::Absent,
];

impl Numbers {
    fn of(manager: &ManagerHandle) -> Self {
        let fleet = manager.fleet();
        let clusters: Vec<_> = fleet.clusters().into_iter().chain(fleet.host()).collect();
        let controllers = manager.controllers();
        Self {
            lanes: controllers
                .iter()
                .flat_map(|controller| lanes(controller, &clusters))
                .collect(),
            controllers: controllers
                .iter()
                .map(|it| (it.name().to_owned(), it.counters()))
                .collect(),
            clusters: clusters.iter().map(Seen::of).collect(),
            counts: counts(fleet),
            replicas: fleet.replicas().len(),
        }
    }
}

fn counts(fleet: &Fleet) -> [(&'static str, usize); 4] {
    [
        ("engaged", fleet.clusters().len()),
        ("elsewhere", fleet.elsewhere().len()),
        ("left_out", fleet.left_out().len()),
        ("rejected", fleet.rejections().len()),
    ]
}

fn lanes(controller: &ControllerHandle, clusters: &[Cluster]) -> Vec<(String, String, LaneCounters)> {
    let lanes = clusters.iter().filter_map(|cluster| {
        let lane = controller.lane(cluster.name())?;
        Some((controller.name().to_owned(), label(cluster), lane))
    });
    lanes.collect()
}

/// The host's is empty, as it is inside: a member may be called `host`.
fn label(cluster: &Cluster) -> String {
    let exact: &str = std::borrow::Borrow::borrow(cluster.name());
    exact.to_owned()
}

impl Seen {
    fn of(cluster: &Cluster) -> Self {
        let mut watches: BTreeMap<_, _> = WATCHES.iter().map(|state| (state.as_str(), 0)).collect();
        for (_, state) in cluster.watches() {
            if let Some(count) = watches.get_mut(state.as_str()) {
                *count += 1;
            }
        }
        Self {
            name: label(cluster),
            health: cluster.health().as_str(),
            watches,
        }
    }
}

impl Collector for Numbers {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        self.encode_controllers(&mut encoder)?;
        self.encode_lanes(&mut encoder)?;
        self.encode_clusters(&mut encoder)
    }
}

type CounterOf = fn(&ControllerCounters) -> u64;
type GaugeOf = fn(&LaneCounters) -> usize;

impl Numbers {
    fn encode_controllers(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let families: [(&str, &str, CounterOf); 5] = [
            ("reconciles", "Reconciles begun", |it| it.reconciles),
            ("reconcile_errors", "Reconciles that returned an error", |it| {
                it.errors
            }),
            ("panics", "Calls of the author's code that panicked", |it| {
                it.panics
            }),
            (
                "reconcile_timeouts",
                "Reconciles dropped at their deadline",
                |it| it.timeouts,
            ),
            ("gone", "Deleted objects taken leave of", |it| it.gone),
        ];
        for (name, help, of) in families {
            let series = self.controllers.iter().map(|(controller, counters)| {
                (
                    [("controller", controller.clone())],
                    ConstCounter::new(of(counters)),
                )
            });
            family(encoder, name, help, MetricType::Counter, series)?;
        }
        Ok(())
    }

    fn encode_lanes(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let families: [(&str, &str, GaugeOf); 4] = [
            ("lane_ready", "Requests that wait for their turn", |it| it.ready),
            ("lane_delayed", "Requests that wait for a time", |it| it.delayed),
            ("lane_running", "Requests that run", |it| it.running),
            (
                "lane_paused",
                "Whether nothing of the cluster is handed out",
                |it| usize::from(it.paused),
            ),
        ];
        for (name, help, of) in families {
            let series = self.lanes.iter().map(|(controller, cluster, lane)| {
                let labels = [("controller", controller.clone()), ("cluster", cluster.clone())];
                (labels, gauge(of(lane)))
            });
            family(encoder, name, help, MetricType::Gauge, series)?;
        }
        Ok(())
    }

    fn encode_clusters(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let health = self.clusters.iter().flat_map(|cluster| {
            HEALTH.map(|health| {
                let labels = [("cluster", cluster.name.clone()), ("health", health.to_owned())];
                (labels, gauge(usize::from(cluster.health == health)))
            })
        });
        let help = "How each cluster fares: 1 for what is so";
        family(encoder, "cluster_health", help, MetricType::Gauge, health)?;
        let watches = self.clusters.iter().flat_map(|cluster| {
            cluster.watches.iter().map(|(state, count)| {
                let labels = [("cluster", cluster.name.clone()), ("state", (*state).to_owned())];
                (labels, gauge(*count))
            })
        });
        family(
            encoder,
            "cluster_watches",
            "Watches by how they fare",
            MetricType::Gauge,
            watches,
        )?;
        let counts = self
            .counts
            .iter()
            .map(|(state, count)| ([("state", (*state).to_owned())], gauge(*count)));
        let help = "Clusters that the provider names, by what becomes of them here; a rejected one may be engaged too";
        family(encoder, "clusters", help, MetricType::Gauge, counts)?;
        let help = "Replicas that are seen to share the clusters; 0 where they are not shared";
        let none: [(&str, String); 0] = [];
        family(
            encoder,
            "replicas",
            help,
            MetricType::Gauge,
            [(none, gauge(self.replicas))],
        )
    }
}

fn gauge(count: usize) -> ConstGauge<i64> {
    ConstGauge::new(i64::try_from(count).unwrap_or(i64::MAX))
}

fn family<L: EncodeLabelSet>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    kind: MetricType,
    series: impl IntoIterator<Item = (L, impl EncodeMetric)>,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, help, None, kind)?;
    for (labels, metric) in series {
        metric.encode(family.encode_family(&labels)?)?;
    }
    Ok(())
}
