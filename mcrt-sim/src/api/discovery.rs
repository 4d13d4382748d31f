//! Paths that are not about objects: health, version, and what is served.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::HeaderValue;
use serde_json::{Value, json};

use crate::api::answer::{Answer, page_not_found};
use crate::api::openapi;
use crate::api::versions::priority;
use crate::refusal::status::Status;
use crate::request::info::RequestInfo;
use crate::server::Inner;
use crate::state::kind::{Kind, Version};
use crate::state::registry::Registry;
use crate::state::target::Target;
use crate::write::scale::Scale;

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

const STATUS_VERBS: [&str; 3] = ["get", "patch", "update"];

/// What callers put into `Accept` to get everything at once, and what the answer then is.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const AGGREGATED_TYPE: HeaderValue = HeaderValue::from_static(AGGREGATED);

pub(crate) fn answer(server: &Inner, info: &RequestInfo) -> Result<Answer, Status> {
    let path = info.path().trim_end_matches('/');
    let segments: Vec<_> = path.split('/').skip(1).collect();
    if let [check @ ("healthz" | "livez" | "readyz"), rest @ ..] = segments.as_slice() {
        return Ok(health(check, rest, info));
    }
    if *info.method() != http::Method::GET {
        return Err(Status::method_not_allowed());
    }
    if matches!(segments.as_slice(), ["api" | "apis"]) && info.accepts(AGGREGATED) {
        let groups = aggregate(server, segments[0] == "api");
        return Ok(Answer::Typed(AGGREGATED_TYPE, groups.to_string().into_bytes()));
    }
    if let ["openapi", rest @ ..] = segments.as_slice() {
        return Ok(openapi::answer(server, rest).unwrap_or_else(page_not_found));
    }
    let value = find(server, &segments);
    if value.is_some() {
        info.form().check()?;
    }
    match (value, segments.as_slice()) {
        (Some(value), _) => Ok(Answer::json(&value)),
        // A group that is served answers for versions that it does not have.
        (None, ["api", _]) => Err(Status::not_served()),
        (None, ["apis", group, _]) if is_builtin(server, group) => Err(Status::not_served()),
        _ => Ok(page_not_found()),
    }
}

fn find(server: &Inner, segments: &[&str]) -> Option<Value> {
    let registry = server.store().registry.clone();
    match segments {
        [] | [""] => Some(json!({"paths": paths(&registry)})),
        ["version"] => Some(version(&server.git_version())),
        ["api"] => Some(json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})),
        ["api", version] => resources(server, &registry, "", version),
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
        ["apis", group, version] => resources(server, &registry, group, version),
        _ => None,
    }
}

fn is_builtin(server: &Inner, group: &str) -> bool {
    let registry = &server.store().registry;
    registry.iter().any(|kind| kind.builtin && kind.group == group)
}

/// Checks that all pass: a simulated server is ready from the start.
fn health(check: &str, rest: &[&str], info: &RequestInfo) -> Answer {
    const CHECKS: [&str; 3] = ["ping", "log", "etcd"];
    match rest {
        [] if info.query("verbose").is_some() => {
            let passed: String = CHECKS.map(|name| format!("[+]{name} ok\n")).concat();
            Answer::Text(200, format!("{passed}{check} check passed\n"))
        }
        [] => Answer::Text(200, "ok".to_owned()),
        [one] if CHECKS.contains(one) => Answer::Text(200, "ok".to_owned()),
        _ => page_not_found(),
    }
}

fn paths(registry: &Registry) -> Vec<String> {
    let mut paths: Vec<_> = [
        "/api",
        "/api/v1",
        "/apis",
        "/healthz",
        "/livez",
        "/openapi/v2",
        "/openapi/v3",
        "/readyz",
        "/version",
    ]
    .map(str::to_owned)
    .into();
    for (name, versions) in groups(registry) {
        paths.push(format!("/apis/{name}"));
        paths.extend(versions.iter().map(|version| format!("/apis/{name}/{version}")));
    }
    paths.sort();
    paths
}

fn version(git: &str) -> Value {
    let mut parts = git.trim_start_matches('v').split('.');
    let mut part = || parts.next().unwrap_or_default();
    json!({
        "major": part(), "minor": part(), "gitVersion": git, "gitCommit": "", "gitTreeState": "clean",
        "buildDate": "2026-01-01T00:00:00Z", "goVersion": "", "compiler": "rustc", "platform": "memory",
    })
}

/// Versions by group, without the core group; the preferred version first.
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
    for versions in groups.values_mut() {
        versions.sort_by_cached_key(|version| priority(version));
    }
    groups
}

fn group(name: &str, versions: &[&str]) -> Value {
    let version = |version: &&str| json!({"groupVersion": format!("{name}/{version}"), "version": version});
    let versions: Vec<_> = versions.iter().map(version).collect();
    json!({"name": name, "versions": versions, "preferredVersion": versions.first()})
}

/// The kinds of a group's version.
fn served<'a>(
    registry: &'a Registry,
    group: &'a str,
    version: &'a str,
) -> impl Iterator<Item = (&'a Arc<Kind>, &'a Version)> {
    let kinds = registry.iter().filter(move |kind| kind.group == group);
    kinds.filter_map(move |kind| Some((kind, kind.version(version)?)))
}

fn verbs(kind: &Kind) -> Vec<&'static str> {
    let fits = |verb: &&str| !(kind.is_namespace() && *verb == "deletecollection");
    VERBS.into_iter().filter(fits).collect()
}

fn resources(server: &Inner, registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let api_version = served(registry, group, version).next()?.1.api_version.clone();
    let resources: Vec<_> = served(registry, group, version)
        .flat_map(|(kind, version)| resource(server, kind, version))
        .collect();
    Some(json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version, "resources": resources,
    }))
}

fn resource(server: &Inner, kind: &Arc<Kind>, version: &Version) -> Vec<Value> {
    let mut resource = json!({
        "name": kind.plural, "singularName": kind.singular, "namespaced": kind.namespaced,
        "kind": kind.kind, "verbs": verbs(kind),
    });
    add_names(&mut resource, kind);
    let mut resources = vec![resource];
    if is_scaled(server, kind, version) {
        resources.push(json!({
            "name": format!("{}/scale", kind.plural), "singularName": "", "namespaced": kind.namespaced,
            "group": "autoscaling", "version": "v1", "kind": "Scale", "verbs": STATUS_VERBS,
        }));
    }
    if version.status {
        resources.push(json!({
            "name": format!("{}/status", kind.plural), "singularName": "", "namespaced": kind.namespaced,
            "kind": kind.kind, "verbs": STATUS_VERBS,
        }));
    }
    resources
}

fn is_scaled(server: &Inner, kind: &Arc<Kind>, version: &Version) -> bool {
    let target = Target {
        kind: Arc::clone(kind),
        version: version.clone(),
    };
    Scale::of(&server.store(), &target).is_some()
}

fn add_names(resource: &mut Value, kind: &Kind) {
    for (field, names) in [
        ("shortNames", &kind.short_names),
        ("categories", &kind.categories),
    ] {
        if !names.is_empty() {
            resource[field] = names.clone().into();
        }
    }
}

/// All that is served, in one document.
fn aggregate(server: &Inner, core: bool) -> Value {
    let registry = server.store().registry.clone();
    let version = |group: &str, version: &str| {
        let resources: Vec<_> = served(&registry, group, version)
            .map(|(kind, version)| aggregated_resource(server, kind, version))
            .collect();
        json!({"version": version, "resources": resources, "freshness": "Current"})
    };
    let items: Vec<_> = if core {
        vec![json!({"metadata": {}, "versions": [version("", "v1")]})]
    } else {
        let groups = groups(&registry).into_iter();
        let item = |(name, versions): (&str, Vec<&str>)| {
            let versions: Vec<_> = versions.iter().map(|known| version(name, known)).collect();
            json!({"metadata": {"name": name}, "versions": versions})
        };
        groups.map(item).collect()
    };
    json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items,
    })
}

fn aggregated_resource(server: &Inner, kind: &Arc<Kind>, version: &Version) -> Value {
    let response = json!({"group": kind.group, "version": version.name, "kind": kind.kind});
    let mut resource = json!({
        "resource": kind.plural, "responseKind": response, "singularResource": kind.singular,
        "scope": if kind.namespaced { "Namespaced" } else { "Cluster" }, "verbs": verbs(kind),
    });
    add_names(&mut resource, kind);
    let mut subresources = Vec::new();
    if is_scaled(server, kind, version) {
        let scale = json!({"group": "autoscaling", "version": "v1", "kind": "Scale"});
        subresources.push(json!({"subresource": "scale", "responseKind": scale, "verbs": STATUS_VERBS}));
    }
    if version.status {
        subresources.push(json!({"subresource": "status", "responseKind": response, "verbs": STATUS_VERBS}));
    }
    if !subresources.is_empty() {
        resource["subresources"] = subresources.into();
    }
    resource
}
