//! What is served, and in which version the server is.

use crate::bed::Bed;

behaviours![the_core_group_is_served_as_v1];

async fn the_core_group_is_served_as_v1(bed: &Bed) {
    let versions = bed.get("/api").await.expect(200);
    assert_eq!(versions["kind"], "APIVersions");
    assert_eq!(versions["versions"], serde_json::json!(["v1"]));
}
