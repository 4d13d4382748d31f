//! Watches: where they start, what they tell, how they end.

use serde_json::json;

use crate::bed::{Bed, MERGE_PATCH, secret};

behaviours![
    a_watch_from_a_version_tells_what_happened_since,
    a_watch_from_nowhere_begins_with_what_is_there,
    a_watch_with_initial_events_marks_their_end,
    initial_events_come_through_the_selector,
    initial_events_can_be_declined,
    options_of_watches_that_do_not_go_together_are_refused,
    a_watch_from_a_version_that_is_no_number_fails_as_if_the_server_did,
    a_watch_ends_when_its_time_is_up,
    a_bookmark_comes_shortly_before_the_end,
    a_watch_from_nowhere_marks_the_end_of_what_is_there_as_well,
    initial_events_of_the_future_are_a_timeout_inside_the_stream,
    an_object_that_comes_to_match_is_added_and_one_that_ceases_to_is_deleted,
    a_deletion_is_told_with_the_version_of_the_deletion,
    a_watch_of_metadata_tells_metadata_alone,
    a_watch_can_be_asked_for_in_the_path,
    every_other_word_than_no_asks_for_a_watch,
];

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

const STREAMING: &str =
    "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

async fn a_watch_from_nowhere_begins_with_what_is_there(bed: &Bed) {
    bed.create("secrets", secret("a")).await;
    bed.create("secrets", secret("b")).await;
    let mut watch = bed
        .get(bed.collection("secrets"))
        .query("watch", 1)
        .follow()
        .await;
    assert_eq!(watch.next_names(2).await, ["ADDED a", "ADDED b"]);
    bed.create("secrets", secret("c")).await;
    assert_eq!(watch.next_names(1).await, ["ADDED c"]);
}

async fn a_watch_with_initial_events_marks_their_end(bed: &Bed) {
    let created = bed.create("secrets", secret("a")).await;
    let mut watch = bed
        .get(format!("{}?{STREAMING}", bed.collection("secrets")))
        .follow()
        .await;
    assert_eq!(watch.next_names(1).await, ["ADDED a"]);
    let mark = watch.next_of("BOOKMARK").await;
    assert_eq!(mark["kind"], "Secret");
    assert_eq!(
        mark["metadata"]["annotations"],
        json!({"k8s.io/initial-events-end": "true"})
    );
    let version =
        |value: &serde_json::Value| value["metadata"]["resourceVersion"].as_str()?.parse::<u64>().ok();
    assert!(version(&mark) >= version(&created));
    bed.delete(bed.object("secrets", "a")).await.expect(200);
    assert_eq!(watch.next_names(1).await, ["DELETED a"]);
}

async fn initial_events_come_through_the_selector(bed: &Bed) {
    bed.create("secrets", secret("a")).await;
    bed.create("secrets", secret("b")).await;
    let path = format!("{}?{STREAMING}", bed.collection("secrets"));
    let mut watch = bed
        .get(path)
        .query("fieldSelector", "metadata.name=b")
        .follow()
        .await;
    assert_eq!(watch.next_names(1).await, ["ADDED b"]);
    watch.next_of("BOOKMARK").await;
}

async fn initial_events_can_be_declined(bed: &Bed) {
    bed.create("secrets", secret("a")).await;
    let path = format!(
        "{}?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan",
        bed.collection("secrets")
    );
    let mut watch = bed.get(path).follow().await;
    watch.nothing().await;
    bed.create("secrets", secret("b")).await;
    assert_eq!(watch.next_names(1).await, ["ADDED b"]);
}

async fn options_of_watches_that_do_not_go_together_are_refused(bed: &Bed) {
    let path = bed.collection("secrets");
    for (query, why) in [
        (
            "sendInitialEvents=true",
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        ),
        (
            "resourceVersionMatch=NotOlderThan",
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        ),
        (
            "continue=abc",
            "resourceVersionMatch is forbidden when continue is provided",
        ),
    ] {
        let status = bed
            .get(format!("{path}?watch=1&{query}"))
            .await
            .refused(422, "Invalid");
        assert_eq!(
            status["details"]["causes"][0]["message"],
            format!("Forbidden: {why}"),
            "{query}"
        );
    }
}

async fn a_watch_from_a_version_that_is_no_number_fails_as_if_the_server_did(bed: &Bed) {
    let asked = bed
        .get(bed.collection("secrets"))
        .query("watch", 1)
        .query("resourceVersion", "abc");
    asked.await.refused(500, "");
}

async fn a_watch_ends_when_its_time_is_up(bed: &Bed) {
    bed.create("secrets", secret("a")).await;
    let mut watch = bed
        .get(bed.collection("secrets"))
        .query("watch", 1)
        .query("timeoutSeconds", 1)
        .follow()
        .await;
    let events = watch.until_end().await;
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["type"], "ADDED");
}

async fn a_bookmark_comes_shortly_before_the_end(bed: &Bed) {
    let created = bed.create("secrets", secret("a")).await;
    let version = created["metadata"]["resourceVersion"].as_str().unwrap();
    let watch = bed
        .get(bed.collection("secrets"))
        .query("watch", 1)
        .query("timeoutSeconds", 5)
        .query("allowWatchBookmarks", true)
        .query("resourceVersion", version);
    let mut watch = watch.follow().await;
    let second = bed.create("secrets", secret("b")).await;
    let events = watch.until_end().await;
    // A real server looks once a second, and may find a watch due twice.
    let (first, marks) = events.split_first().unwrap();
    assert_eq!(first["type"], "ADDED");
    assert!(marks.iter().all(|event| event["type"] == "BOOKMARK"), "{marks:?}");
    let mark = &marks.last().unwrap()["object"];
    assert_eq!(mark["kind"], "Secret");
    let number = |object: &serde_json::Value| {
        object["metadata"]["resourceVersion"]
            .as_str()?
            .parse::<u64>()
            .ok()
    };
    assert!(number(mark) >= number(&second));
}

async fn a_watch_from_nowhere_marks_the_end_of_what_is_there_as_well(bed: &Bed) {
    bed.create("secrets", secret("a")).await;
    for version in ["", "0"] {
        let watch = bed
            .get(bed.collection("secrets"))
            .query("watch", 1)
            .query("allowWatchBookmarks", true)
            .query("resourceVersion", version);
        let mut watch = watch.follow().await;
        assert_eq!(watch.next_names(1).await, ["ADDED a"]);
        let mark = watch.next_of("BOOKMARK").await;
        assert_eq!(
            mark["metadata"]["annotations"],
            json!({"k8s.io/initial-events-end": "true"})
        );
    }
}

async fn initial_events_of_the_future_are_a_timeout_inside_the_stream(bed: &Bed) {
    let path = format!(
        "{}?{STREAMING}&resourceVersion=99999999999",
        bed.collection("secrets")
    );
    let status = bed.get(path).follow().await.next_of("ERROR").await;
    assert_eq!(status["code"], 504);
    assert_eq!(status["reason"], "Timeout");
    assert_eq!(
        status["details"]["causes"][0]["reason"],
        "ResourceVersionTooLarge"
    );
}

async fn an_object_that_comes_to_match_is_added_and_one_that_ceases_to_is_deleted(bed: &Bed) {
    let created = bed.create("secrets", secret("a")).await;
    let version = created["metadata"]["resourceVersion"].as_str().unwrap();
    let watch = bed
        .get(bed.collection("secrets"))
        .query("watch", 1)
        .query("labelSelector", "on=yes");
    let mut watch = watch.query("resourceVersion", version).follow().await;
    let path = bed.object("secrets", "a");
    for (labels, data) in [("yes", "MQ=="), ("yes", "Mg=="), ("no", "Mw=="), ("yes", "NA==")] {
        let change = json!({"metadata": {"labels": {"on": labels}}, "data": {"key": data}});
        bed.patch(path.as_str(), MERGE_PATCH, change).await.expect(200);
    }
    bed.delete(path).await.expect(200);
    assert_eq!(watch.next_of("ADDED").await["data"]["key"], "MQ==");
    assert_eq!(watch.next_of("MODIFIED").await["data"]["key"], "Mg==");
    // What is shown as deleted is what matched last.
    assert_eq!(watch.next_of("DELETED").await["data"]["key"], "Mg==");
    assert_eq!(watch.next_of("ADDED").await["data"]["key"], "NA==");
    assert_eq!(watch.next_of("DELETED").await["data"]["key"], "NA==");
}

async fn a_deletion_is_told_with_the_version_of_the_deletion(bed: &Bed) {
    let created = bed.create("secrets", secret("a")).await;
    let version = created["metadata"]["resourceVersion"].as_str().unwrap();
    let watch = bed
        .get(bed.collection("secrets"))
        .query("watch", 1)
        .query("resourceVersion", version);
    let mut watch = watch.follow().await;
    bed.delete(bed.object("secrets", "a")).await.expect(200);
    let last = watch.next_of("DELETED").await;
    let number = |text: &str| text.parse::<u64>().unwrap();
    assert!(number(last["metadata"]["resourceVersion"].as_str().unwrap()) > number(version));
    assert_eq!(last["data"], created["data"]);
}

async fn a_watch_of_metadata_tells_metadata_alone(bed: &Bed) {
    bed.create("secrets", secret("a")).await;
    let watch = bed.get(bed.collection("secrets")).query("watch", 1);
    let watch = watch.accept("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
    let object = watch.follow().await.next_of("ADDED").await;
    assert_eq!(object["kind"], "PartialObjectMetadata");
    assert_eq!(object["metadata"]["name"], "a");
    assert_eq!(object.get("data"), None);
}

async fn a_watch_can_be_asked_for_in_the_path(bed: &Bed) {
    bed.create("secrets", secret("a")).await;
    bed.create("secrets", secret("b")).await;
    let path = format!("/api/v1/watch/namespaces/{}/secrets", bed.namespace());
    assert_eq!(
        bed.get(path.as_str()).follow().await.next_names(2).await,
        ["ADDED a", "ADDED b"]
    );
    assert_eq!(
        bed.get(format!("{path}/b")).follow().await.next_names(1).await,
        ["ADDED b"]
    );
}

async fn every_other_word_than_no_asks_for_a_watch(bed: &Bed) {
    bed.create("secrets", secret("a")).await;
    let path = bed.collection("secrets");
    for word in ["true", "yes", ""] {
        assert_eq!(
            bed.get(format!("{path}?watch={word}"))
                .follow()
                .await
                .next_names(1)
                .await,
            ["ADDED a"]
        );
    }
    for word in ["false", "0"] {
        assert_eq!(
            bed.get(format!("{path}?watch={word}")).await.expect(200)["kind"],
            "SecretList"
        );
    }
}
