//! The forms of answers: whole objects or their metadata alone, in an encoding that the caller takes.

use serde_json::json;

use crate::bed::{Bed, MERGE_PATCH, config_map, secret};

behaviours![
    a_form_of_an_unknown_version_is_not_acceptable,
    a_list_of_metadata_is_asked_for_as_a_list,
    a_patch_answers_with_metadata_alone,
    a_second_choice_is_taken_where_the_first_is_unknown,
    a_watch_of_metadata_ends_its_initial_events_with_a_bookmark,
    a_watch_tells_metadata_alone,
    metadata_alone_is_given_on_request,
    nothing_is_written_for_a_caller_that_takes_no_answer,
    pages_of_metadata_continue,
    the_metadata_is_that_of_the_object,
];

const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

async fn metadata_alone_is_given_on_request(bed: &Bed) {
    bed.create("configmaps", config_map("a")).await;
    let path = bed.object("configmaps", "a");
    let found = bed.get(path).accept(METADATA).await.expect(200);
    assert_eq!(found["kind"], "PartialObjectMetadata");
    assert_eq!(found["apiVersion"], "meta.k8s.io/v1");
    assert_eq!(found["metadata"]["name"], "a");
    assert_eq!(found.get("data"), None);
}

async fn the_metadata_is_that_of_the_object(bed: &Bed) {
    let mut labelled = config_map("a");
    labelled["metadata"]["labels"] = json!({"app": "x"});
    labelled["metadata"]["annotations"] = json!({"note": "y"});
    let created = bed.create("configmaps", labelled).await;
    let found = bed
        .get(bed.object("configmaps", "a"))
        .accept(METADATA)
        .await
        .expect(200);
    assert_eq!(found["metadata"], created["metadata"]);
}

async fn a_list_of_metadata_is_asked_for_as_a_list(bed: &Bed) {
    bed.create("secrets", secret("a")).await;
    let path = bed.collection("secrets");
    let list = bed.get(path.as_str()).accept(LIST).await.expect(200);
    assert_eq!(
        (&list["kind"], &list["apiVersion"]),
        (&"PartialObjectMetadataList".into(), &"meta.k8s.io/v1".into())
    );
    let item = &list["items"][0];
    assert_eq!(
        (&item["kind"], &item["metadata"]["name"]),
        (&"PartialObjectMetadata".into(), &"a".into())
    );
    assert_eq!(item.get("data"), None);
    bed.get(path.as_str())
        .accept(METADATA)
        .await
        .refused(406, "NotAcceptable");
    let one = bed.get(bed.object("secrets", "a")).accept(LIST).await;
    one.refused(406, "NotAcceptable");
}

async fn pages_of_metadata_continue(bed: &Bed) {
    for name in ["a", "b"] {
        bed.create("secrets", secret(name)).await;
    }
    let path = bed.collection("secrets");
    let first = bed
        .get(path.as_str())
        .query("limit", 1)
        .accept(LIST)
        .await
        .expect(200);
    let token = first["metadata"]["continue"].as_str().unwrap();
    let last = bed
        .get(path)
        .query("continue", token)
        .accept(LIST)
        .await
        .expect(200);
    assert_eq!(last["items"][0]["metadata"]["name"], "b");
}

async fn a_patch_answers_with_metadata_alone(bed: &Bed) {
    bed.create("configmaps", config_map("a")).await;
    let change = json!({"data": {"key": "new"}});
    let path = bed.object("configmaps", "a");
    let patched = bed
        .patch(path, MERGE_PATCH, change)
        .accept(METADATA)
        .await
        .expect(200);
    assert_eq!(
        (&patched["kind"], patched.get("data")),
        (&"PartialObjectMetadata".into(), None)
    );
    assert_eq!(bed.read("configmaps", "a").await["data"]["key"], "new");
}

async fn a_watch_tells_metadata_alone(bed: &Bed) {
    bed.create("secrets", secret("a")).await;
    let watch = bed
        .get(bed.collection("secrets"))
        .query("watch", 1)
        .accept(METADATA);
    let mut watch = watch.follow().await;
    let added = watch.next_of("ADDED").await;
    assert_eq!(
        (&added["kind"], &added["metadata"]["name"]),
        (&"PartialObjectMetadata".into(), &"a".into())
    );
    assert_eq!(added.get("data"), None);
    bed.delete(bed.object("secrets", "a")).await.expect(200);
    assert_eq!(watch.next_of("DELETED").await["kind"], "PartialObjectMetadata");
}

async fn a_watch_of_metadata_ends_its_initial_events_with_a_bookmark(bed: &Bed) {
    bed.create("secrets", secret("a")).await;
    let watch = bed
        .get(bed.collection("secrets"))
        .query("watch", 1)
        .accept(METADATA);
    let watch = watch
        .query("sendInitialEvents", true)
        .query("resourceVersionMatch", "NotOlderThan");
    let mut watch = watch.query("allowWatchBookmarks", true).follow().await;
    watch.next_of("ADDED").await;
    let bookmark = watch.next_of("BOOKMARK").await;
    assert_eq!(bookmark["kind"], "PartialObjectMetadata");
    assert_eq!(
        bookmark["metadata"]["annotations"]["k8s.io/initial-events-end"],
        "true"
    );
}

async fn a_form_of_an_unknown_version_is_not_acceptable(bed: &Bed) {
    bed.create("configmaps", config_map("a")).await;
    let unknown = [
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v2",
        "application/json;as=PartialObjectMetadata",
        "application/json;as=Nonsense;g=meta.k8s.io;v=v1",
        "application/*",
        "text/html",
    ];
    for accept in unknown {
        let answer = bed.get(bed.object("configmaps", "a")).accept(accept).await;
        answer.refused(406, "NotAcceptable");
    }
}

async fn a_second_choice_is_taken_where_the_first_is_unknown(bed: &Bed) {
    bed.create("configmaps", config_map("a")).await;
    let path = bed.object("configmaps", "a");
    let accept = format!("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v9,{METADATA}");
    let found = bed.get(path.as_str()).accept(&accept).await.expect(200);
    assert_eq!(found["kind"], "PartialObjectMetadata");
    let found = bed.get(path).accept("text/html, */*;q=0.1").await.expect(200);
    assert_eq!(found["kind"], "ConfigMap");
}

async fn nothing_is_written_for_a_caller_that_takes_no_answer(bed: &Bed) {
    let refused = bed
        .post(bed.collection("configmaps"), config_map("a"))
        .accept("text/html")
        .await;
    refused.refused(406, "NotAcceptable");
    bed.get(bed.object("configmaps", "a"))
        .await
        .refused(404, "NotFound");
}
