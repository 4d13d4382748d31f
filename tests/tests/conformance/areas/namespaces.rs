//! Namespaces and how they end.

use serde_json::{Value, json};

use crate::bed::{Bed, MERGE_PATCH, secret};

behaviours![
    a_deleted_namespace_takes_its_objects_along,
    a_namespace_is_born_active_and_named_by_a_label,
    a_namespace_under_deletion_takes_no_new_objects,
    a_namespace_says_what_it_waits_for,
    a_namespace_cannot_let_go_of_itself,
    a_namespace_lets_go_by_its_subresource,
    namespaces_of_the_system_cannot_be_deleted,
    the_root_certificate_of_a_namespace_comes_back,
    names_of_namespaces_have_no_dots,
];

async fn a_deleted_namespace_takes_its_objects_along(bed: &Bed) {
    bed.create("secrets", secret("a")).await;
    let path = format!("/api/v1/namespaces/{}", bed.namespace());
    bed.delete(path.as_str()).await.expect(200);
    bed.gone(&path).await;
    bed.get(bed.object("secrets", "a")).await.refused(404, "NotFound");
}

fn path(bed: &Bed) -> String {
    format!("/api/v1/namespaces/{}", bed.namespace())
}

/// A Secret that stays in its namespace when that is deleted.
async fn hold(bed: &Bed) {
    let mut held = secret("held");
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    bed.create("secrets", held).await;
}

async fn release(bed: &Bed) {
    let change = json!({"metadata": {"finalizers": null}});
    bed.patch(bed.object("secrets", "held"), MERGE_PATCH, change)
        .await
        .expect(200);
}

async fn a_namespace_is_born_active_and_named_by_a_label(bed: &Bed) {
    let namespace = bed.get(path(bed)).await.expect(200);
    assert_eq!(namespace["status"], json!({"phase": "Active"}));
    assert_eq!(namespace["spec"], json!({"finalizers": ["kubernetes"]}));
    assert_eq!(
        namespace["metadata"]["labels"]["kubernetes.io/metadata.name"],
        bed.namespace()
    );
}

async fn a_namespace_under_deletion_takes_no_new_objects(bed: &Bed) {
    hold(bed).await;
    let deleted = bed.delete(path(bed)).await.expect(200);
    assert_eq!(deleted["status"]["phase"], "Terminating");
    assert_eq!(deleted["metadata"].get("deletionGracePeriodSeconds"), None);
    let status = bed
        .post(bed.collection("secrets"), secret("late"))
        .await
        .refused(403, "Forbidden");
    let name = bed.namespace();
    let cause = json!({
        "reason": "NamespaceTerminating", "field": "metadata.namespace",
        "message": format!("namespace {name} is being terminated"),
    });
    assert_eq!(
        status["details"],
        json!({"name": "late", "kind": "secrets", "causes": [cause]})
    );
    let applied = bed
        .apply(bed.object("secrets", "late"), "tests", secret("late"))
        .await;
    applied.refused(403, "Forbidden");
    // What is there can still be changed.
    let change = json!({"metadata": {"labels": {"a": "b"}}});
    bed.patch(bed.object("secrets", "held"), MERGE_PATCH, change)
        .await
        .expect(200);
    release(bed).await;
}

async fn a_namespace_says_what_it_waits_for(bed: &Bed) {
    hold(bed).await;
    bed.delete(path(bed)).await.expect(200);
    let condition = |namespace: &Value, kind: &str| {
        let conditions = namespace["status"]["conditions"].as_array().into_iter().flatten();
        conditions
            .filter(|one| one["type"] == kind)
            .map(|one| one["message"].clone())
            .next()
    };
    bed.eventually("the conditions", async || {
        let namespace = bed.get(path(bed)).await.expect(200);
        let content = "Some resources are remaining: secrets. has 1 resource instances";
        let finalizers = "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances";
        let told = condition(&namespace, "NamespaceContentRemaining").is_some_and(|message| message == content)
            && condition(&namespace, "NamespaceFinalizersRemaining").is_some_and(|message| message == finalizers);
        if told { Ok(()) } else { Err(namespace.to_string()) }
    })
    .await;
    release(bed).await;
    bed.gone(&path(bed)).await;
}

async fn a_namespace_cannot_let_go_of_itself(bed: &Bed) {
    let change = json!({"metadata": {"name": bed.namespace()}, "spec": {"finalizers": []}});
    let namespace = bed.put(path(bed), change).await.expect(200);
    assert_eq!(namespace["spec"], json!({"finalizers": ["kubernetes"]}));
}

async fn a_namespace_lets_go_by_its_subresource(bed: &Bed) {
    let name = bed.unique("own");
    let path = format!("/api/v1/namespaces/{name}");
    let held = json!({"metadata": {"name": name}, "spec": {"finalizers": ["example.com/hold"]}});
    let held = bed.post("/api/v1/namespaces", held).await.expect(201);
    assert_eq!(
        held["spec"],
        json!({"finalizers": ["example.com/hold", "kubernetes"]})
    );
    bed.delete(path.as_str()).await.expect(200);
    bed.eventually("the controller to let go", async || {
        let namespace = bed.get(path.as_str()).await.expect(200);
        if namespace["spec"]["finalizers"] == json!(["example.com/hold"]) {
            Ok(())
        } else {
            Err(namespace.to_string())
        }
    })
    .await;
    let free = json!({"metadata": {"name": name}, "spec": {"finalizers": []}});
    bed.put(format!("{path}/finalize"), free).await.expect(200);
    bed.gone(&path).await;
    bed.get(format!("{path}/finalize"))
        .await
        .refused(405, "MethodNotAllowed");
}

async fn namespaces_of_the_system_cannot_be_deleted(bed: &Bed) {
    for name in ["default", "kube-system", "kube-public"] {
        let status = bed
            .delete(format!("/api/v1/namespaces/{name}"))
            .await
            .refused(403, "Forbidden");
        assert_eq!(status["details"], json!({"name": name, "kind": "namespaces"}));
    }
    bed.delete("/api/v1/namespaces")
        .await
        .refused(405, "MethodNotAllowed");
}

async fn the_root_certificate_of_a_namespace_comes_back(bed: &Bed) {
    let path = bed.object("configmaps", "kube-root-ca.crt");
    let first = bed.get(path.as_str()).await.expect(200);
    bed.delete(path.as_str()).await.expect(200);
    bed.eventually("another certificate", async || {
        match bed.get(path.as_str()).await {
            found if found.code() == 200 && found.json()["metadata"]["uid"] != first["metadata"]["uid"] => {
                Ok(())
            }
            other => Err(other.to_string()),
        }
    })
    .await;
}

async fn names_of_namespaces_have_no_dots(bed: &Bed) {
    let status = bed
        .post("/api/v1/namespaces", json!({"metadata": {"name": "a.b"}}))
        .await
        .refused(422, "Invalid");
    assert_eq!(
        status["details"]["causes"][0]["message"],
        "Invalid value: \"a.b\": must not contain dots"
    );
}
