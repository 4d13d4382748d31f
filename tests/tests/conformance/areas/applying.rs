//! Server-side apply: ownership, conflicts, removal.

use serde_json::json;

use crate::bed::{Bed, config_map};

behaviours![an_apply_of_anothers_field_is_a_conflict_unless_forced];

async fn an_apply_of_anothers_field_is_a_conflict_unless_forced(bed: &Bed) {
    let path = bed.object("configmaps", "a");
    bed.apply(path.as_str(), "one", config_map("a")).await.expect(201);
    let mut other = config_map("a");
    other["data"] = json!({"key": "of two"});
    let refused = bed.apply(path.as_str(), "two", other.clone()).await;
    let status = refused.refused(409, "Conflict");
    assert_eq!(status["details"]["causes"][0]["field"], ".data.key");
    let forced = bed
        .apply(path, "two", other)
        .query("force", true)
        .await
        .expect(200);
    assert_eq!(forced["data"]["key"], "of two");
}
