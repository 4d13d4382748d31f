//! Fault plans: what they do, to which requests, and that they do the same again.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests, helpers included")]

mod common;

use std::time::Duration;

use common::{client, config_map, config_map_json, config_maps, within};
use futures::{StreamExt, TryStreamExt};
use http_body_util::BodyExt;
use kube::api::{ListParams, PostParams, WatchEvent, WatchParams};
use mcrt_sim::{Fault, Faults, Fleet, Requests, Server, Verb, Verdict};
use serde_json::{Value, json};
use tokio::time::Instant;

const SECOND: Duration = Duration::from_secs(1);

/// Codes of so many lists, one after the other.
async fn codes(server: &Server, count: usize) -> Vec<u16> {
    let mut codes = Vec::new();
    for _ in 0..count {
        codes.push(send(server, "GET", "/api/v1/configmaps", "").await.0);
    }
    codes
}

/// Code, `Retry-After` and body of an answer; 0 for a broken connection.
async fn send(server: &Server, method: &str, path: &str, body: &str) -> (u16, Option<String>, Value) {
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/json")
        .body(kube::client::Body::from(body.as_bytes().to_vec()))
        .unwrap();
    let Ok(response) = client(server).send(request).await else {
        return (0, None, Value::Null);
    };
    let after = response.headers().get("retry-after");
    let after = after.map(|after| after.to_str().unwrap().to_owned());
    let code = response.status().as_u16();
    match response.into_body().collect().await {
        Ok(body) => (
            code,
            after,
            serde_json::from_slice(&body.to_bytes()).unwrap_or_default(),
        ),
        Err(_) => (0, after, Value::Null),
    }
}

fn put(server: &Server, name: &str) -> u64 {
    server.create(config_map_json(name, &json!({}))).unwrap();
    server.resource_version()
}

async fn names(server: &Server) -> Vec<String> {
    let list = config_maps(server).list(&ListParams::default()).await.unwrap();
    let names = list.items.into_iter().filter_map(|it| it.metadata.name);
    names.filter(|name| name != "kube-root-ca.crt").collect()
}

type Events =
    futures::stream::BoxStream<'static, kube::Result<WatchEvent<k8s_openapi::api::core::v1::ConfigMap>>>;

async fn watch(server: &Server, version: u64) -> Events {
    let params = WatchParams::default();
    config_maps(server)
        .watch(&params, &version.to_string())
        .await
        .unwrap()
        .boxed()
}

async fn added(events: &mut Events) -> String {
    match events.try_next().await.unwrap() {
        Some(WatchEvent::Added(object)) => object.metadata.name.unwrap(),
        other => panic!("{other:?}"),
    }
}

async fn silent(events: &mut Events) -> bool {
    tokio::time::timeout(Duration::from_mins(10), events.next())
        .await
        .is_err()
}

#[tokio::test(start_paused = true)]
async fn only_the_request_whose_turn_it_is_fails() {
    let server = Server::new("one");
    let of = || Requests::lists().of("configmaps");
    let fails = |requests: Requests| Faults::none().on(requests, Fault::status(503));
    server.faults(fails(of().nth(3)));
    assert_eq!(codes(&server, 4).await, [200, 200, 503, 200]);
    server.faults(fails(of().first(2)));
    assert_eq!(codes(&server, 3).await, [503, 503, 200]);
    server.faults(fails(of().after(2)));
    assert_eq!(codes(&server, 3).await, [200, 200, 503]);
    server.faults(fails(of().every(2)));
    assert_eq!(codes(&server, 4).await, [200, 503, 200, 503]);
    server.faults(fails(of().after(1).first(2)));
    assert_eq!(codes(&server, 3).await, [200, 503, 200]);
    assert_eq!(server.counters().faults, 7);
    server.clear_faults();
    assert_eq!(codes(&server, 2).await, [200, 200]);
}

#[tokio::test(start_paused = true)]
async fn requests_are_told_apart_by_what_they_are() {
    let server = Server::new("one");
    let path = "/api/v1/namespaces/default/configmaps";
    let hit = async |requests: Requests, method: &str, path: &str| {
        server.faults(Faults::none().on(requests, Fault::status(418)));
        send(&server, method, path, "{}").await.0 == 418
    };
    assert!(hit(Requests::any(), "GET", "/version").await);
    assert!(hit(Requests::discovery(), "GET", "/apis").await);
    assert!(!hit(Requests::discovery(), "GET", path).await);
    assert!(hit(Requests::creates(), "POST", path).await);
    assert!(hit(Requests::writes(), "DELETE", path).await);
    assert!(!hit(Requests::reads(), "DELETE", path).await);
    assert!(hit(Requests::gets().named("a"), "GET", &format!("{path}/a")).await);
    assert!(!hit(Requests::gets().named("b"), "GET", &format!("{path}/a")).await);
    assert!(hit(Requests::lists().within("default"), "GET", path).await);
    assert!(!hit(Requests::lists().within("other"), "GET", path).await);
    assert!(!hit(Requests::lists().continued(), "GET", path).await);
    assert!(
        hit(
            Requests::lists().continued(),
            "GET",
            &format!("{path}?continue=x")
        )
        .await
    );
    let deployment = "/apis/apps/v1/namespaces/default/deployments/a/status";
    assert!(
        hit(
            Requests::any().of("secrets").of("deployments.apps"),
            "GET",
            deployment
        )
        .await
    );
    assert!(!hit(Requests::any().of("deployments.batch"), "GET", deployment).await);
    assert!(hit(Requests::updates().on_status(), "PUT", deployment).await);
    assert!(!hit(Requests::updates().on_status(), "PUT", &format!("{path}/a")).await);
    assert!(hit(Requests::matching(|it| it.verb() == Verb::List), "GET", path).await);
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_gives_the_same_faults_and_each_server_its_own() {
    let run = async |seed, name| {
        let server = Server::new(name);
        let slow = Fault::delay_between(Duration::ZERO, SECOND);
        server.faults(
            Faults::seeded(seed)
                .on(Requests::lists().rate(0.3), Fault::status(503))
                .on(Requests::lists().rate(0.3), slow),
        );
        let start = Instant::now();
        (codes(&server, 60).await, start.elapsed())
    };
    let first = run(7, "one").await;
    assert_eq!(first, run(7, "one").await);
    assert_ne!(first, run(8, "one").await);
    assert_ne!(first, run(7, "two").await);
    let failed = first.0.iter().filter(|code| **code == 503).count();
    assert!((9..28).contains(&failed), "{failed}");
}

#[tokio::test(start_paused = true)]
async fn delays_add_up_and_the_first_answer_wins() {
    let server = Server::new("one");
    server.set_latency(SECOND);
    server.faults(
        Faults::none()
            .on(Requests::any(), Fault::delay(SECOND))
            .on(
                Requests::any(),
                Fault::status(429).retry_after(Duration::from_millis(4500)),
            )
            .on(Requests::any(), Fault::status(500))
            .on(Requests::any(), Fault::delay(SECOND)),
    );
    let start = Instant::now();
    let (code, after, body) = send(&server, "GET", "/api/v1/configmaps", "").await;
    assert_eq!(
        (code, after.as_deref(), start.elapsed()),
        (429, Some("5"), 3 * SECOND)
    );
    assert_eq!(body["reason"], "TooManyRequests");
    assert_eq!(body["details"]["retryAfterSeconds"], 5);
}

#[tokio::test(start_paused = true)]
async fn a_span_of_time_begins_when_the_plan_is_set() {
    let server = Server::new("one");
    server.faults(Faults::none().on(Requests::any().during(SECOND..2 * SECOND), Fault::gone()));
    assert_eq!(codes(&server, 1).await, [200]);
    tokio::time::advance(SECOND).await;
    assert_eq!(codes(&server, 1).await, [410]);
    tokio::time::advance(SECOND).await;
    assert_eq!(codes(&server, 1).await, [200]);
}

#[tokio::test(start_paused = true)]
async fn a_hook_goes_before_the_plan_and_can_use_every_fault() {
    let server = Server::new("one");
    server.faults(Faults::none().on(Requests::any(), Fault::status(500)));
    server.hook(|request| match request.plural() {
        "configmaps" => Fault::status(404).reason("Lost").message("nobody knows").into(),
        _ => Verdict::Pass,
    });
    let (code, _, body) = send(&server, "GET", "/api/v1/configmaps", "").await;
    assert_eq!(
        (code, &body["reason"], &body["message"]),
        (404, &"Lost".into(), &"nobody knows".into())
    );
    assert_eq!(send(&server, "GET", "/api/v1/secrets", "").await.0, 500);
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_leaves_what_was_done() {
    let server = Server::new("one");
    let api = config_maps(&server);
    server.faults(Faults::none().on(Requests::creates().first(1), Fault::lose_answer()));
    let error = api
        .create(&PostParams::default(), &config_map("a", "1"))
        .await
        .unwrap_err();
    assert!(matches!(error, kube::Error::Service(_)), "{error:?}");
    assert_eq!(names(&server).await, ["a"]);
    let again = api
        .create(&PostParams::default(), &config_map("a", "1"))
        .await
        .unwrap_err();
    assert!(matches!(again, kube::Error::Api(status) if status.code == 409));
}

#[tokio::test(start_paused = true)]
async fn bodies_are_cut_and_stall_half_way() {
    let server = Server::new("one");
    put(&server, "a");
    server.faults(
        Faults::none()
            .on(Requests::lists().nth(1), Fault::cut())
            .on(Requests::lists().nth(2), Fault::stall())
            .on(Requests::lists().nth(3), Fault::refuse()),
    );
    assert_eq!(codes(&server, 1).await, [0]);
    let stalled = tokio::time::timeout(Duration::from_mins(1), codes(&server, 1)).await;
    assert!(stalled.is_err());
    assert_eq!(codes(&server, 2).await, [0, 200]);
}

#[tokio::test(start_paused = true)]
async fn watches_end_break_expire_or_fall_silent_at_their_time() {
    let server = Server::new("one");
    let spoil = async |fault| {
        server.faults(Faults::none().on(Requests::watches(), fault));
        let mut events = watch(&server, server.resource_version()).await;
        let start = Instant::now();
        put(&server, &format!("object-{}", server.resource_version()));
        added(&mut events).await;
        (events, start)
    };
    let (mut events, start) = spoil(Fault::close_after(SECOND)).await;
    assert!(events.next().await.is_none());
    assert_eq!(start.elapsed(), SECOND);
    let (mut events, start) = spoil(Fault::reset_after(SECOND)).await;
    assert!(events.next().await.unwrap().is_err());
    assert_eq!(start.elapsed(), SECOND);
    let (mut events, start) = spoil(Fault::expire_after(SECOND)).await;
    assert!(matches!(events.next().await, Some(Ok(WatchEvent::Error(status))) if status.code == 410));
    assert_eq!(start.elapsed(), SECOND);
    assert!(events.next().await.is_none());
    let (mut events, _) = spoil(Fault::silence_after(SECOND)).await;
    tokio::time::advance(SECOND).await;
    put(&server, "unheard");
    assert!(silent(&mut events).await);
    let open = server.counters().open_watches;
    drop(events);
    assert_eq!(server.counters().open_watches, open - 1);
}

#[tokio::test(start_paused = true)]
async fn a_lagging_watch_tells_everything_in_order_but_later() {
    let server = Server::new("one");
    server.faults(Faults::none().on(Requests::watches(), Fault::lag(5 * SECOND)));
    let mut events = watch(&server, server.resource_version()).await;
    let start = Instant::now();
    put(&server, "a");
    tokio::join!(
        async {
            tokio::time::sleep(SECOND).await;
            put(&server, "b");
        },
        async {
            assert_eq!(added(&mut events).await, "a");
            assert_eq!(start.elapsed(), 5 * SECOND);
            assert_eq!(added(&mut events).await, "b");
            assert_eq!(start.elapsed(), 6 * SECOND);
        }
    );
}

#[tokio::test(start_paused = true)]
async fn a_watch_without_bookmarks_never_hears_that_its_list_is_complete() {
    let server = Server::new("one");
    put(&server, "a");
    let path = "/api/v1/namespaces/default/configmaps?watch=1&sendInitialEvents=true&allowWatchBookmarks=true\
                &resourceVersionMatch=NotOlderThan&timeoutSeconds=5";
    let kinds = async || {
        let request = http::Request::get(path)
            .body(kube::client::Body::empty())
            .unwrap();
        let response = client(&server).send(request).await.unwrap();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let lines = body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines
            .map(|line| {
                serde_json::from_slice::<Value>(line).unwrap()["type"]
                    .as_str()
                    .unwrap()
                    .to_owned()
            })
            .collect::<Vec<_>>()
    };
    assert!(kinds().await.contains(&"BOOKMARK".to_owned()));
    server.faults(Faults::none().on(Requests::watches(), Fault::without_bookmarks()));
    assert_eq!(kinds().await, ["ADDED", "ADDED"]);
}

#[tokio::test(start_paused = true)]
async fn a_replaying_watch_repeats_what_its_client_knows() {
    let server = Server::new("one");
    put(&server, "a");
    let version = put(&server, "b");
    server.faults(Faults::none().on(Requests::watches(), Fault::replay(2)));
    let mut events = watch(&server, version).await;
    assert_eq!(added(&mut events).await, "a");
    assert_eq!(added(&mut events).await, "b");
    put(&server, "c");
    assert_eq!(added(&mut events).await, "c");
}

#[tokio::test(start_paused = true)]
async fn stale_reads_see_a_state_that_was() {
    let server = Server::new("one");
    let first = put(&server, "a");
    put(&server, "b");
    server.delete("v1", "ConfigMap", Some("default"), "a").unwrap();
    let api = config_maps(&server);
    server.faults(Faults::none().on(Requests::reads(), Fault::behind(1)));
    assert_eq!(names(&server).await, ["a", "b"]);
    assert!(api.get("a").await.is_ok());
    server.faults(Faults::none().on(Requests::reads(), Fault::as_of(first)));
    assert_eq!(names(&server).await, ["a"]);
    assert!(api.get("b").await.is_err());
    let list = api.list(&ListParams::default()).await.unwrap();
    assert_eq!(list.metadata.resource_version.unwrap(), first.to_string());
    let newer = ListParams::default().at(&server.resource_version().to_string());
    let error = api.list(&newer).await.unwrap_err();
    assert!(
        matches!(error, kube::Error::Api(status) if status.code == 504),
        "from a server that lags"
    );
    let mut events = watch(&server, first).await;
    assert_eq!(added(&mut events).await, "b");
    server.compact();
    assert_eq!(
        names(&server).await,
        ["b"],
        "further back than the log nothing is known"
    );
}

#[tokio::test(start_paused = true)]
async fn behind_a_partition_requests_wait_and_watches_are_silent() {
    let server = Server::new("one");
    let mut events = watch(&server, server.resource_version()).await;
    server.partition();
    put(&server, "a");
    assert!(silent(&mut events).await);
    let list = tokio::spawn({
        let server = server.clone();
        async move { names(&server).await }
    });
    tokio::time::sleep(SECOND).await;
    assert!(!list.is_finished() && server.is_partitioned());
    let given_up = tokio::time::timeout(SECOND, names(&server)).await;
    assert!(given_up.is_err());
    put(&server, "b");
    server.heal();
    assert_eq!(
        within(list).await.unwrap(),
        ["a", "b"],
        "the answer is that of now"
    );
    assert_eq!(added(&mut events).await, "a");
    assert_eq!(added(&mut events).await, "b");
    drop(events);
    assert_eq!(server.counters().open_requests, 0);
}

#[tokio::test(start_paused = true)]
async fn another_cluster_can_stand_behind_the_same_address() {
    let fleet = Fleet::of(["a", "b"]);
    let server = fleet.get("a").unwrap();
    let uid = server.uid();
    put(&server, "a");
    let mut events = watch(&server, server.resource_version()).await;
    let same = fleet.reset("a").unwrap();
    assert!(events.next().await.is_none());
    assert_ne!(same.uid(), uid);
    assert!(names(&server).await.is_empty());
    let system = server.get("v1", "Namespace", None, "kube-system").unwrap();
    assert_eq!(system["metadata"]["uid"], server.uid());
    assert_eq!(fleet.servers().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_restarted_server_has_lost_its_log_but_no_object() {
    let server = Server::new("one");
    let version = put(&server, "a");
    put(&server, "b");
    let mut events = watch(&server, server.resource_version()).await;
    server.restart();
    assert!(events.next().await.is_none());
    assert_eq!(names(&server).await, ["a", "b"]);
    let mut events = watch(&server, version).await;
    assert!(matches!(events.next().await, Some(Ok(WatchEvent::Error(status))) if status.code == 410));
}

#[tokio::test(start_paused = true)]
async fn members_are_prepared_before_anybody_sees_them() {
    let old = Server::new("old");
    old.set_version("v1.31.4");
    old.set_latency(SECOND);
    let fleet = Fleet::of(["a"]);
    fleet.add(old);
    fleet.faults(&Faults::seeded(1).on(Requests::lists(), Fault::status(503)));
    let old = fleet.get("old").unwrap();
    let start = Instant::now();
    let version = client(&old).apiserver_version().await.unwrap();
    assert_eq!(
        (version.minor.as_str(), version.git_version.as_str()),
        ("31", "v1.31.4")
    );
    assert_eq!(start.elapsed(), SECOND);
    assert_eq!(codes(&old, 1).await, [503]);
    assert_eq!(codes(&fleet.host(), 1).await, [200]);
}
