//! JSON patches, merge patches and strategic merge patches.

use serde_json::{Value, json};

use crate::bed::{Bed, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, config_map, deployment};

behaviours![
    a_json_patch_whose_test_fails_changes_nothing,
    a_json_patch_adds_replaces_moves_and_removes,
    a_json_patch_of_a_missing_path_is_refused,
    a_json_patch_replaces_a_field_that_is_not_there,
    a_json_patch_that_is_no_list_is_refused,
    a_test_of_a_missing_field_for_null_holds,
    a_merge_patch_merges_maps_and_removes_by_null,
    a_merge_patch_replaces_lists,
    a_merge_patch_that_is_no_object_is_refused,
    a_patch_of_nothing_is_not_found,
    a_patch_of_an_unknown_type_is_refused,
    a_patch_with_an_old_version_is_a_conflict,
    a_patch_cannot_change_the_name,
    a_patch_that_changes_nothing_writes_nothing,
    a_strategic_patch_merges_lists_by_key_and_puts_new_items_first,
    a_strategic_patch_deletes_items_by_key,
    a_strategic_patch_replaces_a_list_on_demand,
    a_strategic_patch_replaces_a_map_on_demand,
    a_strategic_patch_empties_a_map_on_demand,
    a_strategic_patch_retains_the_keys_it_names,
    a_strategic_patch_orders_items,
    a_strategic_patch_deletes_from_a_list_of_texts,
    a_strategic_patch_merges_lists_of_texts,
    a_strategic_patch_replaces_lists_without_a_key,
    a_strategic_patch_item_without_its_key_is_refused,
    a_strategic_patch_with_an_unknown_directive_is_refused,
    a_strategic_patch_of_an_order_that_does_not_fit_is_refused,
    a_custom_resource_has_no_strategic_patch,
];

fn with_containers(containers: Value) -> Value {
    json!({"spec": {"template": {"spec": {"containers": containers}}}})
}

fn containers(object: &Value) -> &Value {
    &object["spec"]["template"]["spec"]["containers"]
}

fn names(object: &Value) -> Vec<&str> {
    let items = containers(object).as_array().into_iter().flatten();
    items
        .map(|item| item["name"].as_str().unwrap_or_default())
        .collect()
}

/// A deployment with the containers `a` and `b`; gives its path.
async fn two_containers(bed: &Bed) -> String {
    let mut object = deployment("web");
    object["spec"]["template"]["spec"]["containers"] = json!([
        {"name": "a", "image": "a:1", "env": [{"name": "X", "value": "1"}], "args": ["x", "y"]},
        {"name": "b", "image": "b:1"},
    ]);
    bed.create("apps/v1/deployments", object).await;
    bed.object("apps/v1/deployments", "web")
}

async fn a_json_patch_whose_test_fails_changes_nothing(bed: &Bed) {
    bed.create("configmaps", config_map("a")).await;
    let change = json!([
        {"op": "test", "path": "/data/key", "value": "something else"},
        {"op": "replace", "path": "/data/key", "value": "new"},
    ]);
    let refused = bed.patch(bed.object("configmaps", "a"), JSON_PATCH, change).await;
    refused.refused(422, "Invalid");
    assert_eq!(bed.read("configmaps", "a").await["data"]["key"], "value");
}

async fn a_json_patch_adds_replaces_moves_and_removes(bed: &Bed) {
    bed.create("configmaps", config_map("a")).await;
    let change = json!([
        {"op": "test", "path": "/data/key", "value": "value"},
        {"op": "add", "path": "/metadata/annotations", "value": {"a/b": "1"}},
        {"op": "replace", "path": "/metadata/annotations/a~1b", "value": "2"},
        {"op": "copy", "from": "/data/key", "path": "/data/copy"},
        {"op": "move", "from": "/data/key", "path": "/data/moved"},
        {"op": "replace", "path": "/data/copy", "value": "2"},
        {"op": "add", "path": "/metadata/finalizers", "value": []},
        {"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/a"},
        {"op": "remove", "path": "/metadata/finalizers/0"},
    ]);
    let patched = bed
        .patch(bed.object("configmaps", "a"), JSON_PATCH, change)
        .await
        .expect(200);
    assert_eq!(patched["data"], json!({"copy": "2", "moved": "value"}));
    assert_eq!(patched["metadata"].get("finalizers"), None);
}

async fn a_json_patch_of_a_missing_path_is_refused(bed: &Bed) {
    bed.create("configmaps", config_map("a")).await;
    for change in [
        json!([{"op": "remove", "path": "/data/none"}]),
        json!([{"op": "add", "path": "/none/none", "value": "1"}]),
    ] {
        let refused = bed.patch(bed.object("configmaps", "a"), JSON_PATCH, change).await;
        let status = refused.refused(422, "Invalid");
        assert_eq!(
            status["message"],
            "the server rejected our request due to an error in our request"
        );
    }
}

async fn a_json_patch_replaces_a_field_that_is_not_there(bed: &Bed) {
    bed.create("configmaps", config_map("a")).await;
    let change = json!([{"op": "replace", "path": "/data/none", "value": "1"}]);
    let patched = bed
        .patch(bed.object("configmaps", "a"), JSON_PATCH, change)
        .await
        .expect(200);
    assert_eq!(patched["data"], json!({"key": "value", "none": "1"}));
}

async fn a_json_patch_that_is_no_list_is_refused(bed: &Bed) {
    bed.create("configmaps", config_map("a")).await;
    let change = json!({"op": "add", "path": "/data/a", "value": "1"});
    let refused = bed.patch(bed.object("configmaps", "a"), JSON_PATCH, change).await;
    refused.refused(400, "BadRequest");
}

async fn a_test_of_a_missing_field_for_null_holds(bed: &Bed) {
    bed.create("configmaps", config_map("a")).await;
    let change = json!([
        {"op": "test", "path": "/metadata/labels", "value": null},
        {"op": "add", "path": "/metadata/labels", "value": {"a": "1"}},
    ]);
    let patched = bed
        .patch(bed.object("configmaps", "a"), JSON_PATCH, change)
        .await
        .expect(200);
    assert_eq!(patched["metadata"]["labels"], json!({"a": "1"}));
}

async fn a_merge_patch_merges_maps_and_removes_by_null(bed: &Bed) {
    bed.create("configmaps", config_map("a")).await;
    let path = bed.object("configmaps", "a");
    let change = json!({"data": {"x": "1", "none": null}, "metadata": {"labels": {"l": "1"}}});
    let patched = bed.patch(path.as_str(), MERGE_PATCH, change).await.expect(200);
    assert_eq!(patched["data"], json!({"key": "value", "x": "1"}));
    let change = json!({"data": {"key": null}, "metadata": {"labels": null}});
    let patched = bed.patch(path, MERGE_PATCH, change).await.expect(200);
    assert_eq!(patched["data"], json!({"x": "1"}));
    assert_eq!(patched["metadata"].get("labels"), None);
}

async fn a_merge_patch_replaces_lists(bed: &Bed) {
    let path = two_containers(bed).await;
    let change = with_containers(json!([{"name": "c", "image": "c:1"}]));
    let patched = bed.patch(path, MERGE_PATCH, change).await.expect(200);
    assert_eq!(names(&patched), ["c"]);
}

async fn a_merge_patch_that_is_no_object_is_refused(bed: &Bed) {
    bed.create("configmaps", config_map("a")).await;
    let refused = bed
        .patch(bed.object("configmaps", "a"), MERGE_PATCH, json!(["a"]))
        .await;
    refused.refused(400, "BadRequest");
}

async fn a_patch_of_nothing_is_not_found(bed: &Bed) {
    for kind in [JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH] {
        let change = if kind == JSON_PATCH { json!([]) } else { json!({}) };
        let refused = bed.patch(bed.object("configmaps", "none"), kind, change).await;
        let status = refused.refused(404, "NotFound");
        assert_eq!(status["message"], "configmaps \"none\" not found");
    }
}

async fn a_patch_of_an_unknown_type_is_refused(bed: &Bed) {
    bed.create("configmaps", config_map("a")).await;
    let refused = bed
        .patch(bed.object("configmaps", "a"), "application/json", json!({}))
        .await;
    let status = refused.refused(415, "UnsupportedMediaType");
    assert_eq!(status["message"], "415: Unsupported Media Type");
}

async fn a_patch_with_an_old_version_is_a_conflict(bed: &Bed) {
    let old = bed.create("configmaps", config_map("a")).await;
    let path = bed.object("configmaps", "a");
    bed.patch(path.as_str(), MERGE_PATCH, json!({"data": {"x": "1"}}))
        .await
        .expect(200);
    let version = &old["metadata"]["resourceVersion"];
    let change = json!({"metadata": {"resourceVersion": version}, "data": {"x": "2"}});
    bed.patch(path, MERGE_PATCH, change)
        .await
        .refused(409, "Conflict");
}

async fn a_patch_cannot_change_the_name(bed: &Bed) {
    bed.create("configmaps", config_map("a")).await;
    let change = json!({"metadata": {"name": "b"}});
    let refused = bed
        .patch(bed.object("configmaps", "a"), MERGE_PATCH, change)
        .await;
    refused.refused(400, "BadRequest");
}

async fn a_patch_that_changes_nothing_writes_nothing(bed: &Bed) {
    let created = bed.create("configmaps", config_map("a")).await;
    let path = bed.object("configmaps", "a");
    let change = json!({"data": {"key": "value"}});
    for kind in [MERGE_PATCH, STRATEGIC_PATCH] {
        let patched = bed
            .patch(path.as_str(), kind, change.clone())
            .query("fieldManager", "other")
            .await
            .expect(200);
        assert_eq!(patched, created);
    }
}

async fn a_strategic_patch_merges_lists_by_key_and_puts_new_items_first(bed: &Bed) {
    let path = two_containers(bed).await;
    let change = with_containers(json!([
        {"name": "b", "image": "b:2"},
        {"name": "c", "image": "c:1"},
        {"name": "a", "env": [{"name": "Y", "value": "2"}]},
    ]));
    let patched = bed.patch(path, STRATEGIC_PATCH, change).await.expect(200);
    assert_eq!(names(&patched), ["b", "c", "a"]);
    let env = json!([{"name": "Y", "value": "2"}, {"name": "X", "value": "1"}]);
    assert_eq!(containers(&patched)[2]["env"], env);
    assert_eq!(containers(&patched)[2]["image"], "a:1");
}

async fn a_strategic_patch_deletes_items_by_key(bed: &Bed) {
    let path = two_containers(bed).await;
    let change =
        with_containers(json!([{"name": "a", "$patch": "delete"}, {"name": "none", "$patch": "delete"}]));
    let patched = bed.patch(path, STRATEGIC_PATCH, change).await.expect(200);
    assert_eq!(names(&patched), ["b"]);
}

async fn a_strategic_patch_replaces_a_list_on_demand(bed: &Bed) {
    let path = two_containers(bed).await;
    let change = with_containers(json!([{"$patch": "replace"}, {"name": "c", "image": "c:1"}]));
    let patched = bed.patch(path, STRATEGIC_PATCH, change).await.expect(200);
    assert_eq!(names(&patched), ["c"]);
}

async fn a_strategic_patch_replaces_a_map_on_demand(bed: &Bed) {
    bed.create("configmaps", config_map("a")).await;
    let change = json!({"data": {"$patch": "replace", "x": "1"}});
    let patched = bed
        .patch(bed.object("configmaps", "a"), STRATEGIC_PATCH, change)
        .await
        .expect(200);
    assert_eq!(patched["data"], json!({"x": "1"}));
}

async fn a_strategic_patch_empties_a_map_on_demand(bed: &Bed) {
    bed.create("configmaps", config_map("a")).await;
    let change = json!({"data": {"$patch": "delete"}});
    let patched = bed
        .patch(bed.object("configmaps", "a"), STRATEGIC_PATCH, change)
        .await
        .expect(200);
    assert_eq!(patched.get("data"), None);
}

async fn a_strategic_patch_retains_the_keys_it_names(bed: &Bed) {
    let path = two_containers(bed).await;
    let change = json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}});
    let patched = bed
        .patch(path.as_str(), STRATEGIC_PATCH, change)
        .await
        .expect(200);
    assert_eq!(patched["spec"]["strategy"], json!({"type": "Recreate"}));
    let change = json!({"spec": {"strategy": {"$retainKeys": ["other"], "type": "Recreate"}}});
    let refused = bed.patch(path, STRATEGIC_PATCH, change).await;
    let status = refused.refused(400, "BadRequest");
    assert_eq!(status["message"], "invalid patch format of retainKeys");
}

async fn a_strategic_patch_orders_items(bed: &Bed) {
    let path = two_containers(bed).await;
    let mut change = with_containers(json!([{"name": "c", "image": "c:1"}]));
    change["spec"]["template"]["spec"]["$setElementOrder/containers"] =
        json!([{"name": "b"}, {"name": "c"}, {"name": "a"}]);
    let patched = bed
        .patch(path.as_str(), STRATEGIC_PATCH, change)
        .await
        .expect(200);
    assert_eq!(names(&patched), ["b", "c", "a"]);
    let order = json!([{"name": "a"}, {"name": "b"}]);
    let change = json!({"spec": {"template": {"spec": {"$setElementOrder/containers": order}}}});
    let patched = bed.patch(path, STRATEGIC_PATCH, change).await.expect(200);
    assert_eq!(names(&patched), ["c", "a", "b"]);
}

fn with_finalizers(finalizers: Value) -> Value {
    json!({"metadata": {"name": "a", "finalizers": finalizers}})
}

async fn a_strategic_patch_deletes_from_a_list_of_texts(bed: &Bed) {
    let finalizers = json!(["example.com/a", "example.com/b", "example.com/c"]);
    bed.create("configmaps", with_finalizers(finalizers)).await;
    let change =
        json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/b", "example.com/none"]}});
    let path = bed.object("configmaps", "a");
    let patched = bed
        .patch(path.as_str(), STRATEGIC_PATCH, change)
        .await
        .expect(200);
    assert_eq!(
        patched["metadata"]["finalizers"],
        json!(["example.com/a", "example.com/c"])
    );
    bed.patch(path, STRATEGIC_PATCH, json!({"metadata": {"finalizers": null}}))
        .await
        .expect(200);
}

async fn a_strategic_patch_merges_lists_of_texts(bed: &Bed) {
    bed.create(
        "configmaps",
        with_finalizers(json!(["example.com/a", "example.com/b"])),
    )
    .await;
    let change = with_finalizers(json!(["example.com/c", "example.com/b"]));
    let path = bed.object("configmaps", "a");
    let patched = bed
        .patch(path.as_str(), STRATEGIC_PATCH, change)
        .await
        .expect(200);
    let expected = json!(["example.com/c", "example.com/a", "example.com/b"]);
    assert_eq!(patched["metadata"]["finalizers"], expected);
    bed.patch(path, STRATEGIC_PATCH, json!({"metadata": {"finalizers": null}}))
        .await
        .expect(200);
}

async fn a_strategic_patch_replaces_lists_without_a_key(bed: &Bed) {
    let path = two_containers(bed).await;
    let change = with_containers(json!([{"name": "a", "args": ["z"]}]));
    let patched = bed.patch(path, STRATEGIC_PATCH, change).await.expect(200);
    let items = containers(&patched).as_array().unwrap();
    let a = items.iter().find(|item| item["name"] == "a").unwrap();
    assert_eq!(a["args"], json!(["z"]));
}

async fn a_strategic_patch_item_without_its_key_is_refused(bed: &Bed) {
    let path = two_containers(bed).await;
    let refused = bed
        .patch(path, STRATEGIC_PATCH, with_containers(json!([{"image": "c:1"}])))
        .await;
    let status = refused.refused(500, "");
    let message = status["message"].as_str().unwrap();
    assert!(
        message.ends_with("does not contain declared merge key: name"),
        "{message}"
    );
}

async fn a_strategic_patch_with_an_unknown_directive_is_refused(bed: &Bed) {
    bed.create("configmaps", config_map("a")).await;
    let change = json!({"data": {"$patch": "shuffle"}});
    let refused = bed
        .patch(bed.object("configmaps", "a"), STRATEGIC_PATCH, change)
        .await;
    let status = refused.refused(500, "");
    let message = status["message"].as_str().unwrap();
    assert!(message.starts_with("unknown patch type: shuffle"), "{message}");
}

async fn a_strategic_patch_of_an_order_that_does_not_fit_is_refused(bed: &Bed) {
    let path = two_containers(bed).await;
    let mut change = with_containers(json!([{"name": "c", "image": "c:1"}]));
    change["spec"]["template"]["spec"]["$setElementOrder/containers"] = json!([{"name": "a"}, {"name": "b"}]);
    let refused = bed.patch(path, STRATEGIC_PATCH, change).await;
    let status = refused.refused(500, "");
    let message = status["message"].as_str().unwrap();
    assert!(message.starts_with("The order in patch list"), "{message}");
}

async fn a_custom_resource_has_no_strategic_patch(bed: &Bed) {
    let widgets = bed.define("Widget").await;
    bed.create(&widgets.resource(), widgets.object("one", json!({})))
        .await;
    let path = bed.object(&widgets.resource(), "one");
    let refused = bed.patch(path, STRATEGIC_PATCH, json!({"spec": {}})).await;
    refused.refused(415, "UnsupportedMediaType");
}
