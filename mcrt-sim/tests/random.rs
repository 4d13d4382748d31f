//! Properties: whatever clients do, watches tell the truth, and whatever they send is answered.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests, helpers included")]

mod common;

use std::collections::BTreeMap;
use std::pin::pin;

use common::{client, config_map_json, config_maps, follow};
use http_body_util::BodyExt;
use kube::ResourceExt;
use kube::runtime::watcher::{Config, watcher};
use mcrt_sim::Server;
use proptest::prelude::*;
use serde_json::json;

#[derive(Clone, Debug)]
enum Step {
    Write(u8, u8),
    Delete(u8),
    Compact,
    Disconnect,
    Expire,
    Follow,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..8u8, 0..3u8).prop_map(|(name, team)| Step::Write(name, team)),
        3 => (0..8u8).prop_map(Step::Delete),
        1 => Just(Step::Compact),
        1 => Just(Step::Disconnect),
        1 => Just(Step::Expire),
        2 => Just(Step::Follow),
    ]
}

fn run(server: &Server, step: &Step) {
    match step {
        Step::Write(name, team) => {
            let labels = json!({"team": team.to_string()});
            server
                .apply("test", config_map_json(&format!("c-{name}"), &labels))
                .unwrap();
        }
        Step::Delete(name) => drop(server.delete("v1", "ConfigMap", None, &format!("c-{name}"))),
        Step::Compact => server.compact(),
        Step::Disconnect => server.disconnect_watches(),
        Step::Expire => server.expire_watches(),
        Step::Follow => {}
    }
}

/// What a selector of team 0 and 1 should show: names and versions.
fn truth(server: &Server) -> BTreeMap<String, String> {
    let all = server.list("v1", "ConfigMap", Some("default")).unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let matching = all.iter().filter(|object| {
        object["metadata"]["labels"]["team"]
            .as_str()
            .is_some_and(|team| team != "2")
    });
    matching
        .map(|object| {
            (
                text(&object["metadata"]["name"]),
                text(&object["metadata"]["resourceVersion"]),
            )
        })
        .collect()
}

async fn a_watcher_agrees(config: Config, steps: Vec<Step>) {
    let server = Server::new("one");
    let mut stream = pin!(watcher(
        config_maps(&server),
        config.labels("team in (0,1)").page_size(3)
    ));
    let mut store = BTreeMap::new();
    for step in steps.iter().chain([&Step::Follow]) {
        run(&server, step);
        if matches!(step, Step::Follow) {
            let expected = truth(&server);
            let versions = |store: &BTreeMap<String, k8s_openapi::api::core::v1::ConfigMap>| {
                let pair = |(name, object): (&String, &k8s_openapi::api::core::v1::ConfigMap)| {
                    (name.clone(), object.resource_version().unwrap())
                };
                store.iter().map(pair).collect::<BTreeMap<_, _>>()
            };
            follow(&mut stream, &mut store, |store, _| versions(store) == expected).await;
        }
    }
}

fn block_on(future: impl Future) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(future);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_list_watcher_ends_at_the_truth(steps in prop::collection::vec(step(), 0..40)) {
        block_on(a_watcher_agrees(Config::default(), steps));
    }

    #[test]
    fn a_streaming_watcher_ends_at_the_truth(steps in prop::collection::vec(step(), 0..40)) {
        block_on(a_watcher_agrees(Config::default().streaming_lists(), steps));
    }

    #[test]
    fn any_request_is_answered(
        method in prop::sample::select(vec!["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]),
        path in "(/api/v1|/apis/apps/v1|/apis)?(/namespaces)?(/default)?(/configmaps|/deployments|/pods)?(/kube-root-ca.crt|/a%20b|/%ff)?(/status|/x)?(\\?(labelSelector|fieldSelector|limit|continue|resourceVersion|dryRun)=[a-z0-9=!,()%]{0,12})?",
        kind in prop::sample::select(vec![
            "json", "json-patch+json", "merge-patch+json", "strategic-merge-patch+json", "apply-patch+yaml",
        ]),
        body in prop_oneof![
            "[\\[\\]{}\":,a-z0-9]{0,20}",
            Just(r#"{"metadata":[],"data":null}"#.to_owned()),
            Just(r#"{"metadata":{"name":"a","labels":null,"managedFields":[{"fieldsV1":{"f:a":3,"x":{}}}]}}"#.to_owned()),
            Just(r#"{"metadata":{"ownerReferences":[7],"finalizers":"x"},"spec":{"containers":7}}"#.to_owned()),
            Just(r#"[{"op":"remove","path":"/metadata"},{"op":"test","path":"","value":null}]"#.to_owned()),
            Just(r#"{"spec":{"template":{"spec":{"containers":[1,{"name":{}},[]]}}},"$patch":"replace"}"#.to_owned()),
        ],
    ) {
        block_on(async {
            let server = Server::new("one");
            let path = if path.starts_with('/') { path } else { format!("/{path}") };
            let Ok(uri) = path.parse::<http::Uri>() else { return };
            let request = http::Request::builder()
                .method(method)
                .uri(uri)
                .header("content-type", format!("application/{kind}"))
                .body(kube::client::Body::from(body.into_bytes()))
                .unwrap();
            let response = client(&server).send(request).await.unwrap();
            assert_ne!(response.status().as_u16(), 500);
            response.into_body().collect().await.unwrap();
            assert_eq!(server.counters().open_requests, 0);
        });
    }

    #[test]
    fn any_selector_and_any_token_is_answered(
        parameter in prop::sample::select(vec![
            "labelSelector", "fieldSelector", "continue", "limit", "resourceVersion", "resourceVersionMatch", "timeoutSeconds",
        ]),
        watch in any::<bool>(),
        value in prop_oneof![
            "\\PC{0,24}",
            "[a-z!=<>(),\\\\. ]{0,24}",
            "(metadata\\.name|type|a|in|notin)( in | notin |=|==|!=|>)(\\([a,]{0,5}\\)?|[a-z\\\\]{0,4}|-?[0-9]{0,20})",
            token(),
        ],
    ) {
        block_on(async {
            let server = Server::new("one");
            let query: String = form_urlencoded::Serializer::new(String::new())
                .append_pair(parameter, &value)
                .append_pair("watch", if watch { "true" } else { "false" })
                .finish();
            let request = http::Request::get(format!("/api/v1/namespaces/default/secrets?{query}"))
                .body(kube::client::Body::empty())
                .unwrap();
            let response = client(&server).send(request).await.unwrap();
            let code = response.status().as_u16();
            assert!(matches!(code, 200 | 400 | 410 | 422 | 504) || watch && code == 500, "{code}");
        });
    }

    #[test]
    fn the_order_of_spaces_changes_no_selector(labels in prop::collection::vec("[a-c]( in | notin )\\([a-c](,[a-c])?\\)", 1..4)) {
        let server = Server::new("one");
        for name in ["a", "b", "c"] {
            server.create(config_map_json(name, &json!({"a": name, "b": name}))).unwrap();
        }
        let plain = labels.join(",");
        let spaced = plain.replace(',', " , ").replace('(', " ( ").replace(')', " ) ");
        block_on(async {
            let api = config_maps(&server);
            let find = async |selector: &str| {
                let list = api.list(&kube::api::ListParams::default().labels(selector)).await.unwrap();
                list.items.iter().map(ResourceExt::name_any).collect::<Vec<_>>()
            };
            assert_eq!(find(&plain).await, find(&spaced).await);
        });
    }
}

/// Continue tokens, or something like them.
fn token() -> impl Strategy<Value = String> {
    use base64::Engine;
    let text = prop_oneof![
        "\\{\"v\":\"(meta.k8s.io/v1|v0)\",\"rv\":-?[0-9]{1,19},\"start\":\"[a-z/.]{0,9}\"\\}",
        "[\\[\\]{}\":,a-z0-9]{0,20}",
    ];
    text.prop_map(|text| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text))
}
