//! Label and field selectors.

use serde_json::json;

use crate::bed::{Bed, pod, secret};

behaviours![
    a_field_selector_finds_an_object_by_its_name,
    label_selectors_know_sets_existence_and_numbers,
    label_selectors_that_break_the_grammar_are_refused_with_a_reason,
    label_selectors_name_keys_and_values_that_could_be_labels,
    field_selectors_combine_and_negate,
    field_selectors_that_break_the_grammar_are_refused_with_a_reason,
    pods_are_found_by_their_node_and_phase,
    events_are_found_by_what_they_are_about,
];

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

/// The names that a label selector finds.
async fn found(bed: &Bed, selector: &str) -> Vec<String> {
    let list = bed
        .get(bed.collection("secrets"))
        .query("labelSelector", selector);
    let list = list.await.expect(200);
    let items = list["items"].as_array().into_iter().flatten();
    items
        .filter_map(|item| item["metadata"]["name"].as_str())
        .map(str::to_owned)
        .collect()
}

async fn refusal(bed: &Bed, parameter: &str, selector: &str) -> String {
    let asked = bed.get(bed.collection("secrets")).query(parameter, selector);
    let status = asked.await.refused(400, "BadRequest");
    status["message"].as_str().unwrap_or_default().to_owned()
}

async fn label_selectors_know_sets_existence_and_numbers(bed: &Bed) {
    for (name, labels) in [
        ("one", json!({"n": "1", "team": "red"})),
        ("two", json!({"n": "2"})),
        ("ten", json!({"n": "10", "team": ""})),
        ("none", json!({})),
    ] {
        let mut object = secret(name);
        object["metadata"]["labels"] = labels;
        bed.create("secrets", object).await;
    }
    for (selector, expected) in [
        ("", &["none", "one", "ten", "two"] as &[&str]),
        ("team", &["one", "ten"]),
        ("!team", &["none", "two"]),
        ("team=red", &["one"]),
        ("team==red", &["one"]),
        ("team!=red", &["none", "ten", "two"]),
        ("team=", &["ten"]),
        ("n in (1, 10)", &["one", "ten"]),
        ("n notin (1,2)", &["none", "ten"]),
        ("n in (,1)", &["one"]),
        ("team in ()", &["ten"]),
        ("n>1", &["ten", "two"]),
        ("n<10", &["one", "two"]),
        ("n>1,n<10", &["two"]),
        ("n,!team", &["two"]),
        ("in", &[]),
        ("n=1,n=2", &[]),
    ] {
        assert_eq!(found(bed, selector).await, expected, "{selector}");
    }
}

async fn label_selectors_that_break_the_grammar_are_refused_with_a_reason(bed: &Bed) {
    for (selector, message) in [
        ("(", "found '(', expected: !, identifier, or 'end of string'"),
        ("n=1,", "found '', expected: identifier after ','"),
        ("n=1 2", "found '2', expected: ',' or 'end of string'"),
        ("n in 1", "unable to parse requirement: found '1' expected: '('"),
        (
            "n in (1",
            "unable to parse requirement: found '', expected: ',' or ')'",
        ),
        (
            "n===1",
            "unable to parse requirement: found '=', expected: identifier",
        ),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("!n=1", "found '=', expected: ',' or 'end of string'"),
        (
            "n ! in (1)",
            "unable to parse requirement: found '!', expected: in, notin, =, ==, !=, gt, lt",
        ),
        (
            "n>x",
            "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer",
        ),
    ] {
        assert_eq!(
            refusal(bed, "labelSelector", selector).await,
            message,
            "{selector}"
        );
    }
}

async fn label_selectors_name_keys_and_values_that_could_be_labels(bed: &Bed) {
    let message = refusal(bed, "labelSelector", "-a=b").await;
    assert!(
        message.starts_with("unable to parse requirement: <nil>: Invalid value: \"-a\": name part must"),
        "{message}"
    );
    let message = refusal(bed, "labelSelector", "a=-b").await;
    assert!(
        message
            .starts_with("unable to parse requirement: values[0][a]: Invalid value: \"-b\": a valid label"),
        "{message}"
    );
    let message = refusal(bed, "labelSelector", "a/b/c").await;
    assert!(
        message
            .starts_with("unable to parse requirement: <nil>: Invalid value: \"a/b/c\": a valid label key"),
        "{message}"
    );
}

async fn field_selectors_combine_and_negate(bed: &Bed) {
    for name in ["a", "b", "c"] {
        bed.create("secrets", secret(name)).await;
    }
    let list = bed
        .get(bed.collection("secrets"))
        .query("fieldSelector", "metadata.name!=a,metadata.name!=c,type=Opaque");
    let list = list.await.expect(200);
    assert_eq!(list["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(list["items"][0]["metadata"]["name"], "b");
    let list = bed
        .get("/api/v1/secrets")
        .query("fieldSelector", format!("metadata.namespace={}", bed.namespace()));
    assert_eq!(list.await.expect(200)["items"].as_array().map(Vec::len), Some(3));
}

async fn field_selectors_that_break_the_grammar_are_refused_with_a_reason(bed: &Bed) {
    for (selector, message) in [
        ("foo", "invalid selector: 'foo'; can't understand 'foo'"),
        (
            "metadata.name=a=b",
            "invalid field selector: unescaped character in value: 61",
        ),
        (
            "metadata.name=a\\b",
            "invalid field selector: invalid escape sequence: \\b",
        ),
        ("spec.color=red", "field label not supported: spec.color"),
    ] {
        assert_eq!(
            refusal(bed, "fieldSelector", selector).await,
            message,
            "{selector}"
        );
    }
    let asked = bed
        .get(bed.collection("configmaps"))
        .query("fieldSelector", "data.key=value");
    let status = asked.await.refused(400, "BadRequest");
    let why = "\"data.key\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"";
    assert_eq!(status["message"], why);
}

async fn pods_are_found_by_their_node_and_phase(bed: &Bed) {
    bed.create("pods", pod("waiting")).await;
    let mut placed = pod("placed");
    placed["spec"]["nodeName"] = "somewhere".into();
    bed.create("pods", placed).await;
    for (selector, name) in [
        ("spec.nodeName=somewhere", "placed"),
        ("spec.nodeName=", "waiting"),
        ("status.phase=Pending,spec.nodeName!=somewhere", "waiting"),
    ] {
        let list = bed
            .get(bed.collection("pods"))
            .query("fieldSelector", selector)
            .await
            .expect(200);
        assert_eq!(list["items"].as_array().map(Vec::len), Some(1), "{selector}");
        assert_eq!(list["items"][0]["metadata"]["name"], name, "{selector}");
    }
}

async fn events_are_found_by_what_they_are_about(bed: &Bed) {
    let event = json!({
        "metadata": {"name": "e"}, "reason": "Seen", "type": "Normal", "source": {"component": "eye"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": bed.namespace()},
    });
    bed.create("events", event).await;
    let count = async |selector: &str| {
        let list = bed
            .get(bed.collection("events"))
            .query("fieldSelector", selector)
            .await
            .expect(200);
        list["items"].as_array().map_or(0, Vec::len)
    };
    assert_eq!(
        count("involvedObject.kind=Pod,involvedObject.name=p,reason=Seen,source=eye").await,
        1
    );
    assert_eq!(count("involvedObject.name=q").await, 0);
}
