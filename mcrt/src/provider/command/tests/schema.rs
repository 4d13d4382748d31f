//! `schema.json` and the reader of lines say the same.
use super::super::{
    access::NAMESPACE,
    line::{FIELDS, Holds, Line},
};
use crate::{
    connect::{CLUSTER, Policy, USER},
    provider::said::Claim,
    providers::Command,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn schema() -> Value {
    serde_json::from_str(Command::SCHEMA).expect("the schema is JSON")
}

/// Whether a value fits, as far as the words of our schema go; any other word is an error of the test.
fn fits(root: &Value, schema: &Value, value: &Value) -> bool {
    let Some(words) = schema.as_object() else {
        return schema.as_bool().expect("a schema is an object or a truth value");
    };
    words.iter().all(|(word, says)| match word.as_str() {
        "$schema" | "$id" | "$defs" | "title" | "description" | "examples" => true,
        "$ref" => {
            let path = says
                .as_str()
                .and_then(|path| path.strip_prefix('#'))
                .expect("a path in here");
            fits(root, root.pointer(path).expect("it leads somewhere"), value)
        }
        "oneOf" => list(says).filter(|schema| fits(root, schema, value)).count() == 1,
        "type" => match says {
            Value::Array(_) => list(says).any(|name| is_a(value, name)),
            name => is_a(value, name),
        },
        "const" => value == says,
        "required" => value
            .as_object()
            .is_none_or(|fields| list(says).all(|name| fields.contains_key(name.as_str().unwrap()))),
        "properties" => value.as_object().is_none_or(|fields| {
            let says = says.as_object().unwrap();
            fields
                .iter()
                .all(|(name, value)| says.get(name).is_none_or(|schema| fits(root, schema, value)))
        }),
        "additionalProperties" => value.as_object().is_none_or(|fields| {
            let known = words.get("properties").and_then(Value::as_object);
            fields
                .iter()
                .filter(|(name, _)| !known.is_some_and(|known| known.contains_key(*name)))
                .all(|(_, value)| fits(root, says, value))
        }),
        "minLength" => value
            .as_str()
            .is_none_or(|text| text.chars().count() as u64 >= says.as_u64().unwrap()),
        "maxLength" => value
            .as_str()
            .is_none_or(|text| text.chars().count() as u64 <= says.as_u64().unwrap()),
        "pattern" => {
            assert_eq!(
                says, r"^[^\u0000-\u001f\u007f-\u009f]*$",
                "the one that is known here"
            );
            value
                .as_str()
                .is_none_or(|text| !text.chars().any(char::is_control))
        }
        other => panic!("`{other}` is not known here"),
    })
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().expect("a list").iter()
}

fn is_a(value: &Value, name: &Value) -> bool {
    match name.as_str().unwrap() {
        "object" => value.is_object(),
        "string" => value.is_string(),
        "null" => value.is_null(),
        other => panic!("`{other}` is not known here"),
    }
}

/// Whether the reader takes the line for what it should be; what a kubeconfig holds is another matter.
fn is_taken(line: &Value) -> bool {
    match Line::read(line.to_string().as_bytes()) {
        Line::Cluster(_, described) => described.is_ok(),
        Line::Remove(_) | Line::Synced => true,
        Line::Nameless(_) => false,
    }
}

#[test]
fn every_example_of_the_schema_fits_it_and_is_read() {
    let schema = schema();
    let policy = Policy::strict().allow_command("aws");
    let mut count = 0;
    for example in list(&schema["examples"]) {
        assert!(fits(&schema, &schema, example), "{example}");
        assert!(is_taken(example), "{example}");
        if let Line::Cluster(name, Ok(described)) = Line::read(example.to_string().as_bytes()) {
            let claim = described.vet(&name, &policy);
            let expected = example.get("unusable").is_none();
            assert_eq!(matches!(claim, Claim::Good(_)), expected, "{claim:?}");
        }
        count += 1;
    }
    assert!(count >= 6);
}

#[test]
fn the_schema_has_the_fields_of_the_reader_with_their_types() {
    let schema = schema();
    let fields = schema["$defs"]["cluster"]["properties"].as_object().unwrap();
    let names: BTreeSet<&str> = fields.keys().map(String::as_str).collect();
    assert_eq!(names, FIELDS.iter().map(|(name, _)| *name).collect());
    for (name, holds) in FIELDS {
        let types: BTreeSet<String> = match &fields[*name]["type"] {
            Value::String(name) => BTreeSet::from([name.clone()]),
            types => list(types)
                .map(|name| name.as_str().unwrap().to_owned())
                .collect(),
        };
        let mut expected: BTreeSet<String> = match holds {
            Holds::Text => BTreeSet::from(["string".into()]),
            Holds::TextOrObject => BTreeSet::from(["string".into(), "object".into()]),
            Holds::Object | Holds::Texts => BTreeSet::from(["object".into()]),
        };
        if *name != "name" {
            expected.insert("null".into());
        }
        assert_eq!(types, expected, "{name}");
    }
    let access = fields["access"]["properties"].as_object().unwrap();
    let access: BTreeSet<&str> = access.keys().map(String::as_str).collect();
    let known = CLUSTER.iter().chain(USER).copied().chain([NAMESPACE]);
    assert_eq!(access, known.collect());
}

#[test]
fn the_schema_and_the_reader_agree_on_what_is_a_line() {
    let schema = schema();
    let mut lines = vec![
        json!(null),
        json!([]),
        json!("a"),
        json!({}),
        json!({"name": "a"}),
        json!({"name": null, "unusable": "x"}),
        json!({"name": "", "unusable": "x"}),
        json!({"name": "a\u{7}", "unusable": "x"}),
        json!({"name": "x".repeat(254), "unusable": "x"}),
        json!({"name": "x".repeat(253), "unusable": "x"}),
        json!({"unusable": "x"}),
        json!({"remove": "a"}),
        json!({"remove": ""}),
        json!({"remove": 5}),
        json!({"remove": "a", "name": "a"}),
        json!({"synced": true}),
        json!({"synced": null}),
        json!({"synced": true, "name": null}),
        json!({"remove": "a", "name": null}),
        json!({"name": "a", "unusable": "x", "synced": null}),
        json!({"name": "a", "unusable": "x", "other": null}),
        json!({"name": "a", "unusable": "x", "uid": null}),
        json!({"synced": false}),
        json!({"synced": true, "name": "a", "unusable": "x"}),
        json!({"name": "a", "unusable": "x", "other": 1}),
        json!({"name": "a", "access": {"server": "x"}}),
        json!({"name": "a", "access": {"sever": "x"}}),
    ];
    // Every field with every kind of value, alone, and beside each way to reach the cluster.
    let values = [
        json!(null),
        json!("x"),
        json!(5),
        json!(true),
        json!([]),
        json!({}),
        json!({"a": 5}),
        json!({"a": null}),
    ];
    for (field, _) in FIELDS {
        for value in &values {
            for how in ["kubeconfig", "access", "unusable"] {
                let reached = if how == "access" { json!({}) } else { json!("x") };
                let mut line = json!({"name": "a", how: reached});
                line[*field] = value.clone();
                lines.push(line);
            }
            let mut line = json!({"name": "a"});
            line[*field] = value.clone();
            lines.push(line);
        }
    }
    let mut taken = 0;
    for line in &lines {
        assert_eq!(fits(&schema, &schema, line), is_taken(line), "{line}");
        taken += usize::from(is_taken(line));
    }
    assert!(
        taken > 30 && taken + 30 < lines.len(),
        "{taken} of {}",
        lines.len()
    );
}
