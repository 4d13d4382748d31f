//! What belongs to a member, and what is refused.
use super::division::{Division, Route};
use http::{Method, Uri};

fn route(division: Division, method: &Method, path: &str) -> Route {
    division.route("team-a", method, &path.parse::<Uri>().unwrap())
}

#[test]
fn a_member_reaches_the_objects_of_its_namespace() {
    for (method, path) in [
        (Method::GET, "/api/v1/namespaces/team-a/configmaps"),
        (Method::GET, "/api/v1/namespaces/team%2da/configmaps?watch=true"),
        (Method::POST, "/apis/apps/v1/namespaces/team-a/deployments"),
        (
            Method::PATCH,
            "/apis/apps/v1/namespaces/team-a/deployments/x/status",
        ),
        (Method::POST, "/api/v1/namespaces/team-a/pods/x/exec?command=ls"),
        (Method::GET, "/api/v1/namespaces/team-a/pods/x/proxy/a/b/"),
        (Method::GET, "/api/v1/namespaces/team-a"),
        (Method::GET, "/api/v1/namespaces/team-a/status"),
        (
            Method::POST,
            "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
        ),
        (Method::GET, "/openapi/v3"),
        (Method::GET, "/"),
    ] {
        let found = route(Division::Namespaces, &method, path);
        assert_eq!(found, Route::Own(String::new()), "{method} {path}");
    }
}

#[test]
fn what_is_the_same_for_every_member_is_asked_together() {
    for path in [
        "/readyz",
        "/version",
        "/api",
        "/apis",
        "/api/v1",
        "/apis/apps",
        "/apis/apps/v1",
    ] {
        for division in [Division::Namespaces, Division::Workspaces] {
            assert_eq!(route(division, &Method::GET, path), Route::Together, "{path}");
        }
    }
    let review = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    assert_eq!(
        route(Division::Namespaces, &Method::POST, review),
        Route::Together
    );
}

#[test]
fn whatever_leaves_the_namespace_is_refused_however_it_is_written() {
    for (method, path) in [
        (Method::GET, "/api/v1/configmaps"),
        (Method::GET, "/api/v1/configmaps?watch=true"),
        (Method::GET, "/api/v1/namespaces"),
        (Method::GET, "/api/v1/namespaces/team-b"),
        (Method::GET, "/api/v1/namespaces/team-b/secrets"),
        (Method::GET, "/api/v1/namespaces/team-a/../team-b/secrets"),
        (Method::GET, "/api/v1/namespaces/team-a/%2e%2e/team-b/secrets"),
        (Method::GET, "/api/v1/namespaces/team-a%2f..%2fteam-b/secrets"),
        (Method::GET, "/api/v1/namespaces/team-a/pods/x/proxy/%252e%252e/y"),
        (Method::GET, "/api/v1/namespaces/team-a//secrets"),
        (Method::GET, "/api/v1/namespaces/team-a/secrets/%"),
        (Method::GET, "/api/v1/namespaces/team-a/secrets/%zz"),
        (Method::GET, "/api/v1/namespaces/team-a/secrets/%00"),
        (Method::GET, "/api/v1/watch/namespaces/team-a/secrets"),
        (Method::DELETE, "/api/v1/namespaces/team-a"),
        (Method::PATCH, "/api/v1/namespaces/team-a"),
        (Method::PUT, "/api/v1/namespaces/team-a/finalize"),
        (Method::GET, "/apis/example.com/v1/namespaces/team-a"),
        (Method::PUT, "/apis/example.com/v1/namespaces/team-a/status"),
        (Method::GET, "/api/v1/nodes/x"),
        (Method::GET, "/metrics"),
        (Method::POST, "/apis/authorization.k8s.io/v1/subjectaccessreviews"),
        (Method::POST, "/api/v1"),
    ] {
        let found = route(Division::Namespaces, &method, path);
        let Route::Refused(reason) = found else {
            panic!("{method} {path}: {found:?}");
        };
        assert!(
            reason.contains("team-a") && reason.contains(path.split('?').next().unwrap()),
            "{reason}"
        );
    }
}

#[test]
fn a_member_of_workspaces_reaches_its_own_and_no_path_leads_out_of_it() {
    let own = Route::Own("/clusters/team-a".to_owned());
    for path in [
        "/api/v1/namespaces/x/configmaps",
        "/api/v1/configmaps",
        "/apis/core.kcp.io/v1alpha1/logicalclusters/cluster",
    ] {
        assert_eq!(route(Division::Workspaces, &Method::GET, path), own, "{path}");
    }
    for path in [
        "/../team-b/api/v1/configmaps",
        "/%2e%2e/team-b/api/v1/configmaps",
        "/api/..%2f..%2f",
    ] {
        let found = route(Division::Workspaces, &Method::GET, path);
        assert!(matches!(found, Route::Refused(_)), "{path}: {found:?}");
    }
    let path: Uri = "/api/v1/configmaps".parse().unwrap();
    for key in ["", "*", "..", "a/b", "a%2fb", "a?b", "a b"] {
        let found = Division::Workspaces.route(key, &Method::GET, &path);
        assert!(matches!(found, Route::Refused(_)), "{key}: {found:?}");
    }
}
