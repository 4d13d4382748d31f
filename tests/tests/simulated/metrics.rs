//! What a manager does in numbers, read as a scraper reads them.

use std::collections::{BTreeMap, BTreeSet};

use mcrt::{Action, observe::metrics};
use mcrt_tests::simulated::{Recorder, Running, Sims, config, hang};

/// Series by name and labels, as the text has them.
type Series = BTreeMap<(String, BTreeMap<String, String>), f64>;

/// Reads the text format strictly: what is not understood fails.
fn read(text: &str) -> Series {
    let mut series = Series::new();
    let mut lines = text.lines();
    assert_eq!(lines.next_back(), Some("# EOF"));
    for line in lines.filter(|line| !line.starts_with("# ")) {
        let (name, rest) = line.split_at(line.find(['{', ' ']).unwrap());
        let (labels, value) = match rest.strip_prefix('{') {
            Some(rest) => labels(rest),
            None => (BTreeMap::new(), rest),
        };
        let value = value.trim().parse().unwrap();
        let known = series.insert((name.to_owned(), labels), value);
        assert!(known.is_none(), "twice: {line}");
    }
    series
}

fn labels(mut rest: &str) -> (BTreeMap<String, String>, &str) {
    let mut labels = BTreeMap::new();
    while !rest.starts_with('}') {
        let (key, quoted) = rest.split_once("=\"").unwrap();
        let (mut value, mut chars) = (String::new(), quoted.char_indices());
        let end = loop {
            match chars.next().unwrap() {
                (at, '"') => break at,
                (_, '\\') => value.push(match chars.next().unwrap().1 {
                    'n' => '\n',
                    escaped @ ('\\' | '"') => escaped,
                    other => panic!("no escape: {other}"),
                }),
                (_, plain) => value.push(plain),
            }
        };
        assert!(labels.insert(key.to_owned(), value).is_none(), "{key} twice");
        rest = quoted[end + 1..].trim_start_matches(',');
    }
    (labels, &rest[1..])
}

fn of(series: &Series, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
    let labels = labels
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    series.get(&(name.to_owned(), labels.collect())).copied()
}

fn now(running: &Running<'_>) -> Series {
    read(&metrics(&running.handle))
}

#[tokio::test(start_paused = true)]
async fn every_name_of_a_cluster_can_be_a_label() {
    let long = "X".repeat(253);
    let names = [
        "a/b",
        "a-b",
        "A",
        "a#b",
        "a+b",
        "arn:aws:eks:eu:1:cluster/P",
        "a\"b",
        "a\\b",
        "a\\",
        "host",
        "é{}",
        &long,
    ];
    let sims = Sims::of(names);
    let seen: Recorder = Recorder::default();
    sims.manager()
        .controller(seen.controller("seen"))
        .run(async |running| {
            running.settled().await;
            let series = now(running);
            for name in names {
                let ready = of(
                    &series,
                    "mcrt_cluster_health",
                    &[("cluster", name), ("health", "ready")],
                );
                assert_eq!(ready, Some(1.0), "{name}");
            }
            let found = series
                .keys()
                .filter_map(|(_, labels)| labels.get("cluster").cloned());
            let found: BTreeSet<_> = found.collect();
            assert_eq!(found, names.iter().map(|name| (*name).to_owned()).collect());
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn what_is_done_in_a_cluster_is_in_the_numbers_until_it_leaves() {
    let sims = Sims::of(["a", "b"]);
    for number in 0..3 {
        sims.server("a")
            .create(config(&format!("object-{number}")))
            .unwrap();
    }
    let hour = std::time::Duration::from_hours(1);
    let seen: Recorder = Recorder::default().doing(move |_| async move { Ok(Action::requeue(hour)) });
    sims.manager()
        .controller(seen.controller("seen"))
        .run(async |running| {
            running.settled().await;
            let series = now(running);
            assert_eq!(
                of(&series, "mcrt_reconciles_total", &[("controller", "seen")]),
                Some(3.0)
            );
            let lane = [("cluster", "a"), ("controller", "seen")];
            assert_eq!(of(&series, "mcrt_lane_delayed", &lane), Some(3.0));
            assert_eq!(of(&series, "mcrt_lane_paused", &lane), Some(0.0));
            let watches = [("cluster", "a"), ("state", "synced")];
            assert_eq!(of(&series, "mcrt_cluster_watches", &watches), Some(1.0));
            assert_eq!(of(&series, "mcrt_clusters", &[("state", "engaged")]), Some(2.0));
            assert_eq!(of(&series, "mcrt_replicas", &[]), Some(0.0));
            // One state is so for each cluster, whatever happens to it.
            hang(&sims.server("b"));
            running
                .until("it is unreachable", async || {
                    let series = now(running);
                    let health = |state| {
                        of(
                            &series,
                            "mcrt_cluster_health",
                            &[("cluster", "b"), ("health", state)],
                        )
                    };
                    let states = series.iter().filter(|((name, labels), _)| {
                        name == "mcrt_cluster_health" && labels["cluster"] == "b"
                    });
                    let so: f64 = states.map(|(_, value)| value).sum();
                    assert!((so - 1.0).abs() < f64::EPSILON, "{series:?}");
                    (health("unreachable") == Some(1.0))
                        .then_some(())
                        .ok_or_else(|| "not yet".to_owned())
                })
                .await;
            sims.leave("a");
            running
                .until("nothing of it is left", async || {
                    let series = now(running);
                    let left = series
                        .keys()
                        .any(|(_, labels)| labels.get("cluster").is_some_and(|it| it == "a"));
                    (!left).then_some(()).ok_or_else(|| "it is there".to_owned())
                })
                .await;
        })
        .await;
}
