//! Refusals of what is malformed, too large or not there at all.

use serde_json::json;

use crate::bed::Bed;

behaviours![an_object_that_is_not_there_is_named_in_the_refusal];

async fn an_object_that_is_not_there_is_named_in_the_refusal(bed: &Bed) {
    let status = bed
        .get(bed.object("apps/v1/deployments", "web"))
        .await
        .refused(404, "NotFound");
    assert_eq!(status["message"], "deployments.apps \"web\" not found");
    assert_eq!(
        status["details"],
        json!({"name": "web", "group": "apps", "kind": "deployments"})
    );
}
