//! Answers that carry metadata alone.

use crate::bed::{Bed, config_map};

behaviours![metadata_alone_is_given_on_request];

const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

async fn metadata_alone_is_given_on_request(bed: &Bed) {
    bed.create("configmaps", config_map("a")).await;
    let found = bed
        .get(bed.object("configmaps", "a"))
        .accept(METADATA)
        .await
        .expect(200);
    assert_eq!(found["kind"], "PartialObjectMetadata");
    assert_eq!(found["apiVersion"], "meta.k8s.io/v1");
    assert_eq!(found["metadata"]["name"], "a");
    assert_eq!(found.get("data"), None);
}
