//! What names, labels, annotations, finalizers and owners may be.

use serde_json::{Value, json};

use crate::bed::{Bed, config_map};

behaviours![
    names_are_subdomains,
    prefixes_of_generated_names_are_checked_as_well,
    labels_are_checked,
    annotations_are_checked_in_any_case_and_for_their_size,
    finalizers_of_core_kinds_have_a_domain,
    owners_are_named_in_full,
    several_mistakes_are_told_together,
    changes_of_metadata_are_checked_as_well,
    keys_of_data_are_checked,
];

/// The causes for which an object with this metadata is refused, as in `field: message`.
async fn causes(bed: &Bed, metadata: Value) -> Vec<String> {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
    let status = bed
        .post(bed.collection("configmaps"), object)
        .await
        .refused(422, "Invalid");
    let causes = status["details"]["causes"].as_array().into_iter().flatten();
    let text = |cause: &Value, field: &str| cause[field].as_str().unwrap_or_default().to_owned();
    causes
        .map(|cause| format!("{}: {}", text(cause, "field"), text(cause, "message")))
        .collect()
}

#[track_caller]
fn assert_starts(causes: &[String], starts: &[&str]) {
    let fits = causes.len() == starts.len()
        && causes
            .iter()
            .zip(starts)
            .all(|(cause, start)| cause.starts_with(start));
    assert!(fits, "expected {starts:?}, found {causes:?}");
}

async fn names_are_subdomains(bed: &Bed) {
    assert_eq!(
        causes(bed, json!({})).await,
        ["metadata.name: Required value: name or generateName is required"]
    );
    for name in ["Upper", "under_score", "a..b", "-a", "a-", "a/b", ".a"] {
        let why =
            format!("metadata.name: Invalid value: \"{name}\": a lowercase RFC 1123 subdomain must consist");
        assert_starts(&causes(bed, json!({"name": name})).await, &[&why]);
    }
    let long = causes(bed, json!({"name": "a".repeat(254)})).await;
    assert!(
        long[0].ends_with("must be no more than 253 characters"),
        "{long:?}"
    );
}

async fn prefixes_of_generated_names_are_checked_as_well(bed: &Bed) {
    let causes = causes(bed, json!({"generateName": "Up-"})).await;
    assert_starts(
        &causes,
        &[
            "metadata.generateName: Invalid value: \"Up-\"",
            "metadata.name: Invalid value: \"Up-",
        ],
    );
}

async fn labels_are_checked(bed: &Bed) {
    let key = causes(bed, json!({"name": "a", "labels": {"-a": "b"}})).await;
    assert_starts(
        &key,
        &["metadata.labels: Invalid value: \"-a\": name part must consist of"],
    );
    let prefix = causes(bed, json!({"name": "a", "labels": {"UPPER.com/a": "b"}})).await;
    assert_starts(
        &prefix,
        &["metadata.labels: Invalid value: \"UPPER.com/a\": prefix part a lowercase RFC 1123"],
    );
    let value = causes(bed, json!({"name": "a", "labels": {"a": "b b"}})).await;
    assert_starts(
        &value,
        &["metadata.labels: Invalid value: \"b b\": a valid label must be an empty string or"],
    );
    let long = causes(bed, json!({"name": "a", "labels": {"a": "b".repeat(64)}})).await;
    assert!(long[0].ends_with("must be no more than 63 bytes"), "{long:?}");
}

async fn annotations_are_checked_in_any_case_and_for_their_size(bed: &Bed) {
    let key = causes(bed, json!({"name": "a", "annotations": {"a b": "c"}})).await;
    assert_starts(
        &key,
        &["metadata.annotations: Invalid value: \"a b\": name part must consist of"],
    );
    let large = causes(
        bed,
        json!({"name": "a", "annotations": {"a": "b".repeat(270_000)}}),
    )
    .await;
    assert_eq!(
        large,
        ["metadata.annotations: Too long: may not be more than 262144 bytes"]
    );
    let mut fine = config_map("fine");
    fine["metadata"]["annotations"] = json!({"UPPER.com/A": "any text, even this one"});
    bed.create("configmaps", fine).await;
}

async fn finalizers_of_core_kinds_have_a_domain(bed: &Bed) {
    let plain = causes(bed, json!({"name": "a", "finalizers": ["hold"]})).await;
    let why = "metadata.finalizers[0]: Invalid value: \"hold\": name is neither a standard finalizer name nor is it \
               fully qualified";
    assert_eq!(plain, [why]);
    let odd = causes(bed, json!({"name": "a", "finalizers": ["a b"]})).await;
    assert_starts(
        &odd,
        &[
            "metadata.finalizers: Invalid value: \"a b\"",
            "metadata.finalizers[0]: Invalid value: \"a b\"",
        ],
    );
}

async fn owners_are_named_in_full(bed: &Bed) {
    let empty = causes(bed, json!({"name": "a", "ownerReferences": [{}]})).await;
    let required =
        |field: &str| format!("metadata.ownerReferences[0].{field}: Required value: must not be empty");
    assert_eq!(empty, ["apiVersion", "kind", "name", "uid"].map(required));
    let event = json!({"apiVersion": "v1", "kind": "Event", "name": "a", "uid": "1"});
    let event = causes(bed, json!({"name": "a", "ownerReferences": [event]})).await;
    assert!(
        event[0].ends_with("/v1, Kind=Event is disallowed from being an owner"),
        "{event:?}"
    );
    let owner = |name: &str| json!({"apiVersion": "v1", "kind": "Secret", "name": name, "uid": name, "controller": true});
    let both = causes(
        bed,
        json!({"name": "a", "ownerReferences": [owner("a"), owner("b")]}),
    )
    .await;
    assert_starts(&both, &["metadata.ownerReferences: Invalid value: "]);
    assert!(
        both[0].contains("Only one reference can have Controller set to true"),
        "{both:?}"
    );
}

async fn several_mistakes_are_told_together(bed: &Bed) {
    let object = json!({"metadata": {"name": "A", "labels": {"a": "-"}}});
    let status = bed
        .post(bed.collection("configmaps"), object)
        .await
        .refused(422, "Invalid");
    assert_eq!(status["details"]["causes"].as_array().map(Vec::len), Some(2));
    let message = status["message"].as_str().unwrap();
    assert!(
        message.starts_with("ConfigMap \"A\" is invalid: [metadata.name: Invalid value"),
        "{message}"
    );
}

async fn changes_of_metadata_are_checked_as_well(bed: &Bed) {
    let mut object = bed.create("configmaps", config_map("a")).await;
    object["metadata"]["labels"] = json!({"a": "b b"});
    let status = bed
        .put(bed.object("configmaps", "a"), object)
        .await
        .refused(422, "Invalid");
    assert_eq!(status["details"]["causes"][0]["field"], "metadata.labels");
}

async fn keys_of_data_are_checked(bed: &Bed) {
    let mut object = config_map("a");
    object["data"] = json!({"a b": "c"});
    let status = bed
        .post(bed.collection("configmaps"), object)
        .await
        .refused(422, "Invalid");
    assert_eq!(status["details"]["causes"][0]["field"], "data[a b]");
}
