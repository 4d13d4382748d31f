//! Objects, patches and schemas that nest deeply or grow fast: what is taken can be read again, and nothing hangs.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::{client, within};
use http_body_util::BodyExt;
use mcrt_sim::{ServedKind, Server};
use proptest::prelude::*;
use serde_json::{Value, json};

const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";

fn server() -> Server {
    let server = Server::new("one");
    server.serve(ServedKind {
        group: "example.com".to_owned(),
        version: "v1".to_owned(),
        kind: "Widget".to_owned(),
        plural: "widgets".to_owned(),
        namespaced: true,
        status_subresource: false,
    });
    server
}

fn nested(levels: usize, lists: bool) -> Value {
    (0..levels).fold(json!("leaf"), |inner, _| {
        if lists {
            json!([inner])
        } else {
            json!({"a": inner})
        }
    })
}

fn widget(spec: Value) -> Value {
    let mut widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "one"}});
    widget["spec"] = spec;
    widget
}

async fn send(server: &Server, method: &str, path: &str, content_type: &str, body: &Value) -> (u16, Value) {
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", content_type)
        .body(kube::client::Body::from(body.to_string().into_bytes()))
        .unwrap();
    let response = within(client(server).send(request)).await.unwrap();
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&body).unwrap())
}

/// What is stored can be read, alone and in a list, and is what was sent.
fn is_stored(server: &Server, spec: &Value) {
    let stored = server
        .get("example.com/v1", "Widget", Some("default"), "one")
        .unwrap();
    assert_eq!(stored["spec"], *spec);
    assert_eq!(server.list("example.com/v1", "Widget", None).unwrap(), [stored]);
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap().block_on(future)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_object_of_any_depth_is_stored_or_refused(levels in 1..140_usize, lists in any::<bool>(), applied in any::<bool>()) {
        block_on(async {
            let server = server();
            let spec = nested(levels, lists);
            let (code, _) = if applied {
                let path = format!("{WIDGETS}/one?fieldManager=me");
                send(&server, "PATCH", &path, "application/apply-patch+yaml", &widget(spec.clone())).await
            } else {
                send(&server, "POST", WIDGETS, "application/json", &widget(spec.clone())).await
            };
            if code == 201 {
                is_stored(&server, &spec);
                let all = http::Request::get(WIDGETS).body(Vec::new()).unwrap();
                let all: Value = client(&server).request(all).await.unwrap();
                assert_eq!(all["items"][0]["spec"], spec);
            } else {
                assert_eq!(code, 400);
                assert!(levels > 100, "{levels}");
                server.get("example.com/v1", "Widget", Some("default"), "one").unwrap_err();
            }
        });
    }

    #[test]
    fn a_patch_may_nest_what_is_there_until_it_is_too_deep(steps in 1..12_usize, first in 1..40_usize) {
        block_on(async {
            let server = server();
            server.create(widget(json!({"a": nested(first, false)}))).unwrap();
            let at = |levels: usize| format!("/spec{}", "/a".repeat(levels));
            let mut levels = first + 1;
            let mut patch = Vec::new();
            for _ in 0..steps {
                patch.push(json!({"op": "copy", "from": "/spec", "path": at(levels)}));
                levels *= 2;
            }
            let path = format!("{WIDGETS}/one");
            let (code, answer) = send(&server, "PATCH", &path, "application/json-patch+json", &json!(patch)).await;
            if code == 200 {
                is_stored(&server, &answer["spec"]);
            } else {
                assert!(matches!(code, 400 | 422), "{code}");
                is_stored(&server, &json!({"a": nested(first, false)}));
            }
        });
    }
}

#[tokio::test]
async fn a_patch_that_doubles_an_object_again_and_again_is_refused() {
    let server = server();
    server.create(widget(json!({"a": "x".repeat(100)}))).unwrap();
    let copy = |index: usize| json!({"op": "copy", "from": "/spec", "path": format!("/spec/c{index}")});
    let operations: Vec<_> = (0..40).map(copy).collect();
    let path = format!("{WIDGETS}/one");
    let (code, _) = send(
        &server,
        "PATCH",
        &path,
        "application/json-patch+json",
        &json!(operations),
    )
    .await;
    assert_eq!(code, 422);
}

#[tokio::test]
async fn a_patch_of_too_many_operations_is_refused() {
    let server = server();
    server.create(widget(json!({}))).unwrap();
    let operations = vec![json!({"op": "test", "path": "/spec", "value": {}}); 10_001];
    let path = format!("{WIDGETS}/one");
    let (code, _) = send(
        &server,
        "PATCH",
        &path,
        "application/json-patch+json",
        &json!(operations),
    )
    .await;
    assert_eq!(code, 413);
}

#[tokio::test]
async fn a_patch_that_is_none_is_not_quoted() {
    let server = server();
    server.create(widget(json!({}))).unwrap();
    let path = format!("{WIDGETS}/one");
    let (code, answer) = send(
        &server,
        "PATCH",
        &path,
        "application/json-patch+json",
        &json!("s3cret"),
    )
    .await;
    assert_eq!(code, 400);
    assert!(!answer.to_string().contains("s3cret"), "{answer}");
}

fn definition(schema: &Value) -> Value {
    let mut version = json!({"name": "v1", "served": true, "storage": true});
    version["schema"] = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": schema}}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "versions": [version],
            "names": {"plural": "widgets", "kind": "Widget"},
        },
    })
}

#[test]
fn rules_inside_of_rules_are_looked_at_once() {
    let server = Server::new("one");
    let rules = (0..40).fold(json!({"maximum": 1}), |inner, _| json!({"allOf": [inner]}));
    let mut schema = rules;
    schema["type"] = "integer".into();
    server.create(definition(&schema)).unwrap();
    assert_eq!(server.create(widget(json!(2))).unwrap_err().code(), 422);
    server.create(widget(json!(1))).unwrap();
}

#[test]
fn an_item_that_a_long_set_has_twice_is_told() {
    let server = Server::new("one");
    let set = json!({"type": "array", "items": {"type": "integer"}, "x-kubernetes-list-type": "set"});
    server.create(definition(&set)).unwrap();
    let mut items: Vec<_> = (0..20_000).collect();
    items.push(7);
    let refused = server.create(widget(json!(items))).unwrap_err();
    assert_eq!(refused.code(), 422);
    assert!(
        refused.message().contains("spec[20000]: Duplicate value: 7"),
        "{refused}"
    );
}

#[test]
fn long_sets_are_applied_in_one_go() {
    let server = Server::new("one");
    let set = json!({"type": "array", "items": {"type": "integer"}, "x-kubernetes-list-type": "set"});
    server.create(definition(&set)).unwrap();
    let items: Vec<_> = (0..20_000).collect();
    server.apply("one", widget(json!(items))).unwrap();
    let mut others: Vec<_> = items.iter().rev().copied().collect();
    others.push(-1);
    server.apply("other", widget(json!(others))).unwrap();
    is_stored(&server, &json!(others));
}
