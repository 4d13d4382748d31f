//! Creates and updates: names, versions, conflicts, dry runs.

use serde_json::json;

use crate::bed::{Bed, config_map};

behaviours![an_update_of_an_old_version_is_a_conflict];

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
