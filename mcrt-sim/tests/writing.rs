//! Creates, updates, patches and applies.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests, helpers included")]

mod common;

use common::{client, config_map, config_maps};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::runtime::controller::Action;
use kube::runtime::finalizer::{Event, finalizer};
use kube::{Api, ResourceExt};
use mcrt_sim::{ServedKind, Server};
use serde_json::{Value, json};

fn code(error: kube::Error) -> (u16, String) {
    let kube::Error::Api(status) = error else {
        panic!("{error}")
    };
    (status.code, status.reason.clone())
}

fn conflict<T: std::fmt::Debug>(result: kube::Result<T>) {
    assert_eq!(code(result.unwrap_err()), (409, "Conflict".to_owned()));
}

fn app(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "mcrt.dev/v1", "kind": "App", "metadata": {"name": name}, "spec": spec})
}

fn server_with_apps() -> Server {
    let server = Server::new("one");
    server.serve(ServedKind {
        group: "mcrt.dev".into(),
        version: "v1".into(),
        kind: "App".into(),
        plural: "apps".into(),
        namespaced: true,
        status_subresource: true,
    });
    server
}

fn deployment() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [
                    {"name": "a", "image": "a:1", "env": [{"name": "X", "value": "1"}]},
                    {"name": "b", "image": "b:1"},
                ]},
            },
        },
    })
}

#[tokio::test]
async fn a_create_fills_in_identity_and_refuses_a_second_one() {
    let api = config_maps(&Server::new("one"));
    let created = api
        .create(&PostParams::default(), &config_map("a", "1"))
        .await
        .unwrap();
    assert!(created.uid().is_some() && created.creation_timestamp().is_some());
    assert_eq!(created.namespace().as_deref(), Some("default"));
    assert_eq!(created.metadata.generation, None);
    let error = api
        .create(&PostParams::default(), &config_map("a", "2"))
        .await
        .unwrap_err();
    assert_eq!(code(error), (409, "AlreadyExists".to_owned()));
    let mut generated = config_map("", "1");
    generated.metadata.name = None;
    generated.metadata.generate_name = Some("made-".to_owned());
    let first = api.create(&PostParams::default(), &generated).await.unwrap();
    let second = api.create(&PostParams::default(), &generated).await.unwrap();
    assert!(first.name_any().starts_with("made-") && first.name_any() != second.name_any());
}

#[tokio::test]
async fn a_create_in_a_namespace_that_does_not_exist_is_refused() {
    let server = Server::new("one");
    let api: Api<ConfigMap> = Api::namespaced(client(&server), "none");
    let error = api
        .create(&PostParams::default(), &config_map("a", "1"))
        .await
        .unwrap_err();
    assert_eq!(code(error), (404, "NotFound".to_owned()));
}

#[tokio::test]
async fn an_update_of_an_old_version_conflicts() {
    let api = config_maps(&Server::new("one"));
    let first = api
        .create(&PostParams::default(), &config_map("a", "1"))
        .await
        .unwrap();
    let mut second = first.clone();
    second.data.as_mut().unwrap().insert("key".into(), "2".into());
    let second = api.replace("a", &PostParams::default(), &second).await.unwrap();
    conflict(api.replace("a", &PostParams::default(), &first).await);
    let mut other_life = second.clone();
    other_life.metadata.uid = Some("other".to_owned());
    conflict(api.replace("a", &PostParams::default(), &other_life).await);
    let patch = json!({"metadata": {"uid": "other"}});
    let error = api
        .patch("a", &PatchParams::default(), &Patch::Merge(&patch))
        .await
        .unwrap_err();
    assert_eq!(code(error), (422, "Invalid".to_owned()));
    let same = api.replace("a", &PostParams::default(), &second).await.unwrap();
    assert_eq!(
        same.resource_version(),
        second.resource_version(),
        "nothing changed, nothing is written"
    );
}

#[tokio::test]
async fn a_dry_run_changes_nothing() {
    let server = Server::new("one");
    let api = config_maps(&server);
    let version = server.resource_version();
    let dry = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    api.create(&dry, &config_map("a", "1")).await.unwrap();
    assert!(api.get_opt("a").await.unwrap().is_none());
    assert_eq!(server.resource_version(), version);
}

#[tokio::test]
async fn generation_counts_changes_of_the_spec_alone() {
    let server = server_with_apps();
    let created = server.create(app("a", &json!({"size": 1}))).unwrap();
    assert_eq!(created["metadata"]["generation"], 1);
    let change = |change: Value| {
        let mut value = json!({"apiVersion": "mcrt.dev/v1", "kind": "App", "metadata": {"name": "a"}});
        json_patch::merge(&mut value, &change);
        server.merge(value).unwrap()
    };
    assert_eq!(
        change(json!({"metadata": {"labels": {"x": "y"}}}))["metadata"]["generation"],
        1
    );
    assert_eq!(change(json!({"spec": {"size": 2}}))["metadata"]["generation"], 2);
    let mut with_status = server.get("mcrt.dev/v1", "App", None, "a").unwrap();
    with_status["status"] = json!({"ready": true});
    with_status["spec"]["size"] = 9.into();
    let written = server.replace_status(with_status).unwrap();
    assert_eq!(
        (&written["status"]["ready"], &written["spec"]["size"]),
        (&json!(true), &json!(2))
    );
    assert_eq!(written["metadata"]["generation"], 2);
    assert_eq!(
        change(json!({"status": {"ready": false}}))["status"]["ready"],
        true,
        "not through the main door"
    );
}

#[tokio::test]
async fn the_status_subresource_is_read_and_patched_on_its_own() {
    let server = Server::new("one");
    let api: Api<Deployment> = Api::default_namespaced(client(&server));
    server.create(deployment()).unwrap();
    let patch = json!({"status": {"replicas": 3}, "spec": {"replicas": 7}});
    let patched = api
        .patch_status("web", &PatchParams::default(), &Patch::Merge(&patch))
        .await
        .unwrap();
    assert_eq!(patched.status.unwrap().replicas, Some(3));
    let read = api.get_status("web").await.unwrap();
    assert_eq!(read.spec.replicas, Some(1));
    assert_eq!(read.metadata.generation, Some(1));
}

#[tokio::test]
async fn a_strategic_merge_knows_containers_by_name() {
    let server = Server::new("one");
    let api: Api<Deployment> = Api::default_namespaced(client(&server));
    server.create(deployment()).unwrap();
    let containers = json!([
        {"name": "b", "$patch": "delete"},
        {"name": "a", "env": [{"name": "Y", "value": "2"}]},
        {"name": "c", "image": "c:1"},
    ]);
    let patch = json!({"spec": {"template": {"spec": {"containers": containers}}}});
    let patched = api
        .patch("web", &PatchParams::default(), &Patch::Strategic(&patch))
        .await
        .unwrap();
    let containers = patched.spec.template.spec.unwrap().containers;
    let names: Vec<_> = containers
        .iter()
        .map(|container| container.name.as_str())
        .collect();
    assert_eq!(names, ["a", "c"]);
    assert_eq!(containers[0].image.as_deref(), Some("a:1"));
    assert_eq!(containers[0].env.as_ref().unwrap().len(), 2);
}

#[tokio::test]
async fn a_custom_resource_has_no_strategic_merge() {
    let server = server_with_apps();
    server.create(app("a", &json!({}))).unwrap();
    let kind = kube::core::ApiResource::from_gvk(&kube::core::GroupVersionKind::gvk("mcrt.dev", "v1", "App"));
    let api: Api<kube::core::DynamicObject> = Api::default_namespaced_with(client(&server), &kind);
    let patch = Patch::Strategic(json!({"spec": {"size": 1}}));
    let error = api.patch("a", &PatchParams::default(), &patch).await.unwrap_err();
    assert_eq!(code(error).0, 415);
}

#[tokio::test]
async fn kubes_finalizer_helper_adds_and_removes_its_finalizer() {
    let server = Server::new("one");
    let api = config_maps(&server);
    api.create(&PostParams::default(), &config_map("a", "1"))
        .await
        .unwrap();
    let step = async |expected: &'static str| {
        let object = std::sync::Arc::new(api.get("a").await.unwrap());
        finalizer(&api, "mcrt.dev/test", object, |event| async move {
            let found = match event {
                Event::Apply(_) => "apply",
                Event::Cleanup(_) => "cleanup",
            };
            assert_eq!(found, expected);
            Ok::<_, std::io::Error>(Action::await_change())
        })
        .await
        .unwrap();
    };
    step("none").await;
    assert_eq!(api.get("a").await.unwrap().finalizers(), ["mcrt.dev/test"]);
    step("apply").await;
    let pending = api.delete("a", &DeleteParams::default()).await.unwrap();
    assert!(pending.left().unwrap().metadata.deletion_timestamp.is_some());
    let refused = json!({"metadata": {"finalizers": ["mcrt.dev/test", "mcrt.dev/more"]}});
    let error = api
        .patch("a", &PatchParams::default(), &Patch::Merge(&refused))
        .await
        .unwrap_err();
    assert_eq!(code(error).0, 422);
    step("cleanup").await;
    assert!(api.get_opt("a").await.unwrap().is_none());
}

#[tokio::test]
async fn a_delete_keeps_its_preconditions() {
    let api = config_maps(&Server::new("one"));
    let created = api
        .create(&PostParams::default(), &config_map("a", "1"))
        .await
        .unwrap();
    let with = |uid: Option<String>, version: Option<String>| DeleteParams {
        preconditions: Some(Preconditions {
            uid,
            resource_version: version,
        }),
        ..DeleteParams::default()
    };
    conflict(api.delete("a", &with(Some("other".into()), None)).await);
    conflict(api.delete("a", &with(None, Some("1".into()))).await);
    let deleted = api
        .delete("a", &with(created.uid(), created.resource_version()))
        .await
        .unwrap();
    assert!(deleted.right().unwrap().is_success());
    assert_eq!(
        code(api.delete("a", &DeleteParams::default()).await.unwrap_err()).0,
        404
    );
}

#[tokio::test]
async fn string_data_of_a_secret_becomes_data() {
    let server = Server::new("one");
    let api: Api<Secret> = Api::default_namespaced(client(&server));
    let secret =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "stringData": {"t": "s3"}});
    let applied = api
        .patch("a", &PatchParams::apply("x"), &Patch::Apply(&secret))
        .await
        .unwrap();
    assert_eq!(applied.data.unwrap()["t"].0, b"s3");
    assert_eq!(applied.type_.as_deref(), Some("Opaque"));
}

fn applied(data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data})
}

#[tokio::test]
async fn an_apply_creates_then_changes_then_does_nothing() {
    let server = Server::new("one");
    let api = config_maps(&server);
    let params = PatchParams::apply("one");
    let created = api
        .patch("a", &params, &Patch::Apply(applied(&json!({"x": "1"}))))
        .await
        .unwrap();
    let owners = created.metadata.managed_fields.clone().unwrap();
    assert_eq!(owners[0].manager.as_deref(), Some("one"));
    assert_eq!(owners[0].operation.as_deref(), Some("Apply"));
    assert_eq!(
        owners[0].fields_v1.as_ref().unwrap().0,
        json!({"f:data": {"f:x": {}}})
    );
    let same = api
        .patch("a", &params, &Patch::Apply(applied(&json!({"x": "1"}))))
        .await
        .unwrap();
    assert_eq!(same.resource_version(), created.resource_version());
    let changed = api
        .patch("a", &params, &Patch::Apply(applied(&json!({"x": "2"}))))
        .await
        .unwrap();
    assert_eq!(changed.data.unwrap()["x"], "2");
    let anonymous = PatchParams {
        field_manager: Some(String::new()),
        ..PatchParams::default()
    };
    let error = api
        .patch("a", &anonymous, &Patch::Apply(applied(&json!({}))))
        .await
        .unwrap_err();
    assert_eq!(code(error).0, 422);
}

#[tokio::test]
async fn an_apply_conflicts_with_another_manager_until_it_is_forced() {
    let server = Server::new("one");
    let api = config_maps(&server);
    let apply = async |manager: &str, force: bool, data: Value| {
        let params = PatchParams {
            force,
            ..PatchParams::apply(manager)
        };
        api.patch("a", &params, &Patch::Apply(applied(&data))).await
    };
    apply("one", false, json!({"x": "1", "y": "1"})).await.unwrap();
    apply("two", false, json!({"x": "1", "z": "1"})).await.unwrap();
    let kube::Error::Api(status) = apply("two", false, json!({"x": "2"})).await.unwrap_err() else {
        panic!()
    };
    assert_eq!((status.code, status.reason.as_str()), (409, "Conflict"));
    let cause = &status.details.as_ref().unwrap().causes[0];
    assert_eq!(
        (cause.reason.as_str(), cause.field.as_str()),
        ("FieldManagerConflict", ".data.x")
    );
    let forced = apply("two", true, json!({"x": "2"})).await.unwrap();
    // What nobody says any more goes, what another manager says stays.
    assert_eq!(
        forced.data.unwrap().into_iter().collect::<Vec<_>>(),
        [("x".to_owned(), "2".to_owned()), ("y".to_owned(), "1".to_owned())]
    );
    conflict(apply("one", false, json!({"x": "1"})).await);
    let left = apply("one", false, json!({})).await.unwrap();
    assert_eq!(
        left.data.unwrap().len(),
        1,
        "two's field is none of one's business"
    );
    let empty = apply("two", false, json!({})).await.unwrap();
    assert_eq!(empty.data.unwrap_or_default().len(), 0);
}

#[tokio::test]
async fn an_update_takes_fields_from_an_applier() {
    let server = Server::new("one");
    let api = config_maps(&server);
    api.patch(
        "a",
        &PatchParams::apply("one"),
        &Patch::Apply(applied(&json!({"x": "1"}))),
    )
    .await
    .unwrap();
    let params = PatchParams {
        field_manager: Some("hand".into()),
        ..PatchParams::default()
    };
    api.patch("a", &params, &Patch::Merge(json!({"data": {"x": "2"}})))
        .await
        .unwrap();
    let again = api
        .patch(
            "a",
            &PatchParams::apply("one"),
            &Patch::Apply(applied(&json!({"x": "1"}))),
        )
        .await;
    conflict(again);
}

#[tokio::test]
async fn two_appliers_share_a_list_of_containers() {
    let server = Server::new("one");
    server.apply("one", deployment()).unwrap();
    let mut sidecar = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "finalizers": ["x/y"]},
        "spec": {"template": {"spec": {"containers": [{"name": "side", "image": "s:1"}]}}},
    });
    server.apply("two", sidecar.clone()).unwrap();
    let names = |value: &Value| -> Vec<String> {
        let containers = value["spec"]["template"]["spec"]["containers"]
            .as_array()
            .unwrap();
        containers
            .iter()
            .map(|container| container["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let mut fewer = deployment();
    fewer["spec"]["template"]["spec"]["containers"]
        .as_array_mut()
        .unwrap()
        .pop();
    assert_eq!(names(&server.apply("one", fewer).unwrap()), ["a", "side"]);
    sidecar["spec"] = json!({});
    sidecar["metadata"]["finalizers"] = json!([]);
    let left = server.apply("two", sidecar).unwrap();
    assert_eq!(names(&left), ["a"]);
    assert_eq!(left["metadata"].get("finalizers"), None);
}

#[tokio::test]
async fn an_apply_of_the_status_leaves_the_spec_alone() {
    let server = server_with_apps();
    server.apply("one", app("a", &json!({"size": 1}))).unwrap();
    let kind = kube::core::ApiResource::from_gvk(&kube::core::GroupVersionKind::gvk("mcrt.dev", "v1", "App"));
    let api: Api<kube::core::DynamicObject> = Api::default_namespaced_with(client(&server), &kind);
    let mut value = app("a", &json!({"size": 9}));
    value["status"] = json!({"ready": true});
    let written = api
        .patch_status("a", &PatchParams::apply("two"), &Patch::Apply(&value))
        .await
        .unwrap();
    assert_eq!(written.data["spec"]["size"], 1);
    assert_eq!(written.data["status"]["ready"], true);
    let owners = written.metadata.managed_fields.unwrap();
    assert_eq!(owners[1].subresource.as_deref(), Some("status"));
    server.apply("one", app("a", &json!({"size": 2}))).unwrap();
    assert_eq!(
        server.get("mcrt.dev/v1", "App", None, "a").unwrap()["status"]["ready"],
        true
    );
}

#[tokio::test]
async fn fields_that_nobody_knows_are_told_in_warnings() {
    let server = Server::new("one");
    let send = async |query: &str, path: &str, method: &str, body: serde_json::Value| {
        let kind = if method == "PATCH" {
            "merge-patch+json"
        } else {
            "json"
        };
        let request = http::Request::builder()
            .method(method)
            .uri(format!("/api/v1/namespaces/default/pods{path}?{query}"))
            .header("content-type", format!("application/{kind}"))
            .body(kube::client::Body::from(body.to_string().into_bytes()))
            .unwrap();
        let response = client(&server).send(request).await.unwrap();
        assert!(response.status().is_success(), "{:?}", response.status());
        let warnings = response.headers().get_all("warning").iter();
        let warnings = warnings.map(|warning| warning.to_str().unwrap().to_owned());
        warnings.collect::<Vec<_>>()
    };
    let pod = json!({
        "metadata": {"name": "web"},
        "spec": {"colour": "red", "containers": [{"name": "a", "image": "a", "\"": 1}]},
    });
    let warnings = send("", "", "POST", pod).await;
    let container = r#"299 - "unknown field \"spec.containers[0].\\\"\"""#;
    assert_eq!(warnings, [r#"299 - "unknown field \"spec.colour\"""#, container]);
    let change = json!({"metadata": {"labels": {"a": "b"}}, "colour": "red"});
    let warnings = send("fieldValidation=Warn", "/web", "PATCH", change.clone()).await;
    assert_eq!(warnings, [r#"299 - "unknown field \"colour\"""#]);
    assert!(
        send("fieldValidation=Ignore", "/web", "PATCH", change)
            .await
            .is_empty()
    );
}
