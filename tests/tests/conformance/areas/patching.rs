//! JSON patches, merge patches and strategic merge patches.

use serde_json::json;

use crate::bed::{Bed, JSON_PATCH, config_map};

behaviours![a_json_patch_whose_test_fails_changes_nothing];

async fn a_json_patch_whose_test_fails_changes_nothing(bed: &Bed) {
    bed.create("configmaps", config_map("a")).await;
    let patch = json!([
        {"op": "test", "path": "/data/key", "value": "something else"},
        {"op": "replace", "path": "/data/key", "value": "new"},
    ]);
    let refused = bed.patch(bed.object("configmaps", "a"), JSON_PATCH, patch).await;
    refused.refused(422, "Invalid");
    assert_eq!(bed.read("configmaps", "a").await["data"]["key"], "value");
}
