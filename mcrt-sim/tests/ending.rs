//! Namespaces that end while much in them is held.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::config_map_json;
use mcrt_sim::Server;
use serde_json::json;

#[test]
fn a_namespace_counts_what_holds_its_content_until_it_is_gone() {
    const COUNT: usize = 300;
    let server = Server::new("one");
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}});
    server.create(namespace).unwrap();
    let mut object = config_map_json("", &json!({}));
    object["metadata"]["namespace"] = "team".into();
    object["metadata"]["finalizers"] = json!(["example.com/hold"]);
    for index in 0..COUNT {
        object["metadata"]["name"] = format!("c-{index}").into();
        server.create(object.clone()).unwrap();
    }
    server.delete("v1", "Namespace", None, "team").unwrap();
    let mut change = object;
    change["metadata"]["finalizers"] = json!(null);
    for index in 0..COUNT {
        let namespace = server.get("v1", "Namespace", None, "team").unwrap();
        let conditions = namespace["status"]["conditions"].to_string();
        let held = format!("example.com/hold in {} resource instances", COUNT - index);
        assert!(conditions.contains(&held), "{conditions}");
        change["metadata"]["name"] = format!("c-{index}").into();
        server.merge(change.clone()).unwrap();
    }
    assert_eq!(
        server.get("v1", "Namespace", None, "team").unwrap_err().code(),
        404
    );
}

#[tokio::test]
async fn what_holds_a_namespace_has_to_be_texts() {
    let server = Server::new("one");
    let body = json!({"metadata": {"name": "default"}, "spec": {"finalizers": [{"a": 1}]}});
    let request = http::Request::put("/api/v1/namespaces/default/finalize")
        .header("content-type", "application/json")
        .body(body.to_string().into_bytes())
        .unwrap();
    let refused = common::client(&server)
        .request::<serde_json::Value>(request)
        .await;
    assert!(matches!(refused, Err(kube::Error::Api(status)) if status.code == 400));
}
