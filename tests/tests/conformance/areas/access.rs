//! Tokens and permissions.

use crate::bed::Bed;

behaviours![a_token_that_nobody_has_is_unauthorized];

async fn a_token_that_nobody_has_is_unauthorized(bed: &Bed) {
    let refused = bed.get(bed.collection("configmaps")).token("nobody's").await;
    refused.refused(401, "Unauthorized");
}
