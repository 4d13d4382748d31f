//! Tokens and permissions.

use http::Method;
use serde_json::{Value, json};

use crate::bed::{Answer, Bed};

behaviours![
    a_token_that_nobody_has_is_unauthorized,
    a_token_that_nobody_has_does_not_even_see_health,
    whoever_has_no_token_is_anonymous,
    the_anonymous_see_health_and_version_but_no_discovery,
    a_user_without_roles_sees_discovery_and_nothing_else,
    a_refusal_names_what_is_refused,
    a_refusal_names_the_object_and_the_subresource,
    a_refusal_across_namespaces_speaks_of_the_cluster,
    whoever_may_not_see_an_object_does_not_learn_whether_it_exists,
    a_path_about_no_resource_is_refused_by_its_path,
    a_namespace_lies_within_itself,
    a_role_allows_what_it_says_and_nothing_else,
    a_role_can_name_objects,
    a_role_for_a_resource_does_not_comprise_its_subresources,
    a_role_can_be_bound_to_a_group,
    a_cluster_role_bound_in_a_namespace_holds_there_only,
    a_binding_without_its_role_is_told,
    a_permission_that_is_taken_away_is_gone,
    a_review_says_what_a_request_would_be_answered,
    a_review_can_be_about_a_path,
    a_review_about_nothing_is_invalid,
    the_anonymous_may_not_ask_for_reviews,
    a_user_can_ask_who_it_is,
    a_user_can_ask_for_all_its_rules,
    rules_are_asked_for_in_a_namespace,
    an_administrator_can_ask_what_another_may_do,
];

const RBAC: &str = "rbac.authorization.k8s.io";
const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
const RULES: &str = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";

/// Makes a role in the namespace.
async fn role(bed: &Bed, name: &str, rules: Value) {
    let resource = format!("{RBAC}/v1/roles");
    bed.create(&resource, json!({"metadata": {"name": name}, "rules": rules}))
        .await;
}

/// Binds a role or a cluster role in the namespace.
async fn bind(bed: &Bed, kind: &str, name: &str, subject: (&str, &str)) {
    let binding = json!({
        "metadata": {"name": name},
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": name},
        "subjects": [{"apiGroup": RBAC, "kind": subject.0, "name": subject.1}],
    });
    bed.create(&format!("{RBAC}/v1/rolebindings"), binding).await;
}

const LIMITED: (&str, &str) = ("User", "limited");

fn read_config_maps() -> Value {
    json!([{"verbs": ["get", "list"], "apiGroups": [""], "resources": ["configmaps"]}])
}

async fn list(bed: &Bed, plural: &str) -> Answer {
    bed.get(bed.collection(plural)).by_limited().await
}

/// Waits until the user `limited` may read a path: a real server learns of roles a moment later.
async fn allowed(bed: &Bed, path: String) {
    bed.eventually("the role to be known", async || {
        match bed.get(path.clone()).by_limited().await {
            answer if matches!(answer.code(), 200 | 404) => Ok(()),
            answer => Err(answer.to_string()),
        }
    })
    .await;
}

fn refusal(bed: &Bed, verb: &str, plural: &str) -> String {
    format!(
        "{plural} is forbidden: User \"limited\" cannot {verb} resource \"{plural}\" in API group \"\" in the \
         namespace \"{}\"",
        bed.namespace()
    )
}

async fn a_token_that_nobody_has_is_unauthorized(bed: &Bed) {
    let refused = bed.get(bed.collection("configmaps")).token("nobody's").await;
    let status = refused.refused(401, "Unauthorized");
    assert_eq!(status["message"], "Unauthorized");
    assert!(status["details"].is_null());
}

async fn a_token_that_nobody_has_does_not_even_see_health(bed: &Bed) {
    for path in ["/readyz", "/version", "/api"] {
        bed.get(path).token("nobody's").await.refused(401, "Unauthorized");
    }
}

async fn whoever_has_no_token_is_anonymous(bed: &Bed) {
    let refused = bed.get(bed.collection("configmaps")).anonymously().await;
    let status = refused.refused(403, "Forbidden");
    let message = refusal(bed, "list", "configmaps").replace("limited", "system:anonymous");
    assert_eq!(status["message"], message);
}

async fn the_anonymous_see_health_and_version_but_no_discovery(bed: &Bed) {
    for path in ["/healthz", "/livez", "/readyz", "/version"] {
        assert_eq!(bed.get(path).anonymously().await.code(), 200, "{path}");
    }
    for path in ["/api", "/apis", "/openapi/v2"] {
        bed.get(path).anonymously().await.refused(403, "Forbidden");
    }
}

async fn a_user_without_roles_sees_discovery_and_nothing_else(bed: &Bed) {
    for path in ["/api", "/api/v1", "/apis", "/apis/apps/v1", "/version", "/readyz"] {
        assert_eq!(bed.get(path).by_limited().await.code(), 200, "{path}");
    }
    for path in ["/api/v1/namespaces", "/apis/apps/v1/deployments", "/metrics"] {
        bed.get(path).by_limited().await.refused(403, "Forbidden");
    }
}

async fn a_refusal_names_what_is_refused(bed: &Bed) {
    let path = bed.collection("configmaps");
    let refused = list(bed, "configmaps").await.refused(403, "Forbidden");
    assert_eq!(refused["message"], refusal(bed, "list", "configmaps"));
    assert_eq!(refused["details"], json!({"kind": "configmaps"}));
    let watched = bed.get(path.clone()).query("watch", true).by_limited().await;
    assert_eq!(
        watched.refused(403, "Forbidden")["message"],
        refusal(bed, "watch", "configmaps")
    );
    let created = bed
        .post(path.clone(), json!({"metadata": {"name": "a"}}))
        .by_limited()
        .await;
    assert_eq!(
        created.refused(403, "Forbidden")["message"],
        refusal(bed, "create", "configmaps")
    );
    let deleted = bed.delete(path).by_limited().await;
    assert_eq!(
        deleted.refused(403, "Forbidden")["message"],
        refusal(bed, "deletecollection", "configmaps")
    );
}

async fn a_refusal_names_the_object_and_the_subresource(bed: &Bed) {
    let path = bed.object("apps/v1/deployments", "web/status");
    let refused = bed
        .put(path, json!({}))
        .by_limited()
        .await
        .refused(403, "Forbidden");
    let message = format!(
        "deployments.apps \"web\" is forbidden: User \"limited\" cannot update resource \"deployments/status\" in API \
         group \"apps\" in the namespace \"{}\"",
        bed.namespace()
    );
    assert_eq!(refused["message"], message);
    assert_eq!(
        refused["details"],
        json!({"name": "web", "group": "apps", "kind": "deployments"})
    );
}

async fn a_refusal_across_namespaces_speaks_of_the_cluster(bed: &Bed) {
    let refused = bed
        .get("/api/v1/configmaps")
        .by_limited()
        .await
        .refused(403, "Forbidden");
    assert_eq!(
        refused["message"],
        "configmaps is forbidden: User \"limited\" cannot list resource \"configmaps\" in API group \"\" at the \
         cluster scope"
    );
}

async fn whoever_may_not_see_an_object_does_not_learn_whether_it_exists(bed: &Bed) {
    for name in ["kube-root-ca.crt", "absent"] {
        let refused = bed.get(bed.object("configmaps", name)).by_limited().await;
        let status = refused.refused(403, "Forbidden");
        assert_eq!(status["details"], json!({"name": name, "kind": "configmaps"}));
    }
    // What is not served at all is refused like what is.
    let unknown = bed
        .get(bed.collection("no.such.group/v1/things"))
        .by_limited()
        .await;
    unknown.refused(403, "Forbidden");
}

async fn a_path_about_no_resource_is_refused_by_its_path(bed: &Bed) {
    let refused = bed.get("/metrics").by_limited().await.refused(403, "Forbidden");
    assert_eq!(
        refused["message"],
        "forbidden: User \"limited\" cannot get path \"/metrics\""
    );
    assert_eq!(refused["details"], json!({}));
    let posted = bed
        .post("/version", json!({}))
        .by_limited()
        .await
        .refused(403, "Forbidden");
    assert_eq!(
        posted["message"],
        "forbidden: User \"limited\" cannot post path \"/version\""
    );
}

async fn a_namespace_lies_within_itself(bed: &Bed) {
    let namespace = bed.namespace();
    let path = format!("/api/v1/namespaces/{namespace}");
    let refused = bed.get(path.clone()).by_limited().await.refused(403, "Forbidden");
    let message = format!(
        "namespaces \"{namespace}\" is forbidden: User \"limited\" cannot get resource \"namespaces\" in API group \"\" \
         in the namespace \"{namespace}\""
    );
    assert_eq!(refused["message"], message);
    role(
        bed,
        "own",
        json!([{"verbs": ["get"], "apiGroups": [""], "resources": ["namespaces"]}]),
    )
    .await;
    bind(bed, "Role", "own", LIMITED).await;
    allowed(bed, path).await;
}

async fn a_role_allows_what_it_says_and_nothing_else(bed: &Bed) {
    role(bed, "reader", read_config_maps()).await;
    bind(bed, "Role", "reader", LIMITED).await;
    let path = bed.collection("configmaps");
    allowed(bed, path.clone()).await;
    let found = bed
        .get(bed.object("configmaps", "kube-root-ca.crt"))
        .by_limited()
        .await;
    assert_eq!(found.code(), 200);
    bed.get(path.clone())
        .query("watch", true)
        .by_limited()
        .await
        .refused(403, "Forbidden");
    bed.delete(path).by_limited().await.refused(403, "Forbidden");
    list(bed, "secrets").await.refused(403, "Forbidden");
    bed.get("/api/v1/configmaps")
        .by_limited()
        .await
        .refused(403, "Forbidden");
}

async fn a_role_can_name_objects(bed: &Bed) {
    let rule = json!({"verbs": ["get", "list", "delete"], "apiGroups": [""], "resources": ["configmaps"],
        "resourceNames": ["one"]});
    role(bed, "one", json!([rule])).await;
    bind(bed, "Role", "one", LIMITED).await;
    allowed(bed, bed.object("configmaps", "one")).await;
    bed.get(bed.object("configmaps", "two"))
        .by_limited()
        .await
        .refused(403, "Forbidden");
    list(bed, "configmaps").await.refused(403, "Forbidden");
    let selected = bed
        .get(bed.collection("configmaps"))
        .query("fieldSelector", "metadata.name=one");
    assert_eq!(selected.by_limited().await.code(), 200);
}

async fn a_role_for_a_resource_does_not_comprise_its_subresources(bed: &Bed) {
    let rule =
        json!({"verbs": ["get"], "apiGroups": ["apps"], "resources": ["deployments", "statefulsets/status"]});
    role(bed, "deployments", json!([rule])).await;
    bind(bed, "Role", "deployments", LIMITED).await;
    allowed(bed, bed.object("apps/v1/deployments", "web")).await;
    let status = bed
        .get(bed.object("apps/v1/deployments", "web/status"))
        .by_limited()
        .await;
    status.refused(403, "Forbidden");
    let status = bed
        .get(bed.object("apps/v1/statefulsets", "web/status"))
        .by_limited()
        .await;
    status.refused(404, "NotFound");
    let whole = bed
        .get(bed.object("apps/v1/statefulsets", "web"))
        .by_limited()
        .await;
    whole.refused(403, "Forbidden");
}

async fn a_role_can_be_bound_to_a_group(bed: &Bed) {
    role(bed, "reader", read_config_maps()).await;
    bind(bed, "Role", "reader", ("Group", "limited")).await;
    allowed(bed, bed.collection("configmaps")).await;
}

async fn a_cluster_role_bound_in_a_namespace_holds_there_only(bed: &Bed) {
    let name = bed.unique("reader");
    let role = json!({"metadata": {"name": name}, "rules": read_config_maps()});
    bed.post(format!("/apis/{RBAC}/v1/clusterroles"), role)
        .await
        .expect(201);
    bind(bed, "ClusterRole", &name, LIMITED).await;
    allowed(bed, bed.collection("configmaps")).await;
    let elsewhere = bed
        .get("/api/v1/namespaces/kube-system/configmaps")
        .by_limited()
        .await;
    elsewhere.refused(403, "Forbidden");
}

async fn a_binding_without_its_role_is_told(bed: &Bed) {
    bind(bed, "Role", "absent", LIMITED).await;
    let expected = format!(
        "{}: rbac: RBAC: role.{RBAC} \"absent\" not found",
        refusal(bed, "list", "configmaps")
    );
    bed.eventually("the binding to be known", async || {
        let answer = list(bed, "configmaps").await;
        let status = answer.refused(403, "Forbidden");
        if status["message"] == expected {
            Ok(())
        } else {
            Err(answer.to_string())
        }
    })
    .await;
}

async fn a_permission_that_is_taken_away_is_gone(bed: &Bed) {
    role(bed, "reader", read_config_maps()).await;
    bind(bed, "Role", "reader", LIMITED).await;
    allowed(bed, bed.collection("configmaps")).await;
    let binding = bed.object(&format!("{RBAC}/v1/rolebindings"), "reader");
    assert_eq!(bed.delete(binding).await.code(), 200);
    bed.eventually("the permission to be gone", async || {
        match list(bed, "configmaps").await {
            answer if answer.code() == 403 => Ok(()),
            answer => Err(answer.to_string()),
        }
    })
    .await;
}

/// What a review of the user `limited` says about something in the namespace.
async fn reviewed(bed: &Bed, verb: &str, resource: &str, name: &str) -> bool {
    let attributes = json!({"verb": verb, "resource": resource, "name": name, "namespace": bed.namespace()});
    let body = json!({"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1",
        "spec": {"resourceAttributes": attributes}});
    let review = bed.post(REVIEWS, body).by_limited().await.expect(201);
    assert_eq!(review["kind"], "SelfSubjectAccessReview");
    assert_eq!(review["spec"]["resourceAttributes"]["verb"], verb);
    review["status"]["allowed"].as_bool().unwrap()
}

async fn a_review_says_what_a_request_would_be_answered(bed: &Bed) {
    role(bed, "reader", read_config_maps()).await;
    bind(bed, "Role", "reader", LIMITED).await;
    allowed(bed, bed.collection("configmaps")).await;
    assert!(reviewed(bed, "list", "configmaps", "").await);
    assert!(reviewed(bed, "get", "configmaps", "a").await);
    for (verb, resource, method) in [
        ("delete", "configmaps", Method::DELETE),
        ("get", "secrets", Method::GET),
    ] {
        assert!(!reviewed(bed, verb, resource, "a").await, "{verb} {resource}");
        let answer = bed.ask(method, bed.object(resource, "a")).by_limited().await;
        answer.refused(403, "Forbidden");
    }
}

async fn a_review_can_be_about_a_path(bed: &Bed) {
    for (path, allowed) in [("/version", true), ("/apis/apps", true), ("/metrics", false)] {
        let body = json!({"spec": {"nonResourceAttributes": {"verb": "get", "path": path}}});
        let review = bed.post(REVIEWS, body).by_limited().await.expect(201);
        assert_eq!(review["status"]["allowed"], allowed, "{path}");
    }
}

async fn a_review_about_nothing_is_invalid(bed: &Bed) {
    let both = json!({"resourceAttributes": {"verb": "get", "resource": "pods"},
        "nonResourceAttributes": {"verb": "get", "path": "/"}});
    for spec in [json!({}), both] {
        let refused = bed.post(REVIEWS, json!({"spec": spec})).by_limited().await;
        refused.refused(422, "Invalid");
    }
}

async fn the_anonymous_may_not_ask_for_reviews(bed: &Bed) {
    let body = json!({"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}});
    let refused = bed
        .post(REVIEWS, body)
        .anonymously()
        .await
        .refused(403, "Forbidden");
    assert_eq!(
        refused["message"],
        "selfsubjectaccessreviews.authorization.k8s.io is forbidden: User \"system:anonymous\" cannot create resource \
         \"selfsubjectaccessreviews\" in API group \"authorization.k8s.io\" at the cluster scope"
    );
}

async fn a_user_can_ask_who_it_is(bed: &Bed) {
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let review = bed.post(path, json!({})).by_limited().await.expect(201);
    assert_eq!(review["kind"], "SelfSubjectReview");
    let who = &review["status"]["userInfo"];
    assert_eq!(who["username"], "limited");
    assert_eq!(who["groups"], json!(["limited", "system:authenticated"]));
}

async fn a_user_can_ask_for_all_its_rules(bed: &Bed) {
    role(bed, "reader", read_config_maps()).await;
    bind(bed, "Role", "reader", LIMITED).await;
    allowed(bed, bed.collection("configmaps")).await;
    let body = json!({"spec": {"namespace": bed.namespace()}});
    let review = bed.post(RULES, body).by_limited().await.expect(201);
    let rules = review["status"]["resourceRules"].as_array().unwrap();
    assert!(rules.contains(&read_config_maps()[0]), "{rules:?}");
    let paths = review["status"]["nonResourceRules"].as_array().unwrap();
    let reads = |path: &str| {
        paths
            .iter()
            .any(|rule| rule["nonResourceURLs"].as_array().unwrap().contains(&json!(path)))
    };
    assert!(reads("/version") && reads("/apis/*"), "{paths:?}");
}

async fn rules_are_asked_for_in_a_namespace(bed: &Bed) {
    let refused = bed.post(RULES, json!({"spec": {}})).by_limited().await;
    let status = refused.refused(400, "BadRequest");
    assert_eq!(status["message"], "no namespace on request");
}

async fn an_administrator_can_ask_what_another_may_do(bed: &Bed) {
    role(bed, "reader", read_config_maps()).await;
    bind(bed, "Role", "reader", LIMITED).await;
    allowed(bed, bed.collection("configmaps")).await;
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    let ask = async |user: &str, verb: &str| {
        let attributes = json!({"verb": verb, "resource": "configmaps", "namespace": bed.namespace()});
        let body = json!({"spec": {"user": user, "resourceAttributes": attributes}});
        let review = bed.post(path, body).await.expect(201);
        review["status"]["allowed"].as_bool().unwrap()
    };
    assert!(ask("limited", "list").await);
    assert!(!ask("limited", "delete").await);
    assert!(!ask("somebody", "list").await);
    let body =
        json!({"spec": {"user": "limited", "resourceAttributes": {"verb": "get", "resource": "pods"}}});
    bed.post(path, body).by_limited().await.refused(403, "Forbidden");
}
