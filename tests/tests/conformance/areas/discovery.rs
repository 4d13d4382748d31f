//! What is served, and in which version the server is.

use http::{Method, header::ACCEPT};
use serde_json::{Value, json};

use crate::bed::Bed;

behaviours![
    a_defined_kind_is_discovered_with_its_names,
    a_definition_that_goes_takes_its_group_out_of_discovery,
    a_group_tells_its_versions_and_prefers_one,
    a_group_that_nobody_serves_is_no_page,
    a_health_check_by_name_passes_or_is_no_page,
    a_path_outside_of_the_api_is_no_page,
    a_version_that_a_served_group_lacks_is_not_found,
    aggregated_discovery_has_a_media_type_of_its_own,
    aggregated_discovery_shows_defined_kinds_with_their_subresources,
    aggregated_discovery_tells_scope_names_and_verbs,
    all_groups_are_listed_but_the_core_group,
    discovery_is_read_only,
    namespaces_cannot_be_deleted_as_a_collection,
    no_encoding_but_a_known_one_is_acceptable,
    one_resource_is_described_in_the_list_of_its_version,
    openapi_has_a_document_for_every_version,
    openapi_says_that_patches_validate_fields,
    openapi_shows_the_schema_of_a_defined_kind,
    the_core_group_is_served_as_v1,
    the_version_is_that_of_kubernetes,
    versions_of_a_defined_kind_come_in_the_order_of_their_maturity,
    whoever_asks_for_health_gets_ok_as_text,
    health_is_told_check_by_check,
];

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// The element of a list whose field is this text.
fn find(list: &Value, field: &str, text: &str) -> Value {
    let mut items = list.as_array().into_iter().flatten();
    let found = items.find(|item| item.pointer(field).is_some_and(|value| value == text));
    found.cloned().unwrap_or_default()
}

async fn the_core_group_is_served_as_v1(bed: &Bed) {
    let versions = bed.get("/api").await.expect(200);
    assert_eq!(versions["kind"], "APIVersions");
    assert_eq!(versions["versions"], json!(["v1"]));
}

async fn the_version_is_that_of_kubernetes(bed: &Bed) {
    let version = bed.get("/version").await.expect(200);
    assert_eq!(version["major"], "1");
    let git = version["gitVersion"].as_str().unwrap();
    assert!(
        git.starts_with(&format!("v1.{}.", version["minor"].as_str().unwrap())),
        "{version}"
    );
}

async fn whoever_asks_for_health_gets_ok_as_text(bed: &Bed) {
    for path in ["/healthz", "/livez", "/readyz"] {
        let answer = bed.get(path).anonymously().await;
        assert_eq!((answer.code(), answer.text()), (200, "ok"), "{answer}");
        assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
    }
}

async fn health_is_told_check_by_check(bed: &Bed) {
    let answer = bed.get("/readyz?verbose").await;
    assert_eq!(answer.code(), 200, "{answer}");
    assert!(answer.text().starts_with("[+]ping ok\n"), "{answer}");
    assert!(answer.text().ends_with("readyz check passed\n"), "{answer}");
}

async fn a_health_check_by_name_passes_or_is_no_page(bed: &Bed) {
    let ping = bed.get("/readyz/ping").await;
    assert_eq!((ping.code(), ping.text()), (200, "ok"), "{ping}");
    let unknown = bed.get("/readyz/nothing").await;
    assert_eq!(unknown.code(), 404, "{unknown}");
}

async fn all_groups_are_listed_but_the_core_group(bed: &Bed) {
    let list = bed.get("/apis").await.expect(200);
    assert_eq!(
        (&list["kind"], &list["apiVersion"]),
        (&"APIGroupList".into(), &"v1".into())
    );
    let version = json!({"groupVersion": "apps/v1", "version": "v1"});
    let apps = json!({"name": "apps", "versions": [version], "preferredVersion": version});
    assert_eq!(find(&list["groups"], "/name", "apps"), apps);
    assert_eq!(find(&list["groups"], "/name", ""), Value::Null);
}

async fn a_group_tells_its_versions_and_prefers_one(bed: &Bed) {
    let group = bed.get("/apis/apps").await.expect(200);
    assert_eq!(
        (&group["kind"], &group["apiVersion"]),
        (&"APIGroup".into(), &"v1".into())
    );
    assert_eq!(group["name"], "apps");
    assert_eq!(group["preferredVersion"]["groupVersion"], "apps/v1");
}

async fn one_resource_is_described_in_the_list_of_its_version(bed: &Bed) {
    let list = bed.get("/apis/apps/v1").await.expect(200);
    assert_eq!(
        (&list["kind"], &list["groupVersion"]),
        (&"APIResourceList".into(), &"apps/v1".into())
    );
    let mut deployments = find(&list["resources"], "/name", "deployments");
    // Of how it is stored; no client needs it.
    deployments.as_object_mut().unwrap().remove("storageVersionHash");
    let verbs = [
        "create",
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "update",
        "watch",
    ];
    let expected = json!({
        "name": "deployments", "singularName": "deployment", "namespaced": true, "kind": "Deployment",
        "verbs": verbs, "shortNames": ["deploy"], "categories": ["all"],
    });
    assert_eq!(deployments, expected);
    let status = json!({
        "name": "deployments/status", "singularName": "", "namespaced": true, "kind": "Deployment",
        "verbs": ["get", "patch", "update"],
    });
    assert_eq!(find(&list["resources"], "/name", "deployments/status"), status);
}

async fn namespaces_cannot_be_deleted_as_a_collection(bed: &Bed) {
    let list = bed.get("/api/v1").await.expect(200);
    let namespaces = find(&list["resources"], "/name", "namespaces");
    assert_eq!(
        (&namespaces["namespaced"], &namespaces["shortNames"]),
        (&false.into(), &json!(["ns"]))
    );
    let verbs = ["create", "delete", "get", "list", "patch", "update", "watch"];
    assert_eq!(namespaces["verbs"], json!(verbs));
    let refused = bed
        .delete("/api/v1/namespaces")
        .query("labelSelector", "no=such")
        .await;
    refused.refused(405, "MethodNotAllowed");
}

async fn a_group_that_nobody_serves_is_no_page(bed: &Bed) {
    for path in [
        "/apis/nothing.example.com",
        "/apis/nothing.example.com/v1",
        "/apis/nothing.example.com/v1/things",
    ] {
        let answer = bed.get(path).await;
        assert_eq!(
            (answer.code(), answer.text()),
            (404, "404 page not found\n"),
            "{answer}"
        );
    }
}

async fn a_version_that_a_served_group_lacks_is_not_found(bed: &Bed) {
    bed.get("/apis/apps/v9").await.refused(404, "NotFound");
    bed.get("/api/v2").await.refused(404, "NotFound");
}

async fn a_path_outside_of_the_api_is_no_page(bed: &Bed) {
    let answer = bed.get("/nothing/at/all").await;
    assert_eq!(
        (answer.code(), answer.text()),
        (404, "404 page not found\n"),
        "{answer}"
    );
    assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
}

async fn discovery_is_read_only(bed: &Bed) {
    bed.post("/version", json!({}))
        .await
        .refused(405, "MethodNotAllowed");
    bed.post("/api", json!({})).await.refused(405, "MethodNotAllowed");
    bed.delete("/apis/apps/v1").await.refused(405, "MethodNotAllowed");
    let head = bed.ask(Method::HEAD, "/version").await;
    assert_eq!(head.code(), 405, "{head}");
}

async fn no_encoding_but_a_known_one_is_acceptable(bed: &Bed) {
    for path in ["/version", "/api", "/apis/apps/v1"] {
        bed.get(path)
            .header(ACCEPT, "text/html")
            .await
            .refused(406, "NotAcceptable");
        bed.get(path)
            .header(ACCEPT, "text/html, */*;q=0.5")
            .await
            .expect(200);
    }
}

async fn aggregated_discovery_has_a_media_type_of_its_own(bed: &Bed) {
    for path in ["/api", "/apis"] {
        let answer = bed
            .get(path)
            .accept(&format!("{AGGREGATED},application/json"))
            .await;
        let groups = answer.expect(200);
        assert_eq!(answer.header("content-type"), AGGREGATED);
        assert_eq!(groups["kind"], "APIGroupDiscoveryList");
        assert_eq!(groups["apiVersion"], "apidiscovery.k8s.io/v2");
    }
}

async fn aggregated_discovery_tells_scope_names_and_verbs(bed: &Bed) {
    let core = bed.get("/api").accept(AGGREGATED).await.expect(200);
    let version = &core["items"][0]["versions"][0];
    assert_eq!(
        (&version["version"], &version["freshness"]),
        (&"v1".into(), &"Current".into())
    );
    let config_maps = find(&version["resources"], "/resource", "configmaps");
    assert_eq!(config_maps["scope"], "Namespaced");
    assert_eq!(config_maps["singularResource"], "configmap");
    assert_eq!(config_maps["responseKind"]["kind"], "ConfigMap");
    assert_eq!(config_maps["shortNames"], json!(["cm"]));
    assert_eq!(config_maps["verbs"].as_array().map(Vec::len), Some(8));
    let namespaces = find(&version["resources"], "/resource", "namespaces");
    assert_eq!(namespaces["scope"], "Cluster");
    let status = find(&namespaces["subresources"], "/subresource", "status");
    assert_eq!(status["verbs"], json!(["get", "patch", "update"]));

    let groups = bed.get("/apis").accept(AGGREGATED).await.expect(200);
    let apps = find(&groups["items"], "/metadata/name", "apps");
    let deployments = find(&apps["versions"][0]["resources"], "/resource", "deployments");
    let scale = find(&deployments["subresources"], "/subresource", "scale");
    assert_eq!(scale["responseKind"]["kind"], "Scale");
    assert_eq!(deployments["categories"], json!(["all"]));
}

fn version(name: &str) -> Value {
    json!({
        "name": name, "served": true, "storage": name == "v1",
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"size": {"type": "integer"}}}},
        "subresources": {"status": {}},
    })
}

async fn a_defined_kind_is_discovered_with_its_names(bed: &Bed) {
    let mut definition = bed.definition("Widget", json!([version("v1")]));
    definition["spec"]["names"]["shortNames"] = json!([bed.unique("wd")]);
    definition["spec"]["names"]["categories"] = json!(["tools"]);
    bed.define_as(definition).await;
    let path = format!("/apis/{}/v1", bed.group());
    let resources = bed
        .eventually("the kind in discovery", async || {
            let list = bed.get(path.as_str()).await;
            if list.code() == 200 {
                Ok(list.json()["resources"].clone())
            } else {
                Err(list.to_string())
            }
        })
        .await;
    let widgets = find(&resources, "/name", "widgets");
    assert_eq!(
        (&widgets["kind"], &widgets["singularName"]),
        (&"Widget".into(), &"widget".into())
    );
    assert_eq!(widgets["shortNames"], json!([bed.unique("wd")]));
    assert_eq!(widgets["categories"], json!(["tools"]));
    assert_eq!(widgets["verbs"].as_array().map(Vec::len), Some(8));
    let status = find(&resources, "/name", "widgets/status");
    assert_eq!(status["verbs"], json!(["get", "patch", "update"]));
}

async fn aggregated_discovery_shows_defined_kinds_with_their_subresources(bed: &Bed) {
    bed.define_as(bed.definition("Widget", json!([version("v1")])))
        .await;
    let group = bed.group();
    let found = bed
        .eventually("the group in discovery", async || {
            let groups = bed.get("/apis").accept(AGGREGATED).await.expect(200);
            match find(&groups["items"], "/metadata/name", &group) {
                Value::Null => Err("not there".to_owned()),
                found => Ok(found),
            }
        })
        .await;
    let widgets = &found["versions"][0]["resources"][0];
    let kind = json!({"group": group, "version": "v1", "kind": "Widget"});
    assert_eq!(
        (&widgets["resource"], &widgets["responseKind"]),
        (&"widgets".into(), &kind)
    );
    assert_eq!(widgets["subresources"][0]["subresource"], "status");
    assert_eq!(widgets["subresources"][0]["responseKind"], kind);
}

async fn versions_of_a_defined_kind_come_in_the_order_of_their_maturity(bed: &Bed) {
    let versions = ["v1alpha1", "v1", "v2beta1", "v2"].map(version);
    bed.define_as(bed.definition("Widget", json!(versions))).await;
    let path = format!("/apis/{}", bed.group());
    bed.eventually("all versions in discovery", async || {
        let group = bed.get(path.as_str()).await;
        if group.code() != 200 {
            return Err(group.to_string());
        }
        let found = group.json();
        let names = found["versions"].as_array().into_iter().flatten();
        let names: Vec<_> = names.map(|version| version["version"].clone()).collect();
        let prefers = found["preferredVersion"]["version"] == "v2";
        if prefers && names == ["v2", "v1", "v2beta1", "v1alpha1"] {
            Ok(())
        } else {
            Err(group.to_string())
        }
    })
    .await;
}

async fn a_definition_that_goes_takes_its_group_out_of_discovery(bed: &Bed) {
    let widgets = bed.define("Widget").await;
    bed.delete(widgets.path()).await.expect(200);
    let path = format!("/apis/{}/v1", bed.group());
    bed.gone(&path).await;
    bed.gone(&format!("/apis/{}", bed.group())).await;
}

async fn openapi_has_a_document_for_every_version(bed: &Bed) {
    let index = bed.get("/openapi/v3").await.expect(200);
    for path in ["api/v1", "apis/apps/v1"] {
        let url = index["paths"][path]["serverRelativeURL"].as_str().unwrap();
        assert!(url.starts_with(&format!("/openapi/v3/{path}?hash=")), "{url}");
        let document = bed.get(url).await.expect(200);
        assert!(document["openapi"].as_str().unwrap().starts_with("3."));
        assert!(document["paths"].is_object() && document["components"]["schemas"].is_object());
    }
    let unknown = bed.get("/openapi/v3/apis/nothing.example.com/v1").await;
    assert_eq!(unknown.code(), 404);
}

async fn openapi_says_that_patches_validate_fields(bed: &Bed) {
    let document = bed.get("/openapi/v3/apis/apps/v1").await.expect(200);
    let patch = &document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"];
    let kind = json!({"group": "apps", "version": "v1", "kind": "Deployment"});
    assert_eq!(patch["x-kubernetes-group-version-kind"], kind);
    assert_eq!(
        find(&patch["parameters"], "/name", "fieldValidation")["in"],
        "query"
    );
    assert_eq!(find(&patch["parameters"], "/name", "dryRun")["in"], "query");
}

async fn openapi_shows_the_schema_of_a_defined_kind(bed: &Bed) {
    bed.define_as(bed.definition("Widget", json!([version("v1")])))
        .await;
    let path = format!("/openapi/v3/apis/{}/v1", bed.group());
    let document = bed
        .eventually("the document of the group", async || {
            let document = bed.get(path.as_str()).await;
            if document.code() == 200 {
                Ok(document.json())
            } else {
                Err(document.to_string())
            }
        })
        .await;
    let name = format!("com.example.{}.v1.Widget", bed.namespace());
    let schema = &document["components"]["schemas"][name];
    assert_eq!(schema["properties"]["size"]["type"], "integer", "{document}");
    assert_eq!(schema["x-kubernetes-group-version-kind"][0]["kind"], "Widget");
}
