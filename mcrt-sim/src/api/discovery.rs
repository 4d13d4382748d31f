//! Paths that are not about objects: health, version, and what is served.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::api::answer::{Answer, page_not_found};
use crate::api::request::RequestInfo;
use crate::api::status::Status;
use crate::server::Inner;
use crate::state::kinds::{Kind, Registry, Version};

const VERBS: [&str; 8] = [
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];

pub(crate) fn answer(server: &Inner, info: &RequestInfo) -> Result<Answer, Status> {
    let path = info.path().trim_end_matches('/');
    if !matches!(*info.method(), http::Method::GET | http::Method::HEAD) {
        return Err(Status::method_not_allowed());
    }
    let segments: Vec<_> = path.split('/').skip(1).collect();
    if let ["healthz" | "livez" | "readyz", ..] = segments.as_slice() {
        return Ok(Answer::Text(200, "ok".to_owned()));
    }
    let registry = server.store().registry.clone();
    let value = match segments.as_slice() {
        ["version"] => Some(version(&server.git_version())),
        ["api"] => Some(json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})),
        ["api", version] => resources(&registry, "", version),
        ["apis"] => {
            let groups: Vec<_> = groups(&registry)
                .iter()
                .map(|(name, versions)| group(name, versions))
                .collect();
            Some(json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}))
        }
        ["apis", name] => groups(&registry).get(name).map(|versions| {
            let mut value = group(name, versions);
            value["kind"] = "APIGroup".into();
            value["apiVersion"] = "v1".into();
            value
        }),
        ["apis", group, version] => resources(&registry, group, version),
        _ => None,
    };
    Ok(value.map_or_else(page_not_found, |value| Answer::json(&value)))
}

fn version(git: &str) -> Value {
    let mut parts = git.trim_start_matches('v').split('.');
    let mut part = || parts.next().unwrap_or_default();
    json!({
        "major": part(), "minor": part(), "gitVersion": git, "gitCommit": "", "gitTreeState": "clean",
        "buildDate": "2026-01-01T00:00:00Z", "goVersion": "", "compiler": "rustc", "platform": "memory",
    })
}

/// Versions by group, without the core group.
fn groups(registry: &Registry) -> BTreeMap<&str, Vec<&str>> {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for kind in registry.iter().filter(|kind| !kind.group.is_empty()) {
        let versions = groups.entry(&kind.group).or_default();
        for version in &kind.versions {
            if !versions.contains(&version.name.as_str()) {
                versions.push(&version.name);
            }
        }
    }
    groups
}

fn group(name: &str, versions: &[&str]) -> Value {
    let version = |version: &&str| json!({"groupVersion": format!("{name}/{version}"), "version": version});
    let versions: Vec<_> = versions.iter().map(version).collect();
    json!({"name": name, "versions": versions, "preferredVersion": versions.first()})
}

fn resources(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let kinds = registry.iter().filter(|kind| kind.group == group);
    let served: Vec<_> = kinds
        .filter_map(|kind| Some((kind, kind.version(version)?)))
        .collect();
    let api_version = served.first()?.1.api_version.clone();
    let resources: Vec<_> = served
        .into_iter()
        .flat_map(|(kind, version)| resource(kind, version))
        .collect();
    Some(json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version, "resources": resources,
    }))
}

fn resource(kind: &Kind, version: &Version) -> Vec<Value> {
    let mut resources = vec![json!({
        "name": kind.plural, "singularName": kind.singular(), "namespaced": kind.namespaced,
        "kind": kind.kind, "verbs": VERBS,
    })];
    if version.status {
        resources.push(json!({
            "name": format!("{}/status", kind.plural), "singularName": "", "namespaced": kind.namespaced,
            "kind": kind.kind, "verbs": ["get", "patch", "update"],
        }));
    }
    resources
}
