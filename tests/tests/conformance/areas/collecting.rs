//! Garbage collection by owner references.

use serde_json::json;

use crate::bed::{Bed, secret};

behaviours![an_object_goes_after_its_owner];

async fn an_object_goes_after_its_owner(bed: &Bed) {
    let owner = bed.create("secrets", secret("owner")).await;
    let mut dependent = secret("dependent");
    dependent["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "v1", "kind": "Secret", "name": "owner", "uid": owner["metadata"]["uid"],
    }]);
    bed.create("secrets", dependent).await;
    bed.delete(bed.object("secrets", "owner")).await.expect(200);
    bed.gone(&bed.object("secrets", "dependent")).await;
}
