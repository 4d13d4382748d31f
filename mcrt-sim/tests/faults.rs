//! Hooks, tokens, sockets, and what is counted as open.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests, helpers included")]

mod common;

use std::time::Duration;

use common::{client, config_map, config_map_json, config_maps, eventually, within};
use futures::{StreamExt, TryStreamExt};
use http_body_util::BodyExt;
use kube::api::{ListParams, PostParams, WatchEvent, WatchParams};
use kube::{Client, Config};
use mcrt_sim::{Counters, Server, Verb, Verdict};
use serde_json::json;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn nothing_open(counters: &Counters) -> bool {
    (
        counters.open_requests,
        counters.open_watches,
        counters.open_connections,
    ) == (0, 0, 0)
}

#[tokio::test]
async fn a_hanging_request_is_open_until_its_caller_gives_up() {
    let server = Server::new("one");
    server.hook(|_| Verdict::Hang);
    let api = config_maps(&server);
    let params = ListParams::default();
    let hanging = tokio::time::timeout(Duration::from_millis(30), api.list(&params));
    assert!(hanging.await.is_err());
    eventually(|| server.counters(), nothing_open).await;
    assert_eq!(server.counters().lists, 1);
}

#[tokio::test]
async fn a_hanging_body_sends_headers_and_then_nothing() {
    let server = Server::new("one");
    server.hook(|request| {
        if request.verb() == Verb::Watch {
            Verdict::HangBody
        } else {
            Verdict::Pass
        }
    });
    let mut events = config_maps(&server)
        .watch(&WatchParams::default(), "0")
        .await
        .unwrap()
        .boxed();
    assert!(
        tokio::time::timeout(Duration::from_millis(30), events.next())
            .await
            .is_err()
    );
    assert_eq!(
        (
            server.counters().open_watches,
            server.counters().kind("configmaps").open_watches
        ),
        (1, 1)
    );
    drop(events);
    eventually(|| server.counters(), nothing_open).await;
}

#[tokio::test]
async fn a_hook_answers_with_a_status_an_event_or_a_broken_connection() {
    let server = Server::new("one");
    let api = config_maps(&server);
    server.hook(|_| Verdict::Fail {
        code: 429,
        reason: "TooManyRequests",
        message: "slow down".into(),
    });
    let error = api.list(&ListParams::default()).await.unwrap_err();
    assert!(matches!(error, kube::Error::Api(status) if status.code == 429 && status.message == "slow down"));
    server.hook(|_| Verdict::gone());
    let error = api.watch(&WatchParams::default(), "1").await.err().unwrap();
    assert!(matches!(error, kube::Error::Api(status) if status.code == 410));
    server.hook(|_| Verdict::watch_gone());
    let mut events = api.watch(&WatchParams::default(), "1").await.unwrap().boxed();
    let event = within(events.try_next()).await.unwrap();
    assert!(matches!(event, Some(WatchEvent::Error(status)) if status.code == 410));
    assert!(within(events.try_next()).await.unwrap().is_none());
    server.hook(|_| Verdict::Reset);
    assert!(matches!(
        api.list(&ListParams::default()).await,
        Err(kube::Error::Service(_))
    ));
    server.clear_hook();
    assert!(api.list(&ListParams::default()).await.is_ok());
    drop(events);
    eventually(|| server.counters(), nothing_open).await;
}

#[tokio::test(start_paused = true)]
async fn a_delayed_request_is_answered_later() {
    let server = Server::new("one");
    server.hook(|_| Verdict::Delay(Duration::from_secs(30)));
    let start = tokio::time::Instant::now();
    config_maps(&server).list(&ListParams::default()).await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_secs(30));
}

#[tokio::test]
async fn a_token_is_required_once_it_is_set() {
    let server = Server::new("one");
    server.set_token(Some("right".to_owned()));
    let get = |path: &str, token: Option<&str>| {
        let mut request = http::Request::get(path);
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request.body(kube::client::Body::empty()).unwrap();
        let client = client(&server);
        async move { client.send(request).await.unwrap().status().as_u16() }
    };
    assert_eq!(get("/api/v1/configmaps", None).await, 403);
    assert_eq!(get("/api/v1/configmaps", Some("wrong")).await, 401);
    assert_eq!(get("/api/v1/configmaps", Some("right")).await, 200);
    assert_eq!(get("/readyz", None).await, 200);
    assert_eq!(get("/readyz", Some("wrong")).await, 401);
    let counters = server.counters();
    assert_eq!((counters.unauthorized, counters.forbidden), (2, 1));
    assert!(!format!("{server:?}").contains("right"));
    server.hook(|request| {
        assert!(!format!("{request:?}").contains("right"));
        assert_eq!(request.token(), Some("right"));
        Verdict::Pass
    });
    assert_eq!(get("/api/v1/configmaps", Some("right")).await, 200);
}

#[tokio::test]
async fn a_listener_serves_sockets_and_closes_them_all() {
    let server = Server::new("one");
    let listener = server.listen().await.unwrap();
    let config = Config::new(format!("http://{}", listener.addr()).parse().unwrap());
    let client = Client::try_from(config).unwrap();
    let api: kube::Api<k8s_openapi::api::core::v1::ConfigMap> = kube::Api::default_namespaced(client.clone());
    api.create(&PostParams::default(), &config_map("a", "1"))
        .await
        .unwrap();
    let mut events = api.watch(&WatchParams::default(), "0").await.unwrap().boxed();
    let Some(WatchEvent::Added(_)) = within(events.try_next()).await.unwrap() else {
        panic!("nothing added")
    };
    server.hook(|_| Verdict::Reset);
    assert!(
        within(api.list(&ListParams::default())).await.is_err(),
        "the connection breaks"
    );
    server.clear_hook();
    assert!(server.counters().open_connections >= 1);
    assert_eq!(server.counters().open_watches, 1);
    within(listener.shutdown()).await;
    assert!(nothing_open(&server.counters()), "{:?}", server.counters());
    assert!(
        within(api.list(&ListParams::default())).await.is_err(),
        "nobody listens"
    );
}

#[tokio::test]
async fn a_client_that_goes_away_closes_what_it_held_on_the_socket() {
    let server = Server::new("one");
    let listener = server.listen().await.unwrap();
    let config = Config::new(format!("http://{}", listener.addr()).parse().unwrap());
    let client = Client::try_from(config).unwrap();
    let api: kube::Api<k8s_openapi::api::core::v1::ConfigMap> = kube::Api::default_namespaced(client.clone());
    let events = api.watch(&WatchParams::default(), "0").await.unwrap().boxed();
    server.hook(|_| Verdict::Hang);
    let params = ListParams::default();
    assert!(
        tokio::time::timeout(Duration::from_millis(50), api.list(&params))
            .await
            .is_err()
    );
    drop(events);
    drop(api);
    drop(client);
    eventually(|| server.counters(), nothing_open).await;
    drop(listener);
}

#[tokio::test]
async fn unknown_paths_and_broken_bodies_are_answered() {
    let server = Server::new("one");
    let client = client(&server);
    let send = |method: &str, path: &str, content_type: &str, body: &str| {
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", content_type);
        let request = request
            .body(kube::client::Body::from(body.as_bytes().to_vec()))
            .unwrap();
        let client = client.clone();
        async move {
            let response = client.send(request).await.unwrap();
            let code = response.status().as_u16();
            let body = response.into_body().collect().await.unwrap().to_bytes();
            (code, String::from_utf8(body.to_vec()).unwrap())
        }
    };
    let json = "application/json";
    assert_eq!(
        send("GET", "/apis/none.dev/v1/things", json, "").await,
        (404, "404 page not found\n".into())
    );
    assert_eq!(send("GET", "/nowhere", json, "").await.0, 404);
    let (code, body) = send("GET", "/api/v1/things", json, "").await;
    assert!(
        code == 404 && body.contains("could not find the requested resource"),
        "{body}"
    );
    assert_eq!(send("POST", CONFIG_MAPS, json, "{").await.0, 400);
    assert_eq!(send("POST", CONFIG_MAPS, json, "[1]").await.0, 400);
    let (code, body) = send(
        "POST",
        CONFIG_MAPS,
        json,
        r#"{"metadata":{"labels":{"a":["s3cret"]}}}"#,
    )
    .await;
    assert!(code == 400 && !body.contains("s3cret"), "{body}");
    assert_eq!(send("POST", CONFIG_MAPS, json, r#"{"metadata":{}}"#).await.0, 422);
    assert_eq!(
        send("POST", CONFIG_MAPS, json, r#"{"metadata":{"name":"No"}}"#)
            .await
            .0,
        422
    );
    assert_eq!(
        send(
            "POST",
            CONFIG_MAPS,
            json,
            r#"{"kind":"Pod","metadata":{"name":"a"}}"#
        )
        .await
        .0,
        400
    );
    assert_eq!(send("PUT", CONFIG_MAPS, json, "{}").await.0, 405);
    assert_eq!(
        send("GET", &format!("{CONFIG_MAPS}?limit=x"), json, "").await.0,
        400
    );
    assert_eq!(
        send("GET", &format!("{CONFIG_MAPS}?continue=x"), json, "")
            .await
            .0,
        400
    );
    let root = format!("{CONFIG_MAPS}/kube-root-ca.crt");
    assert_eq!(send("PATCH", &root, "text/plain", "{}").await.0, 415);
    assert_eq!(
        send("PATCH", &root, "application/json-patch+json", "{}").await.0,
        400
    );
    let test = r#"[{"op":"test","path":"/data/none","value":1}]"#;
    assert_eq!(
        send("PATCH", &root, "application/json-patch+json", test).await.0,
        422
    );
    let replaced = r#"[{"op":"replace","path":"","value":7}]"#;
    assert_eq!(
        send("PATCH", &root, "application/json-patch+json", replaced)
            .await
            .0,
        400
    );
    let large = format!(
        r#"{{"metadata":{{"name":"a"}},"data":{{"a":"{}"}}}}"#,
        "x".repeat(4 << 20)
    );
    assert_eq!(send("POST", CONFIG_MAPS, json, &large).await.0, 413);
}

#[tokio::test]
async fn discovery_lists_what_is_served() {
    let server = Server::new("one");
    let client = client(&server);
    let version = client.apiserver_version().await.unwrap();
    assert_eq!(version.major, "1");
    let groups = client.list_api_groups().await.unwrap();
    assert!(groups.groups.iter().any(|group| group.name == "apps"));
    let core = client.list_core_api_resources("v1").await.unwrap();
    assert!(
        core.resources
            .iter()
            .any(|resource| resource.name == "configmaps" && resource.namespaced)
    );
    let apps = client.list_api_group_resources("apps/v1").await.unwrap();
    assert!(
        apps.resources
            .iter()
            .any(|resource| resource.name == "deployments/status")
    );
    assert!(
        kube::discovery::Discovery::new(client.clone())
            .run()
            .await
            .unwrap()
            .has_group("batch")
    );
}

#[tokio::test]
async fn counters_tell_kinds_and_operations_apart() {
    let server = Server::new("one");
    let api = config_maps(&server);
    api.create(&PostParams::default(), &config_map("a", "1"))
        .await
        .unwrap();
    api.get("a").await.unwrap();
    api.list(&ListParams::default()).await.unwrap();
    server.create(config_map_json("direct", &json!({}))).unwrap();
    let kind = server.counters().kind("configmaps");
    assert_eq!((kind.writes, kind.gets, kind.lists, kind.watches), (1, 1, 1, 0));
    assert_eq!(server.counters().requests, 3);
    assert_eq!(server.counters().kind("secrets").lists, 0);
}
