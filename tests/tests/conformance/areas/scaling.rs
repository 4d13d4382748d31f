//! The scale subresource.

use serde_json::json;

use crate::bed::{Bed, JSON_PATCH, MERGE_PATCH, deployment};

behaviours![
    a_scale_shows_replicas_and_selector,
    a_scale_is_replaced_and_patched,
    a_scale_that_makes_no_sense_is_refused,
];

const DEPLOYMENTS: &str = "apps/v1/deployments";

async fn a_scale_shows_replicas_and_selector(bed: &Bed) {
    let created = bed.create(DEPLOYMENTS, deployment("web")).await;
    let scale = bed.get(bed.object(DEPLOYMENTS, "web/scale")).await.expect(200);
    assert_eq!(scale["kind"], "Scale");
    assert_eq!(scale["apiVersion"], "autoscaling/v1");
    assert_eq!(scale["metadata"]["uid"], created["metadata"]["uid"]);
    assert_eq!(scale["spec"], json!({"replicas": 1}));
    assert_eq!(scale["status"], json!({"replicas": 0, "selector": "app=web"}));
}

async fn a_scale_is_replaced_and_patched(bed: &Bed) {
    bed.create(DEPLOYMENTS, deployment("web")).await;
    let path = bed.object(DEPLOYMENTS, "web/scale");
    let three = json!({"metadata": {"name": "web"}, "spec": {"replicas": 3}});
    let scale = bed.put(path.as_str(), three).await.expect(200);
    assert_eq!(scale["spec"], json!({"replicas": 3}));
    let five = json!([{"op": "replace", "path": "/spec/replicas", "value": 5}]);
    bed.patch(path.as_str(), JSON_PATCH, five).await.expect(200);
    assert_eq!(bed.read(DEPLOYMENTS, "web").await["spec"]["replicas"], 5);
    let none = json!({"spec": {"replicas": 0}});
    let scale = bed.patch(path, MERGE_PATCH, none).await.expect(200);
    assert_eq!(scale["spec"], json!({}));
    let object = bed.read(DEPLOYMENTS, "web").await;
    assert_eq!(object["spec"]["replicas"], 0);
    assert_eq!(object["metadata"]["generation"], 4);
}

async fn a_scale_that_makes_no_sense_is_refused(bed: &Bed) {
    let created = bed.create(DEPLOYMENTS, deployment("web")).await;
    let path = bed.object(DEPLOYMENTS, "web/scale");
    let less = json!({"metadata": {"name": "web"}, "spec": {"replicas": -1}});
    let status = bed.put(path.as_str(), less).await.refused(422, "Invalid");
    assert_eq!(status["details"]["causes"][0]["field"], "spec.replicas");
    bed.put(
        path.as_str(),
        json!({"metadata": {"name": "web"}, "spec": {"replicas": 2}}),
    )
    .await
    .expect(200);
    let version = &created["metadata"]["resourceVersion"];
    let late = json!({"metadata": {"name": "web", "resourceVersion": version}, "spec": {"replicas": 3}});
    bed.put(path.as_str(), late).await.refused(409, "Conflict");
    bed.put(path.as_str(), created).await.refused(400, "BadRequest");
    bed.delete(path).await.refused(405, "MethodNotAllowed");
    bed.get(bed.object(DEPLOYMENTS, "missing/scale"))
        .await
        .refused(404, "NotFound");
    bed.get(bed.object("configmaps", "kube-root-ca.crt/scale"))
        .await
        .refused(404, "NotFound");
}
