//! Deletes: preconditions, finalizers, collections.

use serde_json::json;

use crate::bed::{Bed, MERGE_PATCH, secret};

behaviours![an_object_with_a_finalizer_stays_until_that_is_removed];

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
