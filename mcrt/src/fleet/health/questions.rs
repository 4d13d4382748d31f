//! What an API server says of its version, its kinds and our permissions.
use crate::connect::{ConnectError, ask};
use http::{Method, Request, StatusCode};
use kube::{Client, client::Body, core::ApiResource};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::json;
use std::time::Duration;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Version {
    pub(super) git_version: String,
}

#[derive(Default, Deserialize)]
pub(super) struct Served {
    pub(super) resources: Vec<Resource>,
}

#[derive(Deserialize)]
pub(super) struct Resource {
    pub(super) name: String,
}

#[derive(Deserialize)]
struct Review {
    status: Allowed,
}

#[derive(Deserialize)]
struct Allowed {
    allowed: bool,
}

pub(super) async fn version(
    client: &Client,
    deadline: Duration,
) -> Result<(StatusCode, Option<Version>), ConnectError> {
    get(client, "/version", deadline).await
}

/// The kinds that are served under the path of a [`group_version`].
pub(super) async fn kinds(
    client: &Client,
    path: &str,
    deadline: Duration,
) -> Result<(StatusCode, Option<Served>), ConnectError> {
    get(client, path, deadline).await
}

/// Whether we may; also if the server does not tell.
pub(super) async fn may(
    client: &Client,
    resource: &ApiResource,
    namespace: Option<&str>,
    verb: &str,
    deadline: Duration,
) -> Result<bool, ConnectError> {
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": { "resourceAttributes": {
            "group": resource.group, "version": resource.version, "resource": resource.plural,
            "namespace": namespace.unwrap_or_default(), "verb": verb,
        }},
    });
    let mut request = Request::new(Body::from(review.to_string().into_bytes()));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = http::Uri::from_static("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews");
    let json = http::HeaderValue::from_static("application/json");
    request.headers_mut().insert(http::header::CONTENT_TYPE, json);
    let (_, review) = ask::<Review>(client, request, deadline).await?;
    Ok(review.is_none_or(|review| review.status.allowed))
}

async fn get<T: DeserializeOwned>(
    client: &Client,
    path: &str,
    deadline: Duration,
) -> Result<(StatusCode, Option<T>), ConnectError> {
    let mut request = Request::new(Body::empty());
    // A group that makes no path is served nowhere.
    *request.uri_mut() = path
        .parse()
        .unwrap_or_else(|_| http::Uri::from_static("/apis/-/-"));
    ask(client, request, deadline).await
}

pub(super) fn group_version(resource: &ApiResource) -> String {
    match &*resource.group {
        "" => format!("/api/{}", resource.version),
        group => format!("/apis/{group}/{}", resource.version),
    }
}

pub(super) fn full_name(resource: &ApiResource) -> String {
    match &*resource.group {
        "" => format!("{} ({})", resource.plural, resource.version),
        group => format!("{}.{group} ({})", resource.plural, resource.version),
    }
}

pub(super) fn refusal(resource: &ApiResource, namespace: Option<&str>, verb: &str) -> String {
    let name = full_name(resource);
    match namespace {
        Some(namespace) => format!("may not {verb} {name} in namespace {namespace}"),
        None => format!("may not {verb} {name} in all namespaces"),
    }
}

/// Major and minor of `v1.37.2`, `v1.29.3-eks-a1b2`, `1.31.0+k3s1`.
pub(super) fn parsed(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.trim_start_matches('v').split('.');
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next()?;
    let digits = minor.find(|c: char| !c.is_ascii_digit()).unwrap_or(minor.len());
    Some((major, minor.get(..digits)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_whoever_built_the_server() {
        let cases = [
            ("v1.37.2", Some((1, 37))),
            ("v1.29.3-eks-a1b2", Some((1, 29))),
            ("1.31.0+k3s1", Some((1, 31))),
            ("v1.24+", Some((1, 24))),
            ("v2.0", Some((2, 0))),
            ("unknown", None),
            ("v1", None),
            ("", None),
        ];
        for (version, expected) in cases {
            assert_eq!(parsed(version), expected, "{version}");
        }
    }
}
