//! Lists in pages after the log has been compacted.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests, helpers included")]

mod common;

use common::{client, config_map_json};
use http_body_util::BodyExt;
use mcrt_sim::Server;
use serde_json::{Value, json};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

async fn get(server: &Server, query: &str) -> (u16, Value) {
    let request = http::Request::get(format!("{CONFIG_MAPS}?{query}")).body(kube::client::Body::empty());
    let response = client(server).send(request.unwrap()).await.unwrap();
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&body).unwrap())
}

fn names(list: &Value) -> Vec<&str> {
    let items = list["items"].as_array().unwrap().iter();
    items
        .map(|item| item["metadata"]["name"].as_str().unwrap())
        .collect()
}

fn filled() -> Server {
    let server = Server::new("one");
    for name in ["a", "b", "c"] {
        server.create(config_map_json(name, &json!({}))).unwrap();
    }
    server
}

#[tokio::test]
async fn an_expired_page_offers_the_rest_as_it_is_now() {
    let server = filled();
    let (_, first) = get(&server, "limit=1").await;
    let token = first["metadata"]["continue"].as_str().unwrap();
    server.delete("v1", "ConfigMap", None, "b").unwrap();
    server.create(config_map_json("aa", &json!({}))).unwrap();
    server.compact();
    let (code, status) = get(&server, &format!("continue={token}")).await;
    assert_eq!((code, &status["reason"]), (410, &json!("Expired")));
    let offered = status["metadata"]["continue"].as_str().unwrap();
    // It goes on behind the same object, at the version of today, and its pages agree from there on.
    let (code, rest) = get(&server, &format!("limit=2&continue={offered}")).await;
    assert_eq!((code, names(&rest)), (200, vec!["aa", "c"]));
    assert_eq!(
        rest["metadata"]["resourceVersion"],
        server.resource_version().to_string()
    );
    let last = rest["metadata"]["continue"].as_str().unwrap();
    let (_, last) = get(&server, &format!("continue={last}")).await;
    assert_eq!(names(&last), ["kube-root-ca.crt"]);
}

#[tokio::test]
async fn a_list_of_exactly_a_compacted_version_is_expired() {
    let server = filled();
    let old = server.resource_version();
    server.create(config_map_json("d", &json!({}))).unwrap();
    server.compact();
    for query in [
        format!("resourceVersion={old}&resourceVersionMatch=Exact"),
        format!("resourceVersion={old}&limit=1"),
    ] {
        let (code, status) = get(&server, &query).await;
        assert_eq!((code, &status["reason"]), (410, &json!("Expired")), "{query}");
        assert_eq!(
            status["message"],
            "The resourceVersion for the provided list is too old."
        );
    }
    let (code, list) = get(
        &server,
        &format!("resourceVersion={old}&resourceVersionMatch=NotOlderThan"),
    )
    .await;
    assert_eq!((code, names(&list).len()), (200, 5));
}

#[tokio::test]
async fn a_token_of_all_namespaces_goes_on_in_the_next_one() {
    let server = filled();
    let request = |query: &str| http::Request::get(format!("/api/v1/configmaps?{query}"));
    let mut seen = Vec::new();
    let mut token = String::new();
    loop {
        let request = request(&format!("limit=2&continue={token}")).body(kube::client::Body::empty());
        let response = client(&server).send(request.unwrap()).await.unwrap();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let list: Value = serde_json::from_slice(&body).unwrap();
        seen.extend(list["items"].as_array().unwrap().iter().map(|item| {
            let metadata = &item["metadata"];
            format!(
                "{}/{}",
                metadata["namespace"].as_str().unwrap(),
                metadata["name"].as_str().unwrap()
            )
        }));
        match list["metadata"]["continue"].as_str() {
            Some(next) => next.clone_into(&mut token),
            None => break,
        }
    }
    let all = [
        "default/a",
        "default/b",
        "default/c",
        "default/kube-root-ca.crt",
        "kube-public/kube-root-ca.crt",
        "kube-system/kube-root-ca.crt",
    ];
    assert_eq!(seen, all);
}
