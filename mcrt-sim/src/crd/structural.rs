//! Whether a schema is structural, which is what the API server asks of it.

use serde_json::{Map, Value};

use crate::crd::check::{check, fits};
use crate::crd::fill;
use crate::crd::node::Node;
use crate::refusal::cause::Cause;

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
/// What only the schema itself may say, not the rules inside of `allOf` and the like.
const STRUCTURE: [(&str, &str); 5] = [
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
];
const FLAGS: [&str; 3] = [
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
];

/// What keeps a schema from being structural, in the order of the texts.
pub(crate) fn check_schema(schema: &Value, place: &str) -> Vec<Cause> {
    let mut walk = Walk::default();
    walk.node(schema, place, Level::Root);
    let mut causes = walk.causes;
    causes.sort_by_key(Cause::text);
    causes
}

#[derive(Clone, Copy, PartialEq)]
enum Level {
    Root,
    Field,
    Item,
}

#[derive(Default)]
struct Walk {
    causes: Vec<Cause>,
}

impl Walk {
    fn required(&mut self, at: &str, field: &str, why: &str) {
        self.causes.push(Cause::required(&format!("{at}.{field}"), why));
    }

    fn forbidden(&mut self, at: &str, field: &str, why: &str) {
        self.causes.push(Cause::forbidden(&format!("{at}.{field}"), why));
    }

    fn node(&mut self, schema: &Value, at: &str, level: Level) {
        let Some(fields) = schema.as_object() else { return };
        self.types(fields, at, level);
        self.lists(schema, at);
        self.forbid(schema, at);
        let properties = schema["properties"].as_object();
        let rest = &schema["additionalProperties"];
        if rest.is_object() || *rest == true {
            if properties.is_some_and(|properties| !properties.is_empty()) {
                self.forbidden(
                    at,
                    "additionalProperties",
                    "additionalProperties and properties are mutual exclusive",
                );
            }
            if level == Level::Root {
                self.forbidden(at, "additionalProperties", "must not be used at the root");
            }
            self.node(rest, &format!("{at}.additionalProperties"), Level::Field);
        }
        for (name, field) in properties.into_iter().flatten() {
            let here = format!("{at}.properties[{name}]");
            if level == Level::Root && name == "metadata" {
                self.metadata(field, &here);
            } else {
                self.node(field, &here, Level::Field);
            }
        }
        if schema["items"].is_object() {
            self.node(&schema["items"], &format!("{at}.items"), Level::Item);
        }
        self.rules(schema, at);
        self.own_default(schema, at);
    }

    fn types(&mut self, schema: &Map<String, Value>, at: &str, level: Level) {
        let flag = |name: &str| schema.get(name).is_some_and(|flag| *flag == true);
        let ty = schema.get("type").and_then(Value::as_str).unwrap_or_default();
        if ty.is_empty() {
            if flag("x-kubernetes-embedded-resource") {
                self.required(
                    at,
                    "type",
                    "must be object if x-kubernetes-embedded-resource is true",
                );
            } else if !flag("x-kubernetes-int-or-string") && !flag("x-kubernetes-preserve-unknown-fields") {
                let why = match level {
                    Level::Root => "must not be empty at the root",
                    Level::Item => "must not be empty for specified array items",
                    Level::Field => "must not be empty for specified object fields",
                };
                self.required(at, "type", why);
            }
        } else if !TYPES.contains(&ty) {
            self.causes
                .push(Cause::unsupported(&format!("{at}.type"), ty, &TYPES));
        } else if level == Level::Root && ty != "object" {
            let why = "must be object at the root";
            self.causes
                .push(Cause::invalid_text(&format!("{at}.type"), ty, why));
        }
        if ty == "array" && !schema.get("items").is_some_and(Value::is_object) {
            self.required(at, "items", "must be specified");
        }
        if flag("x-kubernetes-int-or-string") && flag("x-kubernetes-preserve-unknown-fields") {
            let field = format!("{at}.x-kubernetes-preserve-unknown-fields");
            let why = "must be false if x-kubernetes-int-or-string is true";
            self.causes.push(Cause::invalid(&field, true, why));
        }
    }

    fn lists(&mut self, schema: &Value, at: &str) {
        let list = schema["x-kubernetes-list-type"].as_str().unwrap_or_default();
        let keys = schema["x-kubernetes-list-map-keys"]
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        if list == "map" && keys.is_empty() {
            let why = "must not be empty if x-kubernetes-list-type is map";
            self.required(at, "x-kubernetes-list-map-keys", why);
        }
        if list != "map" && !keys.is_empty() {
            self.forbidden(
                at,
                "x-kubernetes-list-map-keys",
                "must be empty if x-kubernetes-list-type is not map",
            );
        }
        let item = &schema["items"];
        for key in keys.iter().filter_map(Value::as_str) {
            let property = &item["properties"][key];
            if property.is_null() {
                let field = format!("{at}.x-kubernetes-list-map-keys");
                let why = "entries must all be names of item properties";
                self.causes.push(Cause::invalid_text(&field, key, why));
                continue;
            }
            let required = item["required"]
                .as_array()
                .is_some_and(|names| names.iter().any(|name| name == key));
            if !required && property["default"].is_null() {
                let why = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
                self.required(&format!("{at}.items.properties[{key}]"), "default", why);
            }
        }
    }

    fn forbid(&mut self, schema: &Value, at: &str) {
        if schema["$ref"].is_string() {
            self.forbidden(at, "$ref", "$ref is not supported");
        }
        if schema["uniqueItems"] == true {
            let why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            self.forbidden(at, "uniqueItems", why);
        }
        if schema["x-kubernetes-preserve-unknown-fields"] == false {
            let field = format!("{at}.x-kubernetes-preserve-unknown-fields");
            self.causes
                .push(Cause::invalid(&field, false, "must be true or undefined"));
        }
        for name in ["definitions", "dependencies", "patternProperties"] {
            if schema[name].is_object() {
                self.forbidden(at, name, &format!("{name} is not supported"));
            }
        }
    }

    /// The metadata of the root is the server's: a schema may only say what names look like.
    fn metadata(&mut self, schema: &Value, at: &str) {
        let mut rest = schema.as_object().cloned().unwrap_or_default();
        rest.retain(|name, _| !matches!(name.as_str(), "type" | "default" | "description"));
        if let Some(properties) = rest.get_mut("properties").and_then(Value::as_object_mut) {
            properties.retain(|name, _| !matches!(name.as_str(), "name" | "generateName"));
            if properties.is_empty() {
                rest.remove("properties");
            }
        }
        if !rest.is_empty() {
            let why = "must not specify anything other than name and generateName, but metadata is implicitly specified";
            self.causes.push(Cause::forbidden(at, why));
        }
    }

    fn rules(&mut self, schema: &Value, at: &str) {
        if let Some(pattern) = schema["pattern"].as_str()
            && regex::Regex::new(pattern).is_err()
        {
            let why = "must be a valid regular expression";
            self.causes
                .push(Cause::invalid_text(&format!("{at}.pattern"), pattern, why));
        }
        for junctor in ["allOf", "anyOf", "oneOf"] {
            for (index, branch) in schema[junctor].as_array().into_iter().flatten().enumerate() {
                let int_or_string = junctor != "oneOf" && schema["x-kubernetes-int-or-string"] == true;
                if !int_or_string {
                    self.branch(branch, &format!("{at}.{junctor}[{index}]"));
                }
            }
        }
        if schema["not"].is_object() {
            self.branch(&schema["not"], &format!("{at}.not"));
        }
    }

    fn branch(&mut self, schema: &Value, at: &str) {
        for (name, why) in STRUCTURE {
            if !schema[name].is_null() {
                self.forbidden(at, name, why);
            }
        }
        for name in FLAGS.iter().chain(&["nullable"]) {
            if schema[*name] == true {
                self.forbidden(at, name, "must be false to be structural");
            }
        }
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let here = format!("{at}.properties[{name}]");
            if name == "metadata" {
                self.causes.push(Cause::forbidden(
                    &here,
                    "must not be specified in a nested context",
                ));
            }
            self.branch(field, &here);
        }
        if schema["items"].is_object() {
            self.branch(&schema["items"], &format!("{at}.items"));
        }
        self.rules(schema, at);
    }

    /// A default has to keep the rules of its own schema.
    fn own_default(&mut self, schema: &Value, at: &str) {
        let Some(default) = schema.get("default").filter(|default| !default.is_null()) else {
            return;
        };
        let node = Node::read(schema);
        let mut filled = default.clone();
        fill::default(&node, &mut filled);
        if fits(&node, &filled) {
            return;
        }
        for mut cause in check(&node, &filled, None) {
            cause.put_under(&format!("{at}.default"));
            self.causes.push(cause);
        }
    }
}
