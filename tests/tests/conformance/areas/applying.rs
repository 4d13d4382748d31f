//! Server-side apply: ownership, conflicts, removal.

use serde_json::{Value, json};

use crate::bed::{Bed, MERGE_PATCH, config_map, deployment};

behaviours![
    an_apply_of_anothers_field_is_a_conflict_unless_forced,
    an_apply_creates_and_owns_what_it_says,
    a_create_owns_its_fields_and_the_defaults,
    an_apply_owns_no_defaults,
    a_field_that_is_no_longer_applied_is_removed,
    a_field_that_another_applies_too_stays,
    a_field_that_an_update_has_taken_is_not_removed_by_its_former_applier,
    the_same_apply_again_writes_nothing,
    an_apply_of_what_another_has_applied_shares_the_field,
    containers_merge_by_name_and_keep_the_order_of_the_applier,
    ports_of_containers_merge_by_number_and_protocol,
    a_list_without_keys_is_replaced_as_a_whole,
    a_selector_is_owned_as_a_whole,
    finalizers_are_a_set,
    an_update_takes_the_fields_it_changes,
    an_apply_without_a_manager_is_refused,
    an_apply_of_an_undeclared_field_is_refused,
    an_apply_of_another_type_is_refused,
    an_applied_list_names_an_item_once,
    an_apply_with_managed_fields_is_refused,
    an_apply_of_an_old_version_is_a_conflict,
    an_apply_with_the_uid_of_nothing_is_a_conflict,
    an_apply_under_another_name_is_refused,
    an_apply_of_another_kind_is_refused,
    a_dry_run_of_an_apply_shows_and_changes_nothing,
    conflicts_with_several_managers_are_listed_by_manager,
    a_conflict_with_an_update_says_its_version,
    the_status_has_owners_of_its_own,
    managed_fields_are_reset_by_an_empty_entry,
    kubectl_takes_over_from_its_client_side_apply,
    an_applied_null_is_no_value,
    an_item_of_a_list_goes_with_its_last_owner,
    an_empty_map_that_is_applied_takes_nothing_away,
];

/// The entry of a manager, without its time.
fn entry(object: &Value, manager: &str, operation: &str) -> Value {
    let entries = object["metadata"]["managedFields"]
        .as_array()
        .into_iter()
        .flatten();
    let mut found = entries.filter(|entry| entry["manager"] == manager && entry["operation"] == operation);
    let mut entry = found.next().cloned().unwrap_or_default();
    assert!(found.next().is_none(), "two entries of {manager}:\n{object}");
    if let Some(entry) = entry.as_object_mut() {
        entry.remove("time");
    }
    entry
}

fn fields(object: &Value, manager: &str, operation: &str) -> Value {
    entry(object, manager, operation)["fieldsV1"].clone()
}

fn with_data(data: Value) -> Value {
    let mut object = config_map("a");
    object["data"] = data;
    object
}

async fn an_apply_of_anothers_field_is_a_conflict_unless_forced(bed: &Bed) {
    let path = bed.object("configmaps", "a");
    bed.apply(path.as_str(), "one", config_map("a")).await.expect(201);
    let other = with_data(json!({"key": "of two"}));
    let refused = bed.apply(path.as_str(), "two", other.clone()).await;
    let status = refused.refused(409, "Conflict");
    let message = "Apply failed with 1 conflict: conflict with \"one\": .data.key";
    assert_eq!(status["message"], message);
    let cause =
        json!({"reason": "FieldManagerConflict", "message": "conflict with \"one\"", "field": ".data.key"});
    assert_eq!(status["details"], json!({"causes": [cause]}));
    let forced = bed
        .apply(path, "two", other)
        .query("force", true)
        .await
        .expect(200);
    assert_eq!(forced["data"]["key"], "of two");
    assert_eq!(fields(&forced, "one", "Apply"), Value::Null);
}

async fn an_apply_creates_and_owns_what_it_says(bed: &Bed) {
    let mut object = with_data(json!({"x": "1", "y": "2"}));
    object["metadata"]["labels"] = json!({"l": "1"});
    object["metadata"]["annotations"] = json!({"n": "1"});
    let created = bed
        .apply(bed.object("configmaps", "a"), "one", object)
        .await
        .expect(201);
    let expected = json!({
        "manager": "one", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
        "fieldsV1": {
            "f:data": {"f:x": {}, "f:y": {}},
            "f:metadata": {"f:annotations": {"f:n": {}}, "f:labels": {"f:l": {}}},
        },
    });
    assert_eq!(entry(&created, "one", "Apply"), expected);
    assert!(created["metadata"]["managedFields"][0]["time"].is_string());
}

async fn a_create_owns_its_fields_and_the_defaults(bed: &Bed) {
    let path = bed.collection("apps/v1/deployments");
    let created = bed
        .post(path, deployment("web"))
        .query("fieldManager", "one")
        .await
        .expect(201);
    let container = json!({
        ".": {}, "f:image": {}, "f:imagePullPolicy": {}, "f:name": {}, "f:resources": {},
        "f:terminationMessagePath": {}, "f:terminationMessagePolicy": {},
    });
    let expected = json!({"f:spec": {
        "f:progressDeadlineSeconds": {}, "f:replicas": {}, "f:revisionHistoryLimit": {}, "f:selector": {},
        "f:strategy": {"f:rollingUpdate": {".": {}, "f:maxSurge": {}, "f:maxUnavailable": {}}, "f:type": {}},
        "f:template": {
            "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
            "f:spec": {
                "f:containers": {"k:{\"name\":\"main\"}": container}, "f:dnsPolicy": {}, "f:restartPolicy": {},
                "f:schedulerName": {}, "f:securityContext": {}, "f:terminationGracePeriodSeconds": {},
            },
        },
    }});
    assert_eq!(fields(&created, "one", "Update"), expected);
}

async fn an_apply_owns_no_defaults(bed: &Bed) {
    let path = bed.object("apps/v1/deployments", "web");
    let created = bed.apply(path, "one", deployment("web")).await.expect(201);
    assert_eq!(created["spec"]["strategy"]["type"], "RollingUpdate");
    let container = json!({".": {}, "f:image": {}, "f:name": {}});
    let expected = json!({"f:spec": {
        "f:replicas": {}, "f:selector": {},
        "f:template": {
            "f:metadata": {"f:labels": {"f:app": {}}},
            "f:spec": {"f:containers": {"k:{\"name\":\"main\"}": container}},
        },
    }});
    assert_eq!(fields(&created, "one", "Apply"), expected);
}

async fn a_field_that_is_no_longer_applied_is_removed(bed: &Bed) {
    let path = bed.object("configmaps", "a");
    bed.apply(path.as_str(), "one", with_data(json!({"x": "1", "y": "2"})))
        .await
        .expect(201);
    let fewer = bed
        .apply(path.as_str(), "one", with_data(json!({"x": "1"})))
        .await
        .expect(200);
    assert_eq!(fewer["data"], json!({"x": "1"}));
    let mut none = config_map("a");
    none.as_object_mut().unwrap().remove("data");
    let none = bed.apply(path, "one", none).await.expect(200);
    assert_eq!(none.get("data"), None);
    assert_eq!(none["metadata"].get("managedFields"), None);
}

async fn a_field_that_another_applies_too_stays(bed: &Bed) {
    let path = bed.object("configmaps", "a");
    let both = with_data(json!({"x": "1", "y": "2"}));
    bed.apply(path.as_str(), "one", both.clone()).await.expect(201);
    bed.apply(path.as_str(), "two", with_data(json!({"x": "1"})))
        .await
        .expect(200);
    let left = bed.apply(path, "one", with_data(json!({}))).await.expect(200);
    assert_eq!(left["data"], json!({"x": "1"}));
    assert_eq!(fields(&left, "two", "Apply"), json!({"f:data": {"f:x": {}}}));
    assert_eq!(fields(&left, "one", "Apply"), json!({"f:data": {}}));
}

async fn a_field_that_an_update_has_taken_is_not_removed_by_its_former_applier(bed: &Bed) {
    let path = bed.object("configmaps", "a");
    bed.apply(path.as_str(), "one", with_data(json!({"x": "1", "y": "2"})))
        .await
        .expect(201);
    let change = json!({"data": {"x": "9"}});
    bed.patch(path.as_str(), MERGE_PATCH, change)
        .query("fieldManager", "hand")
        .await
        .expect(200);
    let left = bed
        .apply(path, "one", with_data(json!({"y": "2"})))
        .await
        .expect(200);
    assert_eq!(left["data"], json!({"x": "9", "y": "2"}));
}

async fn the_same_apply_again_writes_nothing(bed: &Bed) {
    let path = bed.object("configmaps", "a");
    let first = bed.apply(path.as_str(), "one", config_map("a")).await.expect(201);
    let again = bed.apply(path, "one", config_map("a")).await.expect(200);
    assert_eq!(first, again);
}

async fn an_apply_of_what_another_has_applied_shares_the_field(bed: &Bed) {
    let path = bed.object("configmaps", "a");
    let first = bed.apply(path.as_str(), "one", config_map("a")).await.expect(201);
    let shared = bed.apply(path, "two", config_map("a")).await.expect(200);
    assert_ne!(
        shared["metadata"]["resourceVersion"],
        first["metadata"]["resourceVersion"]
    );
    let expected = json!({"f:data": {"f:key": {}}});
    assert_eq!(fields(&shared, "one", "Apply"), expected);
    assert_eq!(fields(&shared, "two", "Apply"), expected);
}

fn with_containers(containers: Value) -> Value {
    let mut object = deployment("web");
    object["spec"]["template"]["spec"]["containers"] = containers;
    object
}

fn containers(object: &Value) -> Vec<Value> {
    object["spec"]["template"]["spec"]["containers"]
        .as_array()
        .cloned()
        .unwrap_or_default()
}

fn names(object: &Value) -> Vec<String> {
    let names = containers(object);
    names
        .iter()
        .map(|one| one["name"].as_str().unwrap_or_default().to_owned())
        .collect()
}

async fn containers_merge_by_name_and_keep_the_order_of_the_applier(bed: &Bed) {
    let path = bed.object("apps/v1/deployments", "web");
    let two = json!([{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}]);
    bed.apply(path.as_str(), "one", with_containers(two))
        .await
        .expect(201);
    let others = json!([{"name": "c", "image": "c:1"}, {"name": "a", "image": "a:1", "args": ["x"]}]);
    let merged = bed
        .apply(path.as_str(), "two", with_containers(others))
        .await
        .expect(200);
    assert_eq!(names(&merged), ["c", "a", "b"]);
    let turned = json!([{"name": "b", "image": "b:1"}, {"name": "a", "image": "a:1"}]);
    let turned = bed.apply(path, "one", with_containers(turned)).await.expect(200);
    assert_eq!(names(&turned), ["c", "b", "a"]);
}

async fn ports_of_containers_merge_by_number_and_protocol(bed: &Bed) {
    let path = bed.object("apps/v1/deployments", "web");
    let with = |ports: Value| with_containers(json!([{"name": "a", "image": "a:1", "ports": ports}]));
    bed.apply(
        path.as_str(),
        "one",
        with(json!([{"containerPort": 80, "name": "web"}])),
    )
    .await
    .expect(201);
    let ports = json!([{"containerPort": 80, "protocol": "UDP"}, {"containerPort": 80, "protocol": "TCP"}]);
    let merged = bed.apply(path, "two", with(ports)).await.expect(200);
    let expected = json!([
        {"containerPort": 80, "protocol": "UDP"},
        {"containerPort": 80, "protocol": "TCP", "name": "web"},
    ]);
    assert_eq!(containers(&merged)[0]["ports"], expected);
    let key = "k:{\"containerPort\":80,\"protocol\":\"TCP\"}";
    let container = &fields(&merged, "one", "Apply")["f:spec"]["f:template"]["f:spec"]["f:containers"];
    let ports = &container["k:{\"name\":\"a\"}"]["f:ports"];
    assert_eq!(ports[key], json!({".": {}, "f:containerPort": {}, "f:name": {}}));
}

async fn a_list_without_keys_is_replaced_as_a_whole(bed: &Bed) {
    let path = bed.object("apps/v1/deployments", "web");
    let with = |args: Value| with_containers(json!([{"name": "a", "image": "a:1", "args": args}]));
    bed.apply(path.as_str(), "one", with(json!(["x", "y"])))
        .await
        .expect(201);
    let refused = bed.apply(path.as_str(), "two", with(json!(["x"]))).await;
    let status = refused.refused(409, "Conflict");
    let field = ".spec.template.spec.containers[name=\"a\"].args";
    assert_eq!(status["details"]["causes"][0]["field"], field);
    let forced = bed
        .apply(path, "two", with(json!(["z"])))
        .query("force", true)
        .await
        .expect(200);
    assert_eq!(containers(&forced)[0]["args"], json!(["z"]));
}

async fn a_selector_is_owned_as_a_whole(bed: &Bed) {
    let path = bed.object("services", "web");
    let with = |selector: Value| {
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
            "spec": {"selector": selector, "ports": [{"port": 80}]},
        })
    };
    bed.apply(path.as_str(), "one", with(json!({"a": "1"})))
        .await
        .expect(201);
    let refused = bed.apply(path.as_str(), "two", with(json!({"b": "1"}))).await;
    let status = refused.refused(409, "Conflict");
    assert_eq!(status["details"]["causes"][0]["field"], ".spec.selector");
    let forced = bed
        .apply(path, "two", with(json!({"b": "1"})))
        .query("force", true)
        .await
        .expect(200);
    assert_eq!(forced["spec"]["selector"], json!({"b": "1"}));
}

async fn finalizers_are_a_set(bed: &Bed) {
    let path = bed.object("configmaps", "a");
    let with = |finalizers: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "finalizers": finalizers}});
    bed.apply(path.as_str(), "one", with(json!(["example.com/one"])))
        .await
        .expect(201);
    let both = bed
        .apply(path.as_str(), "two", with(json!(["example.com/two"])))
        .await
        .expect(200);
    assert_eq!(
        both["metadata"]["finalizers"],
        json!(["example.com/one", "example.com/two"])
    );
    let expected = json!({"f:metadata": {"f:finalizers": {"v:\"example.com/two\"": {}}}});
    assert_eq!(fields(&both, "two", "Apply"), expected);
    let left = bed.apply(path.as_str(), "one", with(json!([]))).await.expect(200);
    assert_eq!(left["metadata"]["finalizers"], json!(["example.com/two"]));
    bed.apply(path, "two", with(json!([]))).await.expect(200);
}

async fn an_update_takes_the_fields_it_changes(bed: &Bed) {
    let path = bed.object("configmaps", "a");
    bed.apply(path.as_str(), "one", with_data(json!({"x": "1", "y": "2"})))
        .await
        .expect(201);
    let change = json!({"data": {"x": "9", "z": "3"}});
    let changed = bed
        .patch(path, MERGE_PATCH, change)
        .query("fieldManager", "hand")
        .await
        .expect(200);
    assert_eq!(fields(&changed, "one", "Apply"), json!({"f:data": {"f:y": {}}}));
    assert_eq!(
        fields(&changed, "hand", "Update"),
        json!({"f:data": {"f:x": {}, "f:z": {}}})
    );
}

async fn an_apply_without_a_manager_is_refused(bed: &Bed) {
    let refused = bed
        .apply(bed.object("configmaps", "a"), "", config_map("a"))
        .await;
    let status = refused.refused(422, "Invalid");
    let message =
        "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch";
    assert_eq!(status["message"], message);
    assert_eq!(status["details"]["causes"][0]["field"], "fieldManager");
}

async fn an_apply_of_an_undeclared_field_is_refused(bed: &Bed) {
    let mut object = config_map("a");
    object["spec"] = json!({});
    let refused = bed.apply(bed.object("configmaps", "a"), "one", object).await;
    let status = refused.refused(500, "");
    let message =
        "failed to create typed patch object (/a; /v1, Kind=ConfigMap): .spec: field not declared in schema";
    assert_eq!(status["message"], message);
}

async fn an_apply_of_another_type_is_refused(bed: &Bed) {
    let object = with_data(json!({"x": 1}));
    let refused = bed.apply(bed.object("configmaps", "a"), "one", object).await;
    let status = refused.refused(500, "");
    let message = status["message"].as_str().unwrap();
    assert!(message.contains(".data.x: expected string, got"), "{message}");
}

async fn an_applied_list_names_an_item_once(bed: &Bed) {
    let twice = json!([{"name": "a", "image": "a:1"}, {"name": "a", "image": "a:2"}]);
    let refused = bed
        .apply(
            bed.object("apps/v1/deployments", "web"),
            "one",
            with_containers(twice),
        )
        .await;
    let status = refused.refused(500, "");
    let message = status["message"].as_str().unwrap();
    let expected = ".spec.template.spec.containers: duplicate entries for key [name=\"a\"]";
    assert!(message.contains(expected), "{message}");
}

async fn an_apply_with_managed_fields_is_refused(bed: &Bed) {
    let path = bed.object("configmaps", "a");
    let created = bed.apply(path.as_str(), "one", config_map("a")).await.expect(201);
    let refused = bed.apply(path, "one", created).await;
    let status = refused.refused(400, "BadRequest");
    assert_eq!(status["message"], "metadata.managedFields must be nil");
}

async fn an_apply_of_an_old_version_is_a_conflict(bed: &Bed) {
    let path = bed.object("configmaps", "a");
    let old = bed.apply(path.as_str(), "one", config_map("a")).await.expect(201);
    bed.apply(path.as_str(), "one", with_data(json!({"key": "2"})))
        .await
        .expect(200);
    let mut object = with_data(json!({"key": "3"}));
    object["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"].clone();
    bed.apply(path, "one", object).await.refused(409, "Conflict");
}

async fn an_apply_with_the_uid_of_nothing_is_a_conflict(bed: &Bed) {
    let mut object = config_map("a");
    object["metadata"]["uid"] = "00000000-0000-4000-8000-000000000000".into();
    let refused = bed.apply(bed.object("configmaps", "a"), "one", object).await;
    refused.refused(409, "Conflict");
}

async fn an_apply_under_another_name_is_refused(bed: &Bed) {
    let refused = bed
        .apply(bed.object("configmaps", "b"), "one", config_map("a"))
        .await;
    let status = refused.refused(400, "BadRequest");
    let message = "the name of the object (a) does not match the name on the URL (b)";
    assert_eq!(status["message"], message);
}

async fn an_apply_of_another_kind_is_refused(bed: &Bed) {
    let mut object = config_map("a");
    object["kind"] = "Secret".into();
    let refused = bed.apply(bed.object("configmaps", "a"), "one", object).await;
    let status = refused.refused(400, "BadRequest");
    assert_eq!(status["message"], "invalid object type: /v1, Kind=Secret");
}

async fn a_dry_run_of_an_apply_shows_and_changes_nothing(bed: &Bed) {
    let path = bed.object("configmaps", "a");
    bed.apply(path.as_str(), "one", config_map("a")).await.expect(201);
    let dry = bed
        .apply(path, "one", with_data(json!({"x": "1"})))
        .query("dryRun", "All")
        .await
        .expect(200);
    assert_eq!(dry["data"], json!({"x": "1"}));
    assert_eq!(bed.read("configmaps", "a").await["data"], json!({"key": "value"}));
}

async fn conflicts_with_several_managers_are_listed_by_manager(bed: &Bed) {
    let path = bed.object("configmaps", "a");
    bed.apply(path.as_str(), "two", with_data(json!({"x": "1"})))
        .await
        .expect(201);
    bed.apply(path.as_str(), "one", with_data(json!({"y": "1", "z": "1"})))
        .await
        .expect(200);
    let refused = bed
        .apply(path, "three", with_data(json!({"x": "2", "y": "2", "z": "2"})))
        .await;
    let status = refused.refused(409, "Conflict");
    let message = "Apply failed with 3 conflicts: conflicts with \"one\":\n- .data.y\n- .data.z\n\
                   conflicts with \"two\":\n- .data.x";
    assert_eq!(status["message"], message);
    assert_eq!(status["details"]["causes"].as_array().unwrap().len(), 3);
}

async fn a_conflict_with_an_update_says_its_version(bed: &Bed) {
    let path = bed.collection("configmaps");
    bed.post(path, config_map("a"))
        .query("fieldManager", "hand")
        .await
        .expect(201);
    let refused = bed
        .apply(
            bed.object("configmaps", "a"),
            "one",
            with_data(json!({"key": "2"})),
        )
        .await;
    let status = refused.refused(409, "Conflict");
    let message = "Apply failed with 1 conflict: conflict with \"hand\" using v1: .data.key";
    assert_eq!(status["message"], message);
}

async fn the_status_has_owners_of_its_own(bed: &Bed) {
    let path = bed.object("apps/v1/deployments", "web");
    bed.apply(path.as_str(), "one", deployment("web"))
        .await
        .expect(201);
    let status = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "status": {"replicas": 1, "conditions": [{"type": "Ready", "status": "True"}]}, "spec": {"replicas": 7},
    });
    let applied = bed
        .apply(format!("{path}/status"), "two", status)
        .await
        .expect(200);
    assert_eq!(applied["spec"]["replicas"], 1);
    let expected = json!({
        "manager": "two", "operation": "Apply", "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
        "subresource": "status",
        "fieldsV1": {"f:status": {
            "f:conditions": {"k:{\"type\":\"Ready\"}": {".": {}, "f:status": {}, "f:type": {}}}, "f:replicas": {},
        }},
    });
    assert_eq!(entry(&applied, "two", "Apply"), expected);
    let again = bed.apply(path, "one", deployment("web")).await.expect(200);
    assert_eq!(again["status"]["replicas"], 1);
}

async fn managed_fields_are_reset_by_an_empty_entry(bed: &Bed) {
    let path = bed.object("configmaps", "a");
    bed.apply(path.as_str(), "one", config_map("a")).await.expect(201);
    let reset = json!({"metadata": {"managedFields": [{}]}});
    let reset = bed.patch(path.as_str(), MERGE_PATCH, reset).await.expect(200);
    assert_eq!(reset["metadata"].get("managedFields"), None);
    // What nobody owns belongs to whoever was before, from the next apply on.
    let refused = bed.apply(path, "two", with_data(json!({"key": "2"}))).await;
    let status = refused.refused(409, "Conflict");
    let message = "Apply failed with 1 conflict: conflict with \"before-first-apply\" using v1: .data.key";
    assert_eq!(status["message"], message);
}

async fn kubectl_takes_over_from_its_client_side_apply(bed: &Bed) {
    let mut object = with_data(json!({"x": "1", "y": "1"}));
    let last = format!("{object}\n");
    object["metadata"]["annotations"] = json!({"kubectl.kubernetes.io/last-applied-configuration": last});
    let path = bed.collection("configmaps");
    bed.post(path, object)
        .query("fieldManager", "kubectl-client-side-apply")
        .await
        .expect(201);
    let path = bed.object("configmaps", "a");
    let next = with_data(json!({"x": "2", "y": "1"}));
    let refused = bed.apply(path.as_str(), "another", next.clone()).await;
    refused.refused(409, "Conflict");
    let taken = bed.apply(path, "kubectl", next).await.expect(200);
    assert_eq!(taken["data"], json!({"x": "2", "y": "1"}));
    let annotation = &taken["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"];
    let kept: Value = serde_json::from_str(annotation.as_str().unwrap()).unwrap();
    assert_eq!(kept["data"], json!({"x": "2", "y": "1"}));
}

async fn an_applied_null_is_no_value(bed: &Bed) {
    let path = bed.object("configmaps", "a");
    let applied = bed
        .apply(path, "one", with_data(json!({"x": null, "y": "1"})))
        .await
        .expect(201);
    assert_eq!(applied["data"], json!({"x": "", "y": "1"}));
    assert_eq!(
        fields(&applied, "one", "Apply"),
        json!({"f:data": {"f:x": {}, "f:y": {}}})
    );
}

async fn an_item_of_a_list_goes_with_its_last_owner(bed: &Bed) {
    let path = bed.object("apps/v1/deployments", "web");
    let a = json!({"name": "a", "image": "a:1"});
    let b = json!({"name": "b", "image": "b:1"});
    bed.apply(path.as_str(), "one", with_containers(json!([a, b])))
        .await
        .expect(201);
    bed.apply(path.as_str(), "two", with_containers(json!([b])))
        .await
        .expect(200);
    let both = bed
        .apply(path.as_str(), "one", with_containers(json!([a])))
        .await
        .expect(200);
    assert_eq!(names(&both), ["a", "b"]);
    let left = bed
        .apply(path, "two", with_containers(json!([a])))
        .await
        .expect(200);
    assert_eq!(names(&left), ["a"]);
}

async fn an_empty_map_that_is_applied_takes_nothing_away(bed: &Bed) {
    let path = bed.object("configmaps", "a");
    bed.apply(path.as_str(), "one", with_data(json!({"x": "1"})))
        .await
        .expect(201);
    let same = bed.apply(path, "two", with_data(json!({}))).await.expect(200);
    assert_eq!(same["data"], json!({"x": "1"}));
}
