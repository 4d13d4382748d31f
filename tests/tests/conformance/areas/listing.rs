//! Lists: their versions, their pages.

use crate::bed::{Bed, config_map, secret};

behaviours![
    a_list_says_the_version_it_was_read_at,
    a_list_with_a_limit_continues_where_it_stopped,
];

async fn a_list_says_the_version_it_was_read_at(bed: &Bed) {
    let created = bed.create("configmaps", config_map("one")).await;
    let list = bed.get(bed.collection("configmaps")).await.expect(200);
    assert_eq!(list["kind"], "ConfigMapList");
    let version =
        |value: &serde_json::Value| value["metadata"]["resourceVersion"].as_str()?.parse::<u64>().ok();
    assert!(version(&list) >= version(&created), "{list}");
}

async fn a_list_with_a_limit_continues_where_it_stopped(bed: &Bed) {
    for name in ["a", "b", "c"] {
        bed.create("secrets", secret(name)).await;
    }
    let path = bed.collection("secrets");
    let first = bed.get(path.as_str()).query("limit", 2).await.expect(200);
    assert_eq!(first["items"].as_array().map(Vec::len), Some(2));
    assert_eq!(first["metadata"]["remainingItemCount"], 1);
    let token = first["metadata"]["continue"].as_str().unwrap();
    let last = bed
        .get(path)
        .query("limit", 2)
        .query("continue", token)
        .await
        .expect(200);
    assert_eq!(last["items"][0]["metadata"]["name"], "c");
    assert_eq!(last["metadata"].get("continue"), None);
    assert_eq!(
        last["metadata"]["resourceVersion"],
        first["metadata"]["resourceVersion"]
    );
}
