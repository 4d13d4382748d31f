//! Watches: where they start, what they tell, how they end.

use serde_json::json;

use crate::bed::{Bed, MERGE_PATCH, secret};

behaviours![a_watch_from_a_version_tells_what_happened_since];

async fn a_watch_from_a_version_tells_what_happened_since(bed: &Bed) {
    let created = bed.create("secrets", secret("a")).await;
    let path = bed.object("secrets", "a");
    let change = json!({"metadata": {"labels": {"changed": "yes"}}});
    bed.patch(path.as_str(), MERGE_PATCH, change).await.expect(200);
    bed.delete(path).await.expect(200);
    let mut watch = bed
        .get(bed.collection("secrets"))
        .query("watch", 1)
        .query(
            "resourceVersion",
            created["metadata"]["resourceVersion"].as_str().unwrap(),
        )
        .follow()
        .await;
    assert_eq!(watch.next_names(2).await, ["MODIFIED a", "DELETED a"]);
    watch.nothing().await;
}
