//! Documents of `OpenAPI`: as much as `kubectl` needs to know what the server can do, and the schemas of defined kinds.
//!
//! Built-in kinds have no fields in them: `kubectl` then relies on those it was compiled with.

use serde_json::{Map, Value, json};

use crate::api::answer::Answer;
use crate::api::table::definition;
use crate::server::Inner;
use crate::state::kind::{Kind, Version};
use crate::state::object::{field_mut, object_mut};

/// Answers what stands after `/openapi/`.
pub(crate) fn answer(server: &Inner, path: &[&str]) -> Option<Answer> {
    let document = match path {
        ["v2"] => json!({"swagger": "2.0", "info": info(), "paths": {}, "definitions": {}}),
        ["v3"] => index(server),
        ["v3", "api", version] => document(server, "", version)?,
        ["v3", "apis", group, version] => document(server, group, version)?,
        _ => return None,
    };
    Some(Answer::json(&document))
}

fn info() -> Value {
    json!({"title": "mcrt-sim", "version": "v1.37.2"})
}

/// Where the documents are. The hash is that of the content: clients keep documents by it.
fn index(server: &Inner) -> Value {
    let registry = server.store().registry.clone();
    let mut paths = Map::new();
    for kind in registry.iter() {
        for version in &kind.versions {
            let path = match kind.group.as_str() {
                "" => format!("api/{}", version.name),
                group => format!("apis/{group}/{}", version.name),
            };
            if paths.contains_key(&path) {
                continue;
            }
            let content = document(server, &kind.group, &version.name).unwrap_or_default();
            let url = format!(
                "/openapi/v3/{path}?hash={:016X}",
                fingerprint(&content.to_string())
            );
            paths.insert(path, json!({"serverRelativeURL": url}));
        }
    }
    json!({"paths": paths})
}

fn document(server: &Inner, group: &str, version: &str) -> Option<Value> {
    let registry = server.store().registry.clone();
    let kinds = registry.iter().filter(|kind| kind.group == group);
    let found: Vec<_> = kinds
        .filter_map(|kind| Some((kind, kind.version(version)?)))
        .collect();
    if found.is_empty() {
        return None;
    }
    let (mut paths, mut schemas) = (Map::new(), Map::new());
    for (kind, version) in found {
        add_paths(&mut paths, kind, version);
        schemas.insert(schema_name(kind, version), schema(server, kind, version));
    }
    Some(json!({
        "openapi": "3.0.0", "info": info(), "paths": paths, "components": {"schemas": schemas},
    }))
}

/// The operations on a kind; `kubectl` looks at the parameters of `patch` before it relies on them.
fn add_paths(paths: &mut Map<String, Value>, kind: &Kind, version: &Version) {
    let root = match kind.group.as_str() {
        "" => "/api",
        _ => "/apis",
    };
    let within = if kind.namespaced {
        "/namespaces/{namespace}"
    } else {
        ""
    };
    let collection = format!("{root}/{}{within}/{}", version.api_version, kind.plural);
    let schema = json!({"$ref": format!("#/components/schemas/{}", schema_name(kind, version))});
    let operation = |action: &str, parameters: &[&str]| {
        let parameter = |name: &&str| json!({"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": true}});
        json!({
            "parameters": parameters.iter().map(parameter).collect::<Vec<_>>(),
            "responses": {"200": {"description": "OK", "content": {"application/json": {"schema": schema}}}},
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": gvk(kind, version),
        })
    };
    let write = ["dryRun", "fieldManager", "fieldValidation"];
    let list = [
        "continue",
        "fieldSelector",
        "labelSelector",
        "limit",
        "resourceVersion",
        "watch",
    ];
    paths.insert(
        format!("{collection}/{{name}}"),
        json!({
            "get": operation("get", &[]), "put": operation("put", &write), "patch": operation("patch", &write),
            "delete": operation("delete", &["dryRun", "propagationPolicy"]),
        }),
    );
    paths.insert(
        collection,
        json!({"get": operation("list", &list), "post": operation("post", &write)}),
    );
}

fn gvk(kind: &Kind, version: &Version) -> Value {
    json!({"group": kind.group, "version": version.name, "kind": kind.kind})
}

fn schema_name(kind: &Kind, version: &Version) -> String {
    let (group, version, kind) = if kind.builtin {
        let group = kind.group.split('.').next().filter(|group| !group.is_empty());
        (
            format!("io.k8s.api.{}", group.unwrap_or("core")),
            &version.name,
            &kind.kind,
        )
    } else {
        let reversed: Vec<_> = kind.group.rsplit('.').collect();
        (reversed.join("."), &version.name, &kind.kind)
    };
    format!("{group}.{version}.{kind}")
}

fn schema(server: &Inner, kind: &Kind, version: &Version) -> Value {
    let defined = (!kind.builtin).then(|| definition(server, &kind.id)).flatten();
    let versions = defined
        .as_ref()
        .and_then(|defined| defined["spec"]["versions"].as_array());
    let described = versions.and_then(|versions| {
        let found = versions.iter().find(|known| known["name"] == *version.name)?;
        Some(found["schema"]["openAPIV3Schema"].clone())
    });
    let mut schema = described
        .filter(Value::is_object)
        .unwrap_or_else(|| json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}));
    let properties = object_mut(field_mut(&mut schema, "properties"));
    for field in ["apiVersion", "kind"] {
        properties.insert(field.into(), json!({"type": "string"}));
    }
    let metadata = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    properties.insert("metadata".into(), metadata);
    schema["x-kubernetes-group-version-kind"] = json!([gvk(kind, version)]);
    schema
}

/// FNV-1a.
fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
