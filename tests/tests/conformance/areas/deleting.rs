//! Deletes: preconditions, finalizers, collections.

use serde_json::{Value, json};

use crate::bed::{Bed, MERGE_PATCH, deployment, pod, secret};

behaviours![
    an_object_with_a_finalizer_stays_until_that_is_removed,
    what_is_gone_at_once_is_answered_with_a_status,
    a_second_delete_of_a_held_object_changes_nothing,
    the_generation_of_a_held_object_counts_its_deletion,
    a_deletion_cannot_be_taken_back,
    a_deleted_object_takes_changes_but_no_new_finalizer,
    the_name_of_a_deleted_object_is_still_taken,
    preconditions_of_a_delete_have_to_hold,
    a_dry_run_of_a_delete_deletes_nothing,
    options_of_a_delete_that_make_no_sense_are_refused,
    a_foreground_deletion_shows_its_finalizer,
    an_orphaning_deletion_shows_its_finalizer_and_ends,
    a_collection_is_deleted_by_selector_and_answered_as_a_list,
    a_page_of_a_collection_can_be_deleted,
    held_objects_of_a_deleted_collection_stay,
    a_pod_on_a_node_gets_time_to_end,
    a_pod_that_nothing_runs_goes_at_once,
];

async fn an_object_with_a_finalizer_stays_until_that_is_removed(bed: &Bed) {
    let mut held = secret("a");
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    bed.create("secrets", held).await;
    let path = bed.object("secrets", "a");
    let answer = bed.delete(path.as_str()).await.expect(200);
    assert!(answer["metadata"]["deletionTimestamp"].is_string(), "{answer}");
    bed.read("secrets", "a").await;
    let release = json!({"metadata": {"finalizers": null}});
    bed.patch(path.as_str(), MERGE_PATCH, release).await.expect(200);
    bed.get(path).await.refused(404, "NotFound");
}

fn held(name: &str) -> Value {
    let mut object = secret(name);
    object["metadata"]["finalizers"] = json!(["example.com/hold"]);
    object
}

fn names(list: &Value) -> Vec<&str> {
    let items = list["items"].as_array().into_iter().flatten();
    items
        .filter_map(|item| item["metadata"]["name"].as_str())
        .collect()
}

async fn what_is_gone_at_once_is_answered_with_a_status(bed: &Bed) {
    let created = bed.create("secrets", secret("a")).await;
    let status = bed.delete(bed.object("secrets", "a")).await.expect(200);
    assert_eq!(status["status"], "Success");
    let details = json!({"name": "a", "kind": "secrets", "uid": created["metadata"]["uid"]});
    assert_eq!(status["details"], details);
    bed.delete(bed.object("secrets", "a"))
        .await
        .refused(404, "NotFound");
}

async fn a_second_delete_of_a_held_object_changes_nothing(bed: &Bed) {
    bed.create("secrets", held("a")).await;
    let path = bed.object("secrets", "a");
    let first = bed.delete(path.as_str()).await.expect(200);
    assert_eq!(first["metadata"]["deletionGracePeriodSeconds"], 0);
    let second = bed.delete(path).await.expect(200);
    assert_eq!(first, second);
}

async fn the_generation_of_a_held_object_counts_its_deletion(bed: &Bed) {
    let mut object = deployment("web");
    object["metadata"]["finalizers"] = json!(["example.com/hold"]);
    let created = bed.create("apps/v1/deployments", object).await;
    assert_eq!(created["metadata"]["generation"], 1);
    let deleted = bed
        .delete(bed.object("apps/v1/deployments", "web"))
        .await
        .expect(200);
    assert_eq!(deleted["metadata"]["generation"], 2);
}

async fn a_deletion_cannot_be_taken_back(bed: &Bed) {
    bed.create("secrets", held("a")).await;
    let path = bed.object("secrets", "a");
    bed.delete(path.as_str()).await.expect(200);
    let back = json!({"metadata": {"deletionTimestamp": null, "deletionGracePeriodSeconds": null}});
    let still = bed.patch(path, MERGE_PATCH, back).await.expect(200);
    assert!(still["metadata"]["deletionTimestamp"].is_string());
}

async fn a_deleted_object_takes_changes_but_no_new_finalizer(bed: &Bed) {
    bed.create("secrets", held("a")).await;
    let path = bed.object("secrets", "a");
    bed.delete(path.as_str()).await.expect(200);
    bed.patch(
        path.as_str(),
        MERGE_PATCH,
        json!({"metadata": {"labels": {"a": "b"}}}),
    )
    .await
    .expect(200);
    let more = json!({"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}});
    let status = bed.patch(path, MERGE_PATCH, more).await.refused(422, "Invalid");
    let cause = json!({
        "reason": "FieldValueForbidden", "field": "metadata.finalizers",
        "message": "Forbidden: no new finalizers can be added if the object is being deleted, found new \
                    finalizers []string{\"example.com/more\"}",
    });
    assert_eq!(status["details"]["causes"], json!([cause]));
}

async fn the_name_of_a_deleted_object_is_still_taken(bed: &Bed) {
    bed.create("secrets", held("a")).await;
    bed.delete(bed.object("secrets", "a")).await.expect(200);
    let status = bed
        .post(bed.collection("secrets"), secret("a"))
        .await
        .refused(409, "AlreadyExists");
    assert_eq!(
        status["message"],
        "object is being deleted: secrets \"a\" already exists"
    );
}

async fn preconditions_of_a_delete_have_to_hold(bed: &Bed) {
    let created = bed.create("secrets", secret("a")).await;
    let path = bed.object("secrets", "a");
    for wrong in [json!({"uid": "other"}), json!({"resourceVersion": "1"})] {
        let status = bed.delete(path.as_str()).json(&json!({"preconditions": wrong}));
        let status = status.await.refused(409, "Conflict");
        assert_eq!(status["details"], json!({"name": "a", "kind": "Secret"}));
    }
    let metadata = &created["metadata"];
    let right = json!({"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]});
    bed.delete(path)
        .json(&json!({"preconditions": right}))
        .await
        .expect(200);
}

async fn a_dry_run_of_a_delete_deletes_nothing(bed: &Bed) {
    bed.create("secrets", secret("a")).await;
    bed.create("secrets", held("b")).await;
    let path = bed.object("secrets", "a");
    let status = bed.delete(path.as_str()).query("dryRun", "All").await.expect(200);
    assert_eq!(status["status"], "Success");
    bed.delete(path)
        .json(&json!({"dryRun": ["All"]}))
        .await
        .expect(200);
    bed.read("secrets", "a").await;
    let would = bed
        .delete(bed.object("secrets", "b"))
        .query("dryRun", "All")
        .await
        .expect(200);
    assert!(would["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(
        bed.read("secrets", "b").await["metadata"].get("deletionTimestamp"),
        None
    );
}

async fn options_of_a_delete_that_make_no_sense_are_refused(bed: &Bed) {
    bed.create("secrets", secret("a")).await;
    let path = bed.object("secrets", "a");
    let cause = async |options: Value| {
        let status = bed
            .delete(path.as_str())
            .json(&options)
            .await
            .refused(422, "Invalid");
        assert_eq!(status["details"]["kind"], "DeleteOptions");
        status["details"]["causes"][0]["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let policies = "supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"";
    let policy = cause(json!({"propagationPolicy": "Never"})).await;
    assert_eq!(policy, format!("Unsupported value: \"Never\": {policies}"));
    let both = cause(json!({"propagationPolicy": "Orphan", "orphanDependents": true})).await;
    assert_eq!(
        both,
        "Invalid value: \"Orphan\": orphanDependents and deletionPropagation cannot be both set"
    );
    let dry_run = cause(json!({"dryRun": ["Some"]})).await;
    assert_eq!(
        dry_run,
        "Unsupported value: [\"Some\"]: supported values: \"All\""
    );
    bed.delete(path.as_str())
        .json(&secret("a"))
        .await
        .refused(400, "BadRequest");
    bed.delete(path.as_str())
        .body("no JSON")
        .await
        .refused(400, "BadRequest");
    bed.read("secrets", "a").await;
}

async fn a_foreground_deletion_shows_its_finalizer(bed: &Bed) {
    bed.create("secrets", held("a")).await;
    let path = bed.object("secrets", "a");
    let deleted = bed
        .delete(path.as_str())
        .query("propagationPolicy", "Foreground")
        .await
        .expect(200);
    assert_eq!(
        deleted["metadata"]["finalizers"],
        json!(["example.com/hold", "foregroundDeletion"])
    );
    // Nothing depends on it, so the garbage collector lets go at once.
    bed.eventually("the collector to let go", async || {
        let found = bed.read("secrets", "a").await;
        let left = &found["metadata"]["finalizers"];
        if *left == json!(["example.com/hold"]) {
            Ok(())
        } else {
            Err(found.to_string())
        }
    })
    .await;
}

async fn an_orphaning_deletion_shows_its_finalizer_and_ends(bed: &Bed) {
    bed.create("secrets", secret("a")).await;
    let path = bed.object("secrets", "a");
    let deleted = bed
        .delete(path.as_str())
        .query("propagationPolicy", "Orphan")
        .await
        .expect(200);
    assert_eq!(deleted["metadata"]["finalizers"], json!(["orphan"]));
    bed.gone(&path).await;
}

async fn a_collection_is_deleted_by_selector_and_answered_as_a_list(bed: &Bed) {
    for name in ["a", "b"] {
        let mut object = secret(name);
        object["metadata"]["labels"] = json!({"name": name});
        bed.create("secrets", object).await;
    }
    let path = bed.collection("secrets");
    let deleted = bed
        .delete(path.as_str())
        .query("labelSelector", "name=a")
        .await
        .expect(200);
    assert_eq!(deleted["kind"], "SecretList");
    assert_eq!(names(&deleted), ["a"]);
    assert_eq!(names(&bed.get(path).await.expect(200)), ["b"]);
}

async fn a_page_of_a_collection_can_be_deleted(bed: &Bed) {
    for name in ["a", "b", "c"] {
        bed.create("secrets", secret(name)).await;
    }
    let path = bed.collection("secrets");
    let deleted = bed.delete(path.as_str()).query("limit", 2).await.expect(200);
    assert_eq!(names(&deleted), ["a", "b"]);
    assert_eq!(deleted["metadata"]["remainingItemCount"], 1);
    assert_eq!(names(&bed.get(path).await.expect(200)), ["c"]);
}

async fn held_objects_of_a_deleted_collection_stay(bed: &Bed) {
    bed.create("secrets", held("a")).await;
    bed.create("secrets", secret("b")).await;
    let path = bed.collection("secrets");
    assert_eq!(names(&bed.delete(path.as_str()).await.expect(200)), ["a", "b"]);
    let left = bed.get(path).await.expect(200);
    assert_eq!(names(&left), ["a"]);
    assert!(left["items"][0]["metadata"]["deletionTimestamp"].is_string());
}

async fn a_pod_on_a_node_gets_time_to_end(bed: &Bed) {
    let mut object = pod("placed");
    object["spec"]["nodeName"] = "somewhere".into();
    bed.create("pods", object).await;
    let path = bed.object("pods", "placed");
    let ending = bed.delete(path.as_str()).await.expect(200);
    assert_eq!(ending["metadata"]["deletionGracePeriodSeconds"], 30);
    let shorter = bed
        .delete(path.as_str())
        .query("gracePeriodSeconds", 5)
        .await
        .expect(200);
    assert_eq!(shorter["metadata"]["deletionGracePeriodSeconds"], 5);
    bed.delete(path.as_str())
        .query("gracePeriodSeconds", 0)
        .await
        .expect(200);
    bed.get(path).await.refused(404, "NotFound");
}

async fn a_pod_that_nothing_runs_goes_at_once(bed: &Bed) {
    bed.create("pods", pod("waiting")).await;
    let path = bed.object("pods", "waiting");
    bed.delete(path.as_str()).await.expect(200);
    bed.get(path).await.refused(404, "NotFound");
}
