//! Lists: their versions, their pages.

use serde_json::{Value, json};

use crate::bed::{Bed, config_map, secret};

behaviours![
    a_list_says_the_version_it_was_read_at,
    a_list_with_a_limit_continues_where_it_stopped,
    pages_show_the_moment_of_the_first_one,
    a_page_of_a_selector_may_promise_more_than_there_is,
    the_last_page_has_no_token,
    a_list_at_version_zero_takes_no_notice_of_a_limit,
    a_list_of_exactly_a_version_shows_the_past,
    a_version_with_a_limit_means_exactly_that_version,
    a_list_not_older_than_a_version_shows_the_present,
    a_version_of_the_future_is_a_timeout,
    a_version_that_is_no_number_is_refused,
    options_of_lists_that_do_not_go_together_are_named_one_by_one,
    a_token_that_is_none_is_refused,
    a_token_and_a_version_do_not_go_together,
    a_limit_that_is_no_number_is_refused,
    a_namespace_that_does_not_exist_has_an_empty_list,
    a_read_at_a_version_of_the_future_is_a_timeout,
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

/// The names in a list.
fn names(list: &Value) -> Vec<&str> {
    let items = list["items"].as_array().into_iter().flatten();
    items
        .filter_map(|item| item["metadata"]["name"].as_str())
        .collect()
}

fn version(value: &Value) -> &str {
    value["metadata"]["resourceVersion"].as_str().unwrap()
}

/// Creates Secrets of these names.
async fn fill(bed: &Bed, names: &[&str]) {
    for name in names {
        bed.create("secrets", secret(name)).await;
    }
}

async fn pages_show_the_moment_of_the_first_one(bed: &Bed) {
    fill(bed, &["a", "b", "c"]).await;
    let path = bed.collection("secrets");
    let first = bed.get(path.as_str()).query("limit", 1).await.expect(200);
    bed.delete(bed.object("secrets", "b")).await.expect(200);
    fill(bed, &["d"]).await;
    let token = first["metadata"]["continue"].as_str().unwrap();
    let rest = bed.get(path).query("continue", token).await.expect(200);
    assert_eq!(names(&rest), ["b", "c"]);
}

async fn a_page_of_a_selector_may_promise_more_than_there_is(bed: &Bed) {
    fill(bed, &["a", "b", "c"]).await;
    let path = bed.collection("secrets");
    let first = bed
        .get(path.as_str())
        .query("limit", 1)
        .query("fieldSelector", "metadata.name!=x");
    let first = first.await.expect(200);
    assert_eq!(first["metadata"].get("remainingItemCount"), None);
    let selected = bed
        .get(path.as_str())
        .query("limit", 1)
        .query("fieldSelector", "type=Opaque")
        .await
        .expect(200);
    assert_eq!(names(&selected), ["a"]);
    assert!(selected["metadata"]["continue"].is_string());
}

async fn the_last_page_has_no_token(bed: &Bed) {
    fill(bed, &["a", "b"]).await;
    let list = bed
        .get(bed.collection("secrets"))
        .query("limit", 2)
        .await
        .expect(200);
    assert_eq!(names(&list), ["a", "b"]);
    assert_eq!(list["metadata"].get("continue"), None);
    assert_eq!(list["metadata"].get("remainingItemCount"), None);
}

async fn a_list_at_version_zero_takes_no_notice_of_a_limit(bed: &Bed) {
    fill(bed, &["a", "b", "c"]).await;
    let path = bed.collection("secrets");
    // It is answered from memory, which may be behind.
    bed.eventually("all three", async || {
        let list = bed
            .get(path.as_str())
            .query("limit", 1)
            .query("resourceVersion", 0)
            .await
            .expect(200);
        if names(&list) == ["a", "b", "c"] && list["metadata"].get("continue").is_none() {
            Ok(())
        } else {
            Err(list.to_string())
        }
    })
    .await;
}

async fn a_list_of_exactly_a_version_shows_the_past(bed: &Bed) {
    fill(bed, &["a"]).await;
    let path = bed.collection("secrets");
    let before = bed.get(path.as_str()).await.expect(200);
    fill(bed, &["b"]).await;
    let exact = bed.get(path.as_str()).query("resourceVersion", version(&before));
    let exact = exact.query("resourceVersionMatch", "Exact").await.expect(200);
    assert_eq!(names(&exact), ["a"]);
    assert_eq!(version(&exact), version(&before));
}

async fn a_version_with_a_limit_means_exactly_that_version(bed: &Bed) {
    fill(bed, &["a"]).await;
    let path = bed.collection("secrets");
    let before = bed.get(path.as_str()).await.expect(200);
    fill(bed, &["b"]).await;
    let list = bed
        .get(path)
        .query("limit", 5)
        .query("resourceVersion", version(&before))
        .await
        .expect(200);
    assert_eq!(names(&list), ["a"]);
}

async fn a_list_not_older_than_a_version_shows_the_present(bed: &Bed) {
    fill(bed, &["a"]).await;
    let path = bed.collection("secrets");
    let before = bed.get(path.as_str()).await.expect(200);
    let second = bed.create("secrets", secret("b")).await;
    let list = bed.get(path.as_str()).query("resourceVersion", version(&second));
    let list = list
        .query("resourceVersionMatch", "NotOlderThan")
        .await
        .expect(200);
    assert_eq!(names(&list), ["a", "b"]);
    assert_ne!(version(&list), version(&before));
}

async fn a_version_of_the_future_is_a_timeout(bed: &Bed) {
    let asked = bed
        .get(bed.collection("secrets"))
        .query("resourceVersion", 99_999_999_999_u64);
    let status = asked.await.refused(504, "Timeout");
    assert_eq!(
        status["details"]["causes"][0]["reason"],
        "ResourceVersionTooLarge"
    );
    assert_eq!(status["details"]["retryAfterSeconds"], 1);
}

async fn a_version_that_is_no_number_is_refused(bed: &Bed) {
    let asked = bed.get(bed.collection("secrets")).query("resourceVersion", "abc");
    let status = asked.await.refused(400, "BadRequest");
    let expected = "invalid resource version: resourceVersion: Invalid value: \"abc\": strconv.ParseUint: parsing \
                    \"abc\": invalid syntax";
    assert_eq!(status["message"], expected);
}

async fn options_of_lists_that_do_not_go_together_are_named_one_by_one(bed: &Bed) {
    let path = bed.collection("secrets");
    let wrong = [
        (
            "resourceVersionMatch=Exact",
            "resourceVersionMatch is forbidden unless resourceVersion is provided",
        ),
        (
            "resourceVersionMatch=Exact&resourceVersion=0",
            "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
        ),
        (
            "sendInitialEvents=true",
            "sendInitialEvents is forbidden for list",
        ),
        (
            "continue=abc&resourceVersion=1&resourceVersionMatch=NotOlderThan",
            "resourceVersionMatch is forbidden when continue is provided",
        ),
    ];
    for (query, why) in wrong {
        let status = bed.get(format!("{path}?{query}")).await.refused(422, "Invalid");
        assert_eq!(status["details"]["group"], "meta.k8s.io");
        assert_eq!(status["details"]["kind"], "ListOptions");
        assert_eq!(
            status["details"]["causes"][0]["message"],
            format!("Forbidden: {why}"),
            "{query}"
        );
        assert_eq!(status["details"]["causes"][0]["reason"], "FieldValueForbidden");
    }
    let status = bed
        .get(format!("{path}?resourceVersionMatch=New&resourceVersion=1"))
        .await
        .refused(422, "Invalid");
    let why = "Unsupported value: \"New\": supported values: \"Exact\", \"NotOlderThan\", \"\"";
    assert_eq!(status["details"]["causes"][0]["message"], why);
}

async fn a_token_that_is_none_is_refused(bed: &Bed) {
    let status = bed
        .get(bed.collection("secrets"))
        .query("continue", "abc")
        .await
        .refused(400, "BadRequest");
    let message = status["message"].as_str().unwrap();
    assert!(
        message.starts_with("invalid continue token: continue key is not valid"),
        "{message}"
    );
}

async fn a_token_and_a_version_do_not_go_together(bed: &Bed) {
    fill(bed, &["a", "b"]).await;
    let path = bed.collection("secrets");
    let first = bed.get(path.as_str()).query("limit", 1).await.expect(200);
    let token = first["metadata"]["continue"].as_str().unwrap();
    let asked = bed
        .get(path)
        .query("continue", token)
        .query("resourceVersion", version(&first));
    let status = asked.await.refused(400, "BadRequest");
    assert_eq!(
        status["message"],
        "specifying resource version is not allowed when using continue"
    );
}

async fn a_limit_that_is_no_number_is_refused(bed: &Bed) {
    let status = bed
        .get(bed.collection("secrets"))
        .query("limit", "abc")
        .await
        .refused(400, "BadRequest");
    assert_eq!(
        status["message"],
        "strconv.ParseInt: parsing \"abc\": invalid syntax"
    );
}

async fn a_namespace_that_does_not_exist_has_an_empty_list(bed: &Bed) {
    let list = bed.get("/api/v1/namespaces/nowhere/secrets").await.expect(200);
    assert_eq!(list["items"], json!([]));
}

async fn a_read_at_a_version_of_the_future_is_a_timeout(bed: &Bed) {
    fill(bed, &["a"]).await;
    let path = bed.object("secrets", "a");
    bed.get(path.as_str())
        .query("resourceVersion", 99_999_999_999_u64)
        .await
        .refused(504, "Timeout");
    bed.get(path)
        .query("resourceVersion", "abc")
        .await
        .refused(500, "");
}
