//! Refusals of what is malformed, too large or not there at all.

use serde_json::json;

use crate::bed::{Bed, config_map};

behaviours![
    an_object_that_is_not_there_is_named_in_the_refusal,
    bodies_that_are_no_objects_are_refused,
    the_type_of_a_body_fits_its_path,
    fields_of_another_type_are_refused,
    the_place_of_an_object_fits_its_path,
    a_namespace_that_does_not_exist_takes_no_objects,
    a_body_that_is_too_large_is_refused,
    bodies_of_unknown_types_are_refused,
    answers_that_cannot_be_given_are_refused,
    paths_outside_of_every_group_are_no_statuses,
    paths_inside_of_a_group_are_refused_by_a_status,
    methods_that_a_path_does_not_know_are_refused,
];

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

async fn bodies_that_are_no_objects_are_refused(bed: &Bed) {
    for body in ["", "[]", "{\"a\":", "\"text\"", "17"] {
        let asked = bed.post(bed.collection("configmaps"), json!({})).body(body);
        asked.await.refused(400, "BadRequest");
    }
}

async fn the_type_of_a_body_fits_its_path(bed: &Bed) {
    for (api_version, kind) in [("v1", "Secret"), ("v2", "ConfigMap"), ("apps/v1", "ConfigMap")] {
        let object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}});
        let status = bed
            .post(bed.collection("configmaps"), object)
            .await
            .refused(400, "BadRequest");
        let message = status["message"].as_str().unwrap();
        assert!(message.contains("cannot be handled as a ConfigMap"), "{message}");
    }
    bed.create("configmaps", json!({"metadata": {"name": "untyped"}}))
        .await;
}

async fn fields_of_another_type_are_refused(bed: &Bed) {
    for odd in [
        json!({"metadata": {"name": 1}}),
        json!({"metadata": {"name": "a", "labels": {"a": 1}}}),
        json!({"metadata": {"name": "a", "labels": ["a"]}}),
        json!({"metadata": {"name": "a", "finalizers": [1]}}),
        json!({"metadata": {"name": "a", "ownerReferences": ["a"]}}),
        json!({"metadata": {"name": "a"}, "data": {"a": 1}}),
    ] {
        let status = bed
            .post(bed.collection("configmaps"), odd)
            .await
            .refused(400, "BadRequest");
        let message = status["message"].as_str().unwrap();
        assert!(
            message.starts_with("ConfigMap in version \"v1\" cannot be handled as a ConfigMap: "),
            "{message}"
        );
    }
    let odd = json!({"metadata": {"name": "a"}, "data": {"a": "!!"}});
    bed.post(bed.collection("secrets"), odd)
        .await
        .refused(400, "BadRequest");
}

async fn the_place_of_an_object_fits_its_path(bed: &Bed) {
    let mut object = config_map("a");
    object["metadata"]["namespace"] = "elsewhere".into();
    let status = bed
        .post(bed.collection("configmaps"), object.clone())
        .await
        .refused(400, "BadRequest");
    let why = "the namespace of the provided object does not match the namespace sent on the request";
    assert_eq!(status["message"], why);
    bed.create("configmaps", config_map("a")).await;
    let status = bed
        .put(bed.object("configmaps", "a"), config_map("b"))
        .await
        .refused(400, "BadRequest");
    assert_eq!(
        status["message"],
        "the name of the object (b) does not match the name on the URL (a)"
    );
}

async fn a_namespace_that_does_not_exist_takes_no_objects(bed: &Bed) {
    let status = bed
        .post("/api/v1/namespaces/nowhere/configmaps", config_map("a"))
        .await
        .refused(404, "NotFound");
    assert_eq!(status["message"], "namespaces \"nowhere\" not found");
    assert_eq!(
        status["details"],
        json!({"name": "nowhere", "kind": "namespaces"})
    );
}

async fn a_body_that_is_too_large_is_refused(bed: &Bed) {
    let mut object = config_map("a");
    object["data"]["key"] = "x".repeat(3 << 20).into();
    bed.post(bed.collection("configmaps"), object)
        .await
        .refused(413, "RequestEntityTooLarge");
    let mut object = config_map("a");
    object["data"]["key"] = "x".repeat((1 << 20) + 1).into();
    let status = bed
        .post(bed.collection("configmaps"), object)
        .await
        .refused(422, "Invalid");
    assert_eq!(status["details"]["causes"][0]["reason"], "FieldValueTooLong");
}

async fn bodies_of_unknown_types_are_refused(bed: &Bed) {
    let asked = bed
        .post(bed.collection("configmaps"), config_map("a"))
        .header(http::header::CONTENT_TYPE, "text/plain");
    asked.await.refused(415, "UnsupportedMediaType");
    bed.create("configmaps", config_map("a")).await;
    let asked = bed.patch(bed.object("configmaps", "a"), "application/json", json!({}));
    asked.await.refused(415, "UnsupportedMediaType");
}

async fn answers_that_cannot_be_given_are_refused(bed: &Bed) {
    let asked = bed.get(bed.collection("configmaps")).accept("text/html");
    asked.await.refused(406, "NotAcceptable");
    bed.get(bed.collection("configmaps"))
        .accept("text/html, */*")
        .await
        .expect(200);
}

async fn paths_outside_of_every_group_are_no_statuses(bed: &Bed) {
    for path in ["/nowhere", "/apis/example.com/v1/things", "/apis/example.com"] {
        let answer = bed.get(path).await;
        assert_eq!(
            (answer.code(), answer.text()),
            (404, "404 page not found\n"),
            "{path}"
        );
    }
}

async fn paths_inside_of_a_group_are_refused_by_a_status(bed: &Bed) {
    for path in ["/api/v1/things", "/api/v2/pods", "/apis/apps/v1/things"] {
        let status = bed.get(path).await.refused(404, "NotFound");
        assert_eq!(
            status["message"], "the server could not find the requested resource",
            "{path}"
        );
        assert_eq!(status["details"], json!({}));
    }
    bed.get(bed.object("configmaps", "kube-root-ca.crt/thing"))
        .await
        .refused(404, "NotFound");
}

async fn methods_that_a_path_does_not_know_are_refused(bed: &Bed) {
    let (one, all) = (bed.object("configmaps", "a"), bed.collection("configmaps"));
    bed.post(one.as_str(), config_map("a"))
        .await
        .refused(405, "MethodNotAllowed");
    bed.put(all.as_str(), config_map("a"))
        .await
        .refused(405, "MethodNotAllowed");
    bed.patch(all.as_str(), crate::bed::MERGE_PATCH, json!({}))
        .await
        .refused(405, "MethodNotAllowed");
    bed.post("/api/v1/configmaps", config_map("a"))
        .await
        .refused(405, "MethodNotAllowed");
    bed.delete("/api/v1/configmaps")
        .await
        .refused(405, "MethodNotAllowed");
    bed.ask(http::Method::OPTIONS, all)
        .await
        .refused(405, "MethodNotAllowed");
}
