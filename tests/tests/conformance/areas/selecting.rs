//! Label and field selectors.

use crate::bed::{Bed, secret};

behaviours![a_field_selector_finds_an_object_by_its_name];

async fn a_field_selector_finds_an_object_by_its_name(bed: &Bed) {
    bed.create("secrets", secret("a")).await;
    bed.create("secrets", secret("b")).await;
    let list = bed
        .get(bed.collection("secrets"))
        .query("fieldSelector", "metadata.name=b");
    let list = list.await.expect(200);
    assert_eq!(list["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(list["items"][0]["metadata"]["name"], "b");
}
