//! Renders the table of built-in kinds that the simulator carries, from what a real API server says of itself.
//!
//! ```text
//! kind GROUP VERSION KIND PLURAL SINGULAR SCOPE SUBRESOURCES SHORT-NAMES CATEGORIES TYPE
//! type NAME
//!  FIELD TYPE [!] [@RELATION] [^PATCH-STRATEGY[:KEY]] [=DEFAULT]
//! alias NAME TYPE
//! ```
//!
//! A type is `s` (string), `t` (time), `6` (base64), `i`, `n`, `b`, `x` (any scalar), `u` (anything, as one),
//! `d` (anything, by parts), `[T`, `{T` or `.NAME`. `!` marks what is required, `-` what is empty.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use kube::Client;
use serde_json::Value;

type Schemas = BTreeMap<String, Value>;

/// Asks a server for its kinds and schemas and renders the table.
pub async fn render(client: &Client) -> kube::Result<String> {
    let root = get(client, "/openapi/v3").await?;
    let mut schemas = Schemas::new();
    let mut out = String::new();
    let mut roots = BTreeSet::new();
    for (path, place) in root["paths"].as_object().into_iter().flatten() {
        let document = get(client, text(&place["serverRelativeURL"])).await?;
        let known = document["components"]["schemas"]
            .as_object()
            .into_iter()
            .flatten();
        schemas.extend(known.map(|(name, schema)| (short(name), schema.clone())));
        if is_group_version(path) {
            let resources = get(client, &format!("/{path}")).await?;
            kinds(&resources, &schemas, &mut out, &mut roots);
        }
    }
    let mut done = BTreeSet::new();
    while let Some(name) = roots.pop_first() {
        if done.insert(name.clone()) {
            let uses = uses(&schemas[&name]);
            roots.extend(uses.into_iter().filter(|name| !done.contains(name)));
        }
    }
    for name in &done {
        describe(name, &schemas[name], &mut out);
    }
    Ok(out)
}

fn is_group_version(path: &str) -> bool {
    matches!(
        path.split('/').collect::<Vec<_>>().as_slice(),
        ["api", _] | ["apis", _, _]
    )
}

async fn get(client: &Client, path: &str) -> kube::Result<Value> {
    let request = http::Request::get(path)
        .body(Vec::new())
        .map_err(kube::Error::HttpError)?;
    client.request(request).await
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn short(name: &str) -> String {
    let name = name.strip_prefix("io.k8s.").unwrap_or(name);
    let name = name.strip_prefix("api.").unwrap_or(name);
    name.replace("apimachinery.pkg.apis.", "")
        .replace("apimachinery.pkg.", "")
        .replace("apiextensions-apiserver.pkg.apis.", "")
        .replace("kube-aggregator.pkg.apis.", "")
}

fn list(value: &Value) -> String {
    let names: Vec<_> = value.as_array().into_iter().flatten().map(text).collect();
    if names.is_empty() {
        "-".to_owned()
    } else {
        names.join(",")
    }
}

/// One line for each resource that can be listed and watched.
fn kinds(resources: &Value, schemas: &Schemas, out: &mut String, roots: &mut BTreeSet<String>) {
    let group_version = text(&resources["groupVersion"]);
    let (in_group, version) = group_version.rsplit_once('/').unwrap_or(("", group_version));
    let group = if in_group.is_empty() { "-" } else { in_group };
    let all: Vec<_> = resources["resources"].as_array().into_iter().flatten().collect();
    for resource in &all {
        let name = text(&resource["name"]);
        if name.contains('/') || !list(&resource["verbs"]).contains("watch") {
            continue;
        }
        let kind = text(&resource["kind"]);
        let schema = schemas.iter().find(|(_, schema)| {
            let mut known = schema["x-kubernetes-group-version-kind"]
                .as_array()
                .into_iter()
                .flatten();
            known.any(|known| {
                known["group"] == in_group && known["version"] == version && known["kind"] == kind
            })
        });
        let Some((type_name, _)) = schema else { continue };
        let subresources: Vec<_> = all
            .iter()
            .filter_map(|other| text(&other["name"]).strip_prefix(&format!("{name}/")))
            .collect();
        let subresources = if subresources.is_empty() {
            "-".to_owned()
        } else {
            subresources.join(",")
        };
        let scope = if resource["namespaced"] == true {
            "namespaced"
        } else {
            "cluster"
        };
        let _ = writeln!(
            out,
            "kind {group} {version} {kind} {name} {} {scope} {subresources} {} {} {type_name}",
            text(&resource["singularName"]),
            list(&resource["shortNames"]),
            list(&resource["categories"]),
        );
        roots.insert(type_name.clone());
    }
}

/// The types that a schema names, at any depth.
fn uses(schema: &Value) -> BTreeSet<String> {
    match schema {
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(name, value)| match (name.as_str(), value) {
                ("$ref", Value::String(reference)) => BTreeSet::from([named(reference)]),
                _ => uses(value),
            })
            .collect(),
        Value::Array(items) => items.iter().flat_map(uses).collect(),
        _ => BTreeSet::new(),
    }
}

fn named(reference: &str) -> String {
    short(reference.rsplit('/').next().unwrap_or_default())
}

fn describe(name: &str, schema: &Value, out: &mut String) {
    let Some(fields) = schema["properties"].as_object() else {
        let _ = writeln!(out, "alias {name} {}", alias(name, schema));
        return;
    };
    let _ = writeln!(out, "type {name}{}", relation(schema));
    let required = schema["required"].as_array();
    for (field, schema) in fields {
        let _ = write!(out, " {field} {}", type_of(schema));
        if required.is_some_and(|required| required.iter().any(|name| name == field)) {
            out.push_str(" !");
        }
        // An atomic type makes every field of it atomic; a field may say so on its own.
        let _ = writeln!(out, "{}{}{}", relation(schema), patch(schema), default(schema));
    }
}

/// Types without fields that the server treats in its own way.
fn alias(name: &str, schema: &Value) -> String {
    match name {
        "api.resource.Quantity" => "x".to_owned(),
        "runtime.RawExtension" => "u".to_owned(),
        "meta.v1.FieldsV1" => "d".to_owned(),
        _ => type_of(schema),
    }
}

fn type_of(schema: &Value) -> String {
    let reference = schema["$ref"].as_str().or(schema["allOf"][0]["$ref"].as_str());
    if let Some(reference) = reference {
        return format!(".{}", named(reference));
    }
    match (text(&schema["type"]), text(&schema["format"])) {
        ("string", "date-time") => "t".to_owned(),
        ("string", "byte") => "6".to_owned(),
        ("string", _) => "s".to_owned(),
        ("integer", _) => "i".to_owned(),
        ("number", _) => "n".to_owned(),
        ("boolean", _) => "b".to_owned(),
        ("array", _) => format!("[{}", type_of(&schema["items"])),
        ("object", _) if schema["additionalProperties"].is_object() => {
            format!("{{{}", type_of(&schema["additionalProperties"]))
        }
        (_, "int-or-string") => "x".to_owned(),
        _ => "d".to_owned(),
    }
}

fn relation(schema: &Value) -> String {
    let of_map = text(&schema["x-kubernetes-map-type"]);
    let of_list = text(&schema["x-kubernetes-list-type"]);
    match (of_map, of_list) {
        ("atomic", _) => " @atomic".to_owned(),
        (_, "set") => " @set".to_owned(),
        (_, "map") => format!(" @map:{}", list(&schema["x-kubernetes-list-map-keys"])),
        _ => String::new(),
    }
}

fn patch(schema: &Value) -> String {
    let key = text(&schema["x-kubernetes-patch-merge-key"]);
    match text(&schema["x-kubernetes-patch-strategy"]) {
        "" => String::new(),
        strategy if key.is_empty() => format!(" ^{strategy}"),
        strategy => format!(" ^{strategy}:{key}"),
    }
}

/// Defaults that tell list items apart, and the empty values that are always written.
fn default(schema: &Value) -> String {
    match schema.get("default") {
        None => String::new(),
        Some(Value::Object(fields)) if fields.is_empty() => " ={}".to_owned(),
        Some(value) => format!(" ={value}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_type_is_rendered_with_its_lists_and_keys() {
        let schema = json!({
            "properties": {
                "name": {"type": "string"},
                "ports": {
                    "type": "array", "items": {"$ref": "#/components/schemas/io.k8s.api.core.v1.ContainerPort"},
                    "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["containerPort", "protocol"],
                    "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "containerPort",
                },
            },
            "required": ["name"],
        });
        let mut out = String::new();
        describe("core.v1.Container", &schema, &mut out);
        assert_eq!(
            out,
            "type core.v1.Container\n name s !\n ports [.core.v1.ContainerPort @map:containerPort,protocol \
             ^merge:containerPort\n"
        );
    }
}
