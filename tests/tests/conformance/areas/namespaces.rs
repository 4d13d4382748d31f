//! Namespaces and how they end.

use crate::bed::{Bed, secret};

behaviours![a_deleted_namespace_takes_its_objects_along];

async fn a_deleted_namespace_takes_its_objects_along(bed: &Bed) {
    bed.create("secrets", secret("a")).await;
    let path = format!("/api/v1/namespaces/{}", bed.namespace());
    bed.delete(path.as_str()).await.expect(200);
    bed.gone(&path).await;
    bed.get(bed.object("secrets", "a")).await.refused(404, "NotFound");
}
