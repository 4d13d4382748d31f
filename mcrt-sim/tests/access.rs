//! Tokens, users, and what they may do.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests, helpers included")]

mod common;

use common::client;
use http_body_util::BodyExt;
use mcrt_sim::{Server, User, Verb};
use serde_json::{Value, json};

async fn send(server: &Server, token: &str, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let mut request = http::Request::builder().method(method).uri(path);
    if !token.is_empty() {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let request = request
        .header("content-type", "application/json")
        .body(kube::client::Body::from(body.to_string().into_bytes()))
        .unwrap();
    let response = client(server).send(request).await.unwrap();
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&body).unwrap_or_default())
}

async fn code(server: &Server, token: &str, method: &str, path: &str) -> u16 {
    send(server, token, method, path, &Value::Null).await.0
}

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/default/deployments/a";

#[tokio::test]
async fn a_user_may_do_what_it_was_allowed_and_nothing_else() {
    let server = Server::new("one");
    let reader = User::new("reader")
        .may(["get", "list"], ["configmaps", "deployments.apps", "pods/status"])
        .may_within("team-a", ["*"], ["secrets"])
        .may_get_paths(["/metrics/*"]);
    server.add_token("t", reader);
    let code = async |method: &str, path: &str| code(&server, "t", method, path).await;
    assert_eq!(code("GET", CONFIG_MAPS).await, 200);
    assert_eq!(code("GET", &format!("{CONFIG_MAPS}?watch=1")).await, 403);
    assert_eq!(code("DELETE", CONFIG_MAPS).await, 403);
    assert_eq!(code("GET", DEPLOYMENT).await, 404, "allowed, but not there");
    assert_eq!(code("GET", &format!("{DEPLOYMENT}/status")).await, 403);
    assert_eq!(code("GET", "/api/v1/namespaces/default/pods/a/status").await, 404);
    assert_eq!(code("GET", "/api/v1/namespaces/default/pods/a").await, 403);
    assert_eq!(code("GET", "/api/v1/secrets").await, 403);
    assert_eq!(code("GET", "/api/v1/namespaces/team-a/secrets").await, 200);
    assert_eq!(code("GET", "/api/v1/namespaces/default/secrets").await, 403);
    assert_eq!(code("GET", "/apis").await, 200);
    assert_eq!(code("GET", "/metrics/all").await, 404);
    assert_eq!(code("GET", "/logs").await, 403);
    let counters = server.counters();
    assert_eq!((counters.unauthorized, counters.forbidden), (0, 7));
}

#[tokio::test]
async fn tokens_come_and_go_and_requests_are_counted_by_whose_they_are() {
    let server = Server::new("one");
    server.add_token("old", User::admin("boss"));
    server.add_token("t", User::new("reader").may(["list"], ["configmaps"]));
    assert_eq!(code(&server, "old", "GET", CONFIG_MAPS).await, 200);
    server.add_token("new", User::admin("boss"));
    server.remove_token("old");
    assert_eq!(code(&server, "old", "GET", CONFIG_MAPS).await, 401);
    assert_eq!(code(&server, "new", "GET", CONFIG_MAPS).await, 200);
    assert_eq!(code(&server, "t", "GET", CONFIG_MAPS).await, 200);
    assert_eq!(code(&server, "", "GET", CONFIG_MAPS).await, 403);
    assert_eq!(code(&server, "", "GET", "/readyz").await, 200);
    let counters = server.counters();
    assert_eq!((counters.user("boss"), counters.user("reader")), (2, 1));
    assert_eq!(counters.user("system:anonymous"), 2);
    assert_eq!(counters.verb(Verb::List), 5);
    assert_eq!(
        counters.count(|row| row.plural == "configmaps" && row.user.is_empty()),
        1
    );
    assert_eq!(
        counters.rows().iter().map(|row| row.requests).sum::<u64>(),
        counters.requests
    );
    server.remove_token("new");
    server.remove_token("t");
    assert_eq!(
        code(&server, "", "GET", CONFIG_MAPS).await,
        200,
        "open to all again"
    );
}

#[tokio::test]
async fn stored_roles_allow_what_they_say_to_whom_they_are_bound() {
    let server = Server::new("one");
    server.add_token("t", User::new("reader").group("team"));
    let rbac = "rbac.authorization.k8s.io";
    let api = format!("{rbac}/v1");
    let role = json!({"apiVersion": api, "kind": "Role", "metadata": {"name": "own", "namespace": "default"},
        "rules": [{"verbs": ["get", "list"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["a"]}]});
    let bind = |kind: &str, name: &str, role: &str| {
        json!({"apiVersion": api, "kind": kind, "metadata": {"name": name},
            "roleRef": {"apiGroup": rbac, "kind": role, "name": "own"},
            "subjects": [{"apiGroup": rbac, "kind": "Group", "name": "team"}]})
    };
    assert_eq!(code(&server, "t", "GET", CONFIG_MAPS).await, 403);
    server.create(bind("RoleBinding", "own", "Role")).unwrap();
    let (_, refused) = send(&server, "t", "GET", CONFIG_MAPS, &Value::Null).await;
    assert_eq!(
        refused["message"],
        "configmaps is forbidden: User \"reader\" cannot list resource \"configmaps\" in API group \"\" in the \
         namespace \"default\": rbac: RBAC: role.rbac.authorization.k8s.io \"own\" not found"
    );
    server.create(role).unwrap();
    assert_eq!(code(&server, "t", "GET", &format!("{CONFIG_MAPS}/a")).await, 404);
    assert_eq!(code(&server, "t", "GET", &format!("{CONFIG_MAPS}/b")).await, 403);
    assert_eq!(
        code(
            &server,
            "t",
            "GET",
            &format!("{CONFIG_MAPS}?fieldSelector=metadata.name%3Da")
        )
        .await,
        200
    );
    let wide = json!({"apiVersion": api, "kind": "ClusterRole", "metadata": {"name": "own"},
        "rules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]});
    server.create(wide).unwrap();
    server
        .create(bind("ClusterRoleBinding", "own", "ClusterRole"))
        .unwrap();
    assert_eq!(code(&server, "t", "GET", "/api/v1/secrets").await, 200);
}

#[tokio::test]
async fn reviews_and_answers_agree() {
    let server = Server::new("one");
    server.add_token(
        "t",
        User::new("reader")
            .group("team")
            .may_within("default", ["list"], ["configmaps"]),
    );
    let reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let ask = async |verb: &str, namespace: &str, resource: &str| {
        let attributes = json!({"verb": verb, "namespace": namespace, "resource": resource});
        let (code, review) = send(
            &server,
            "t",
            "POST",
            reviews,
            &json!({"spec": {"resourceAttributes": attributes}}),
        )
        .await;
        assert_eq!((code, &review["kind"]), (201, &"SelfSubjectAccessReview".into()));
        review["status"]["allowed"].as_bool().unwrap()
    };
    for (verb, method, query) in [
        ("list", "GET", ""),
        ("watch", "GET", "?watch=1"),
        ("deletecollection", "DELETE", ""),
    ] {
        for (namespace, resource) in [
            ("default", "configmaps"),
            ("other", "configmaps"),
            ("default", "secrets"),
        ] {
            let path = format!("/api/v1/namespaces/{namespace}/{resource}{query}");
            let answered = code(&server, "t", method, &path).await == 200;
            assert_eq!(ask(verb, namespace, resource).await, answered, "{verb} {path}");
        }
    }
    let (code, _) = send(&server, "t", "POST", reviews, &json!({"spec": {}})).await;
    assert_eq!(code, 422);
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let (_, who) = send(&server, "t", "POST", path, &json!({})).await;
    assert_eq!(
        who["status"]["userInfo"],
        json!({"username": "reader", "groups": ["team", "system:authenticated"]})
    );
    let path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    let (_, rules) = send(
        &server,
        "t",
        "POST",
        path,
        &json!({"spec": {"namespace": "default"}}),
    )
    .await;
    let own = json!({"verbs": ["list"], "apiGroups": ["*"], "resources": ["configmaps"]});
    assert!(
        rules["status"]["resourceRules"]
            .as_array()
            .unwrap()
            .contains(&own),
        "{rules}"
    );
}

#[tokio::test]
async fn a_service_shows_its_token_where_a_request_shows_none() {
    let server = Server::new("one");
    server.add_token("t", User::new("reader").may(["list"], ["configmaps"]));
    server.add_token("other", User::new("nobody"));
    let list = async |service: mcrt_sim::Service, token: Option<&str>| {
        let mut request = http::Request::get(CONFIG_MAPS);
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request.body(kube::client::Body::empty()).unwrap();
        tower::ServiceExt::oneshot(service, request)
            .await
            .unwrap()
            .status()
            .as_u16()
    };
    assert_eq!(list(server.service(), None).await, 403, "anonymous");
    assert_eq!(list(server.service().with_token("t"), None).await, 200);
    assert_eq!(list(server.service().with_token("gone"), None).await, 401);
    assert_eq!(list(server.service().with_token("t"), Some("other")).await, 403);
    let printed = format!("{:?}", server.service().with_token("SECRET"));
    assert!(!printed.contains("SECRET"), "{printed}");
}
