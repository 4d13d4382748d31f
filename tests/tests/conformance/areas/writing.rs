//! Creates and updates: names, versions, conflicts, dry runs.

use serde_json::{Value, json};

use crate::bed::{Bed, MERGE_PATCH, config_map, deployment};

behaviours![
    an_update_of_an_old_version_is_a_conflict,
    a_generated_name_starts_with_its_prefix,
    a_name_is_taken_once,
    what_only_the_server_says_is_not_taken_from_clients,
    a_new_object_brings_no_version,
    an_update_without_a_version_overwrites,
    a_write_that_changes_nothing_is_none,
    an_update_of_another_life_is_a_conflict,
    an_update_with_a_version_that_is_no_number_fails,
    an_update_creates_only_what_may_be_created_so,
    the_generation_counts_what_is_desired,
    a_status_is_written_by_itself,
    a_dry_run_writes_nothing,
    options_of_a_write_that_make_no_sense_are_refused,
    immutable_data_stays_as_it_is,
];

async fn an_update_of_an_old_version_is_a_conflict(bed: &Bed) {
    let mut old = bed.create("configmaps", config_map("a")).await;
    let path = bed.object("configmaps", "a");
    let mut new = old.clone();
    new["data"] = json!({"key": "second"});
    bed.put(path.as_str(), new).await.expect(200);
    old["data"] = json!({"key": "third"});
    let status = bed.put(path, old).await.refused(409, "Conflict");
    assert_eq!(status["details"], json!({"name": "a", "kind": "configmaps"}));
}

async fn a_generated_name_starts_with_its_prefix(bed: &Bed) {
    let object = json!({"metadata": {"generateName": "some-"}});
    let created = bed.create("configmaps", object).await;
    let name = created["metadata"]["name"].as_str().unwrap();
    assert!(name.starts_with("some-") && name.len() == 10, "{name}");
    assert_eq!(created["metadata"]["generateName"], "some-");
    let long = bed
        .create(
            "configmaps",
            json!({"metadata": {"generateName": "g".repeat(100)}}),
        )
        .await;
    assert_eq!(long["metadata"]["name"].as_str().map(str::len), Some(63));
}

async fn a_name_is_taken_once(bed: &Bed) {
    bed.create("configmaps", config_map("a")).await;
    let status = bed
        .post(bed.collection("configmaps"), config_map("a"))
        .await
        .refused(409, "AlreadyExists");
    assert_eq!(status["message"], "configmaps \"a\" already exists");
    assert_eq!(status["details"], json!({"name": "a", "kind": "configmaps"}));
}

async fn what_only_the_server_says_is_not_taken_from_clients(bed: &Bed) {
    let mut object = deployment("web");
    let metadata = object["metadata"].as_object_mut().unwrap();
    metadata.insert("uid".into(), "mine".into());
    metadata.insert("generation".into(), 7.into());
    metadata.insert("creationTimestamp".into(), "2020-01-01T00:00:00Z".into());
    metadata.insert("deletionTimestamp".into(), "2020-01-01T00:00:00Z".into());
    object["status"] = json!({"replicas": 7});
    let created = bed.create("apps/v1/deployments", object).await;
    assert_ne!(created["metadata"]["uid"], "mine");
    assert_eq!(created["metadata"]["generation"], 1);
    assert_ne!(created["metadata"]["creationTimestamp"], "2020-01-01T00:00:00Z");
    assert_eq!(created["metadata"].get("deletionTimestamp"), None);
    assert_ne!(created["status"]["replicas"], 7);
}

async fn a_new_object_brings_no_version(bed: &Bed) {
    let mut object = config_map("a");
    object["metadata"]["resourceVersion"] = "5".into();
    let status = bed
        .post(bed.collection("configmaps"), object)
        .await
        .refused(500, "");
    assert_eq!(
        status["message"],
        "resourceVersion should not be set on objects to be created"
    );
}

async fn an_update_without_a_version_overwrites(bed: &Bed) {
    bed.create("configmaps", config_map("a")).await;
    let mut object = config_map("a");
    object["data"] = json!({"other": "value"});
    let updated = bed.put(bed.object("configmaps", "a"), object).await.expect(200);
    assert_eq!(updated["data"], json!({"other": "value"}));
}

async fn a_write_that_changes_nothing_is_none(bed: &Bed) {
    let created = bed.create("configmaps", config_map("a")).await;
    let path = bed.object("configmaps", "a");
    let again = bed.put(path.as_str(), created.clone()).await.expect(200);
    assert_eq!(
        again["metadata"]["resourceVersion"],
        created["metadata"]["resourceVersion"]
    );
    let change = json!({"data": {"key": "value"}});
    let patched = bed.patch(path, MERGE_PATCH, change).await.expect(200);
    assert_eq!(
        patched["metadata"]["resourceVersion"],
        created["metadata"]["resourceVersion"]
    );
}

async fn an_update_of_another_life_is_a_conflict(bed: &Bed) {
    let mut object = bed.create("configmaps", config_map("a")).await;
    object["metadata"]["uid"] = "another".into();
    object["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("resourceVersion");
    bed.put(bed.object("configmaps", "a"), object)
        .await
        .refused(409, "Conflict");
}

async fn an_update_with_a_version_that_is_no_number_fails(bed: &Bed) {
    let mut object = bed.create("configmaps", config_map("a")).await;
    object["metadata"]["resourceVersion"] = "abc".into();
    bed.put(bed.object("configmaps", "a"), object)
        .await
        .refused(500, "");
}

async fn an_update_creates_only_what_may_be_created_so(bed: &Bed) {
    let status = bed
        .put(bed.object("configmaps", "a"), config_map("a"))
        .await
        .refused(404, "NotFound");
    assert_eq!(status["details"], json!({"name": "a", "kind": "configmaps"}));
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "a"}, "spec": {}});
    bed.put(bed.object("coordination.k8s.io/v1/leases", "a"), lease)
        .await
        .expect(201);
    bed.read("coordination.k8s.io/v1/leases", "a").await;
}

async fn the_generation_counts_what_is_desired(bed: &Bed) {
    bed.create("apps/v1/deployments", deployment("web")).await;
    let path = bed.object("apps/v1/deployments", "web");
    let generation = async |change: Value| {
        let object = bed.patch(path.as_str(), MERGE_PATCH, change).await.expect(200);
        object["metadata"]["generation"].as_u64().unwrap()
    };
    assert_eq!(generation(json!({"metadata": {"labels": {"a": "b"}}})).await, 1);
    assert_eq!(generation(json!({"status": {"replicas": 7}})).await, 1);
    assert_eq!(generation(json!({"spec": {"replicas": 3}})).await, 2);
}

async fn a_status_is_written_by_itself(bed: &Bed) {
    bed.create("apps/v1/deployments", deployment("web")).await;
    let path = bed.object("apps/v1/deployments", "web/status");
    let change = json!({"spec": {"replicas": 9}, "status": {"observedGeneration": 1}});
    let object = bed.patch(path.as_str(), MERGE_PATCH, change).await.expect(200);
    assert_eq!(object["status"]["observedGeneration"], 1);
    assert_eq!(object["spec"]["replicas"], 1);
    assert_eq!(object["metadata"]["generation"], 1);
    assert_eq!(bed.get(path.as_str()).await.expect(200)["kind"], "Deployment");
    bed.delete(path).await.refused(405, "MethodNotAllowed");
    bed.get(bed.object("configmaps", "kube-root-ca.crt/status"))
        .await
        .refused(404, "NotFound");
}

async fn a_dry_run_writes_nothing(bed: &Bed) {
    let path = bed.collection("configmaps");
    let made = bed
        .post(path, config_map("a"))
        .query("dryRun", "All")
        .await
        .expect(201);
    assert!(made["metadata"]["uid"].is_string());
    assert_eq!(made["metadata"].get("resourceVersion"), None);
    bed.get(bed.object("configmaps", "a"))
        .await
        .refused(404, "NotFound");
    let created = bed.create("configmaps", config_map("b")).await;
    let change = json!({"data": {"key": "other"}});
    let path = bed.object("configmaps", "b");
    let would = bed
        .patch(path, MERGE_PATCH, change)
        .query("dryRun", "All")
        .await
        .expect(200);
    assert_eq!(would["data"]["key"], "other");
    assert_eq!(
        would["metadata"]["resourceVersion"],
        created["metadata"]["resourceVersion"]
    );
    assert_eq!(bed.read("configmaps", "b").await["data"]["key"], "value");
}

async fn options_of_a_write_that_make_no_sense_are_refused(bed: &Bed) {
    let cause = async |name: &str, value: &str| {
        let asked = bed
            .post(bed.collection("configmaps"), config_map("a"))
            .query(name, value);
        let status = asked.await.refused(422, "Invalid");
        assert_eq!(status["details"]["kind"], "CreateOptions");
        assert_eq!(status["details"]["causes"][0]["field"], name);
        status["details"]["causes"][0]["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(
        cause("dryRun", "Some").await,
        "Unsupported value: [\"Some\"]: supported values: \"All\""
    );
    let validations = "supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"";
    assert_eq!(
        cause("fieldValidation", "Some").await,
        format!("Unsupported value: \"Some\": {validations}")
    );
    assert_eq!(
        cause("fieldManager", &"m".repeat(129)).await,
        "Too long: may not be more than 128 bytes"
    );
}

async fn immutable_data_stays_as_it_is(bed: &Bed) {
    let mut object = config_map("a");
    object["immutable"] = true.into();
    bed.create("configmaps", object).await;
    let path = bed.object("configmaps", "a");
    let change = json!({"data": {"key": "other"}});
    let status = bed
        .patch(path.as_str(), MERGE_PATCH, change)
        .await
        .refused(422, "Invalid");
    let why = "Forbidden: field is immutable when `immutable` is set";
    assert_eq!(status["details"]["causes"][0]["message"], why);
    assert_eq!(status["details"]["causes"][0]["field"], "data");
    bed.patch(path, MERGE_PATCH, json!({"metadata": {"labels": {"a": "b"}}}))
        .await
        .expect(200);
}
