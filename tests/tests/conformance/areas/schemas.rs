//! Schemas of defined kinds: validation, defaults, pruning.

use serde_json::{Value, json};

use crate::bed::{Answer, Bed, Definition, MERGE_PATCH, config_map, deployment};

behaviours![
    defaults_are_filled_in_where_their_parent_is,
    unknown_fields_are_dropped_unless_the_schema_keeps_them,
    nulls_are_dropped_unless_the_schema_takes_them,
    a_wrong_type_is_refused_with_its_path,
    limits_of_numbers_are_kept,
    limits_of_texts_are_kept,
    a_pattern_is_kept,
    one_of_the_listed_values_is_required,
    limits_of_lists_and_maps_are_kept,
    required_fields_are_required,
    an_int_or_string_is_either,
    a_whole_number_may_be_written_with_a_point,
    formats_are_looked_at,
    keys_of_a_list_and_items_of_a_set_are_there_once,
    branches_of_a_schema_are_kept,
    an_update_is_held_against_the_schema,
    what_was_wrong_before_may_stay_as_it_is,
    the_status_is_held_against_its_own_schema,
    strict_validation_names_the_unknown_fields,
    strict_validation_of_a_built_in_kind_names_the_unknown_fields,
    unknown_fields_of_a_built_in_kind_are_dropped,
    a_built_in_kind_takes_only_values_of_its_types,
    applies_merge_by_the_schema_of_the_kind,
    an_apply_of_a_field_that_the_schema_does_not_know_is_refused,
    a_removed_field_gets_its_default_back,
    an_embedded_object_keeps_its_metadata,
    keys_of_a_map_are_held_against_the_schema_of_its_values,
];

/// A kind whose spec has these properties.
async fn define(bed: &Bed, properties: Value) -> Definition {
    let spec = json!({"type": "object", "properties": properties});
    let status = json!({"type": "object", "properties": {"ready": {"type": "boolean"}}});
    let schema = json!({"type": "object", "properties": {"spec": spec, "status": status}});
    bed.define_with_schema("Widget", schema).await
}

async fn create(bed: &Bed, kind: &Definition, spec: Value) -> Answer {
    let object = kind.object("one", json!({"spec": spec}));
    bed.post(bed.collection(&kind.resource()), object).await
}

/// The causes of a refusal, as `REASON FIELD: MESSAGE`, sorted: servers walk maps in any order.
fn causes(answer: &Answer) -> Vec<String> {
    let status = answer.refused(422, "Invalid");
    let causes = status["details"]["causes"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let text = |cause: &Value, field: &str| cause[field].as_str().unwrap_or_default().to_owned();
    let shown = |cause: &Value| {
        let reason = text(cause, "reason").replace("FieldValue", "");
        format!("{reason} {}: {}", text(cause, "field"), text(cause, "message"))
    };
    let mut shown: Vec<_> = causes.iter().map(shown).collect();
    shown.sort();
    shown
}

async fn refused(bed: &Bed, properties: Value, spec: Value) -> Vec<String> {
    let kind = define(bed, properties).await;
    causes(&create(bed, &kind, spec).await)
}

async fn defaults_are_filled_in_where_their_parent_is(bed: &Bed) {
    let inner = json!({"type": "object", "properties": {"size": {"type": "integer", "default": 3}}});
    let items = json!({"type": "array", "items": inner});
    let filled =
        json!({"type": "object", "default": {}, "properties": {"on": {"type": "boolean", "default": true}}});
    let kind = define(bed, json!({"inner": inner, "items": items, "filled": filled})).await;
    let created = create(bed, &kind, json!({"items": [{}, {"size": 1}]}))
        .await
        .expect(201);
    assert_eq!(
        created["spec"],
        json!({"filled": {"on": true}, "items": [{"size": 3}, {"size": 1}]})
    );
    let patch = json!({"spec": {"inner": {}}});
    let patched = bed
        .patch(bed.object(&kind.resource(), "one"), MERGE_PATCH, patch)
        .await
        .expect(200);
    assert_eq!(patched["spec"]["inner"], json!({"size": 3}));
}

async fn unknown_fields_are_dropped_unless_the_schema_keeps_them(bed: &Bed) {
    let open = json!({
        "type": "object", "x-kubernetes-preserve-unknown-fields": true,
        "properties": {"closed": {"type": "object", "properties": {"a": {"type": "string"}}}},
    });
    let kind = define(bed, json!({"open": open})).await;
    let spec = json!({"x": 1, "open": {"x": {"y": null}, "closed": {"a": "1", "b": 2}}});
    let created = create(bed, &kind, spec).await.expect(201);
    assert_eq!(
        created["spec"],
        json!({"open": {"x": {"y": null}, "closed": {"a": "1"}}})
    );
}

async fn nulls_are_dropped_unless_the_schema_takes_them(bed: &Bed) {
    let text = json!({"type": "string"});
    let nullable = json!({"type": "string", "nullable": true});
    let filled = json!({"type": "string", "default": "x"});
    let kind = define(bed, json!({"text": text, "nullable": nullable, "filled": filled})).await;
    let created = create(
        bed,
        &kind,
        json!({"text": null, "nullable": null, "filled": null}),
    )
    .await
    .expect(201);
    assert_eq!(created["spec"], json!({"nullable": null, "filled": "x"}));
}

async fn a_wrong_type_is_refused_with_its_path(bed: &Bed) {
    let inner = json!({"type": "object", "properties": {"on": {"type": "boolean"}}});
    let list = json!({"type": "array", "items": inner});
    let kind = define(bed, json!({"size": {"type": "integer"}, "list": list})).await;
    let answer = create(
        bed,
        &kind,
        json!({"size": "big", "list": [{"on": true}, {"on": 1}]}),
    )
    .await;
    let expected = [
        "TypeInvalid spec.list[1].on: Invalid value: \"integer\": spec.list[1].on in body must be of type boolean: \
         \"integer\"",
        "TypeInvalid spec.size: Invalid value: \"string\": spec.size in body must be of type integer: \"string\"",
    ];
    assert_eq!(causes(&answer), expected);
    let answer = create(bed, &kind, json!({"size": "big"})).await;
    let message = format!(
        "Widget.{} \"one\" is invalid: spec.size: Invalid value: \"string\": spec.size in body must be of type \
         integer: \"string\"",
        kind.group
    );
    assert_eq!(answer.refused(422, "Invalid")["message"], message);
}

async fn limits_of_numbers_are_kept(bed: &Bed) {
    let properties = json!({
        "low": {"type": "integer", "minimum": 2}, "high": {"type": "number", "maximum": 5},
        "above": {"type": "integer", "minimum": 2, "exclusiveMinimum": true},
        "even": {"type": "integer", "multipleOf": 2},
    });
    let found = refused(
        bed,
        properties,
        json!({"low": 1, "high": 6, "above": 2, "even": 3}),
    )
    .await;
    let expected = [
        "Invalid spec.above: Invalid value: 2: spec.above in body should be greater than 2",
        "Invalid spec.even: Invalid value: 3: spec.even in body should be a multiple of 2",
        "Invalid spec.high: Invalid value: 6: spec.high in body should be less than or equal to 5",
        "Invalid spec.low: Invalid value: 1: spec.low in body should be greater than or equal to 2",
    ];
    assert_eq!(found, expected);
}

async fn limits_of_texts_are_kept(bed: &Bed) {
    let properties =
        json!({"long": {"type": "string", "maxLength": 3}, "short": {"type": "string", "minLength": 2}});
    let found = refused(bed, properties, json!({"long": "abcd", "short": "a"})).await;
    let expected = [
        "Invalid spec.short: Invalid value: \"a\": spec.short in body should be at least 2 chars long",
        "TooLong spec.long: Too long: may not be more than 3 bytes",
    ];
    assert_eq!(found, expected);
}

async fn a_pattern_is_kept(bed: &Bed) {
    let found = refused(
        bed,
        json!({"name": {"type": "string", "pattern": "^a+$"}}),
        json!({"name": "b"}),
    )
    .await;
    assert_eq!(
        found,
        ["Invalid spec.name: Invalid value: \"b\": spec.name in body should match '^a+$'"]
    );
}

async fn one_of_the_listed_values_is_required(bed: &Bed) {
    let properties = json!({"colour": {"type": "string", "enum": ["red", "blue"]}});
    let found = refused(bed, properties, json!({"colour": "green"})).await;
    let expected =
        ["NotSupported spec.colour: Unsupported value: \"green\": supported values: \"red\", \"blue\""];
    assert_eq!(found, expected);
}

async fn limits_of_lists_and_maps_are_kept(bed: &Bed) {
    let text = json!({"type": "string"});
    let properties = json!({
        "few": {"type": "array", "items": text, "maxItems": 1}, "many": {"type": "array", "items": text, "minItems": 2},
        "small": {"type": "object", "additionalProperties": text, "maxProperties": 1},
        "big": {"type": "object", "additionalProperties": text, "minProperties": 1},
    });
    let spec = json!({"few": ["a", "b"], "many": ["a"], "small": {"a": "1", "b": "2"}, "big": {}});
    let found = refused(bed, properties, spec).await;
    let expected = [
        "Invalid spec.big: Invalid value: 0: spec.big in body should have at least 1 properties",
        "Invalid spec.many: Invalid value: 1: spec.many in body should have at least 2 items",
        "TooMany spec.few: Too many: 2: must have at most 1 item",
        "TooMany spec.small: Too many: 2: must have at most 1 item",
    ];
    assert_eq!(found, expected);
}

async fn required_fields_are_required(bed: &Bed) {
    let inner = json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}});
    let kind = define(
        bed,
        json!({"inner": inner, "list": {"type": "array", "items": inner}}),
    )
    .await;
    let answer = create(
        bed,
        &kind,
        json!({"inner": {}, "list": [{"a": "1"}, {"a": null}]}),
    )
    .await;
    let expected = [
        "Required spec.inner.a: Required value",
        "Required spec.list[1].a: Required value",
    ];
    assert_eq!(causes(&answer), expected);
    create(bed, &kind, json!({})).await.expect(201);
}

async fn an_int_or_string_is_either(bed: &Bed) {
    let kind = define(bed, json!({"port": {"x-kubernetes-int-or-string": true}})).await;
    let answer = create(bed, &kind, json!({"port": true})).await;
    let expected = [
        "TypeInvalid spec.port: Invalid value: \"boolean\": spec.port in body must be of type \
                     integer,string: \"boolean\"",
    ];
    assert_eq!(causes(&answer), expected);
    let created = create(bed, &kind, json!({"port": "http"})).await.expect(201);
    assert_eq!(created["spec"]["port"], "http");
}

async fn a_whole_number_may_be_written_with_a_point(bed: &Bed) {
    let kind = define(bed, json!({"size": {"type": "integer"}})).await;
    let answer = create(bed, &kind, json!({"size": 1.5})).await;
    assert!(
        causes(&answer)[1].starts_with("TypeInvalid spec.size"),
        "{answer}"
    );
    let created = create(bed, &kind, json!({"size": 1.0})).await.expect(201);
    assert_eq!(created["spec"]["size"].as_f64(), Some(1.0));
}

async fn formats_are_looked_at(bed: &Bed) {
    let formats = [
        "date-time",
        "date",
        "ipv4",
        "ipv6",
        "cidr",
        "uuid",
        "email",
        "hostname",
        "mac",
        "byte",
        "duration",
    ];
    let properties: Value = formats
        .iter()
        .map(|format| {
            (
                (*format).replace('-', ""),
                json!({"type": "string", "format": format}),
            )
        })
        .chain([("other".to_owned(), json!({"type": "string", "format": "colour"}))])
        .collect::<serde_json::Map<_, _>>()
        .into();
    let wrong: Value = properties
        .as_object()
        .unwrap()
        .keys()
        .map(|name| (name.clone(), json!("-")))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let kind = define(bed, properties).await;
    let answer = create(bed, &kind, wrong).await;
    let fields: Vec<_> = formats
        .iter()
        .map(|format| format!("spec.{}", format.replace('-', "")))
        .collect();
    let found = causes(&answer);
    assert_eq!(found.len(), fields.len(), "{found:#?}");
    for field in &fields {
        assert!(
            found.iter().any(|cause| cause.contains(&format!(" {field}: "))),
            "{field}: {found:#?}"
        );
    }
    let right = json!({
        "datetime": "2026-01-02T03:04:05Z", "date": "2026-01-02", "ipv4": "10.0.0.1", "ipv6": "fe80::1",
        "cidr": "10.0.0.0/8", "uuid": "0e84cb5a-df47-49d5-b234-eaaef88acef2", "email": "a@example.com",
        "hostname": "example.com", "mac": "00:11:22:33:44:55", "byte": "dmFsdWU=", "duration": "1h30m",
    });
    create(bed, &kind, right).await.expect(201);
}

fn keyed() -> Value {
    json!({
        "list": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object", "required": ["name"],
                "properties": {"name": {"type": "string"}, "size": {"type": "integer", "default": 1}},
            },
        },
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "plain": {"type": "array", "items": {"type": "string"}},
        "whole": {
            "type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"},
        },
    })
}

async fn keys_of_a_list_and_items_of_a_set_are_there_once(bed: &Bed) {
    let spec = json!({"list": [{"name": "a"}, {"name": "a"}], "set": ["x", "y", "x"], "plain": ["x", "x"]});
    let found = refused(bed, keyed(), spec).await;
    let expected = [
        "Duplicate spec.list[1]: Duplicate value: {\"name\":\"a\"}",
        "Duplicate spec.set[2]: Duplicate value: \"x\"",
    ];
    assert_eq!(found, expected);
}

async fn branches_of_a_schema_are_kept(bed: &Bed) {
    let inner = json!({
        "type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
    });
    let even = json!({"type": "integer", "not": {"enum": [3]}, "anyOf": [{"minimum": 5}, {"maximum": 3}]});
    let kind = define(bed, json!({"inner": inner, "even": even})).await;
    for wrong in [
        json!({"inner": {}}),
        json!({"inner": {"a": "1", "b": "1"}}),
        json!({"even": 3}),
        json!({"even": 4}),
    ] {
        let answer = create(bed, &kind, wrong).await;
        assert!(!causes(&answer).is_empty(), "{answer}");
    }
    create(bed, &kind, json!({"inner": {"a": "1"}, "even": 2}))
        .await
        .expect(201);
}

async fn an_update_is_held_against_the_schema(bed: &Bed) {
    let kind = define(bed, json!({"size": {"type": "integer", "maximum": 5}})).await;
    let mut object = create(bed, &kind, json!({"size": 1})).await.expect(201);
    object["spec"]["size"] = 6.into();
    let answer = bed.put(bed.object(&kind.resource(), "one"), object).await;
    let expected =
        ["Invalid spec.size: Invalid value: 6: spec.size in body should be less than or equal to 5"];
    assert_eq!(causes(&answer), expected);
}

async fn what_was_wrong_before_may_stay_as_it_is(bed: &Bed) {
    let kind = define(
        bed,
        json!({"size": {"type": "integer"}, "note": {"type": "string"}}),
    )
    .await;
    create(bed, &kind, json!({"size": 9})).await.expect(201);
    let mut definition = bed.get(kind.path()).await.expect(200);
    let schema = &mut definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    schema["properties"]["spec"]["properties"]["size"]["maximum"] = 5.into();
    bed.put(kind.path(), definition).await.expect(200);
    let path = bed.object(&kind.resource(), "one");
    bed.eventually("the new schema to hold", async || {
        let change = json!({"spec": {"size": 8}});
        match bed
            .patch(path.as_str(), MERGE_PATCH, change)
            .query("dryRun", "All")
            .await
        {
            refused if refused.code() == 422 => Ok(()),
            other => Err(other.to_string()),
        }
    })
    .await;
    let patched = bed
        .patch(path, MERGE_PATCH, json!({"spec": {"note": "x"}}))
        .await
        .expect(200);
    assert_eq!(patched["spec"], json!({"size": 9, "note": "x"}));
}

async fn the_status_is_held_against_its_own_schema(bed: &Bed) {
    let kind = define(bed, json!({})).await;
    create(bed, &kind, json!({})).await.expect(201);
    let path = bed.object(&kind.resource(), "one/status");
    let answer = bed
        .patch(path.as_str(), MERGE_PATCH, json!({"status": {"ready": "yes"}}))
        .await;
    let expected = [
        "TypeInvalid status.ready: Invalid value: \"string\": ready in body must be of type boolean: \
                     \"string\"",
    ];
    assert_eq!(causes(&answer), expected);
    let change = json!({"status": {"ready": true, "other": 1}});
    let patched = bed.patch(path, MERGE_PATCH, change).await.expect(200);
    assert_eq!(patched["status"], json!({"ready": true}));
}

async fn strict_validation_names_the_unknown_fields(bed: &Bed) {
    let list = json!({"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}});
    let kind = define(bed, json!({"list": list})).await;
    let object = kind.object(
        "one",
        json!({"spec": {"x": 1, "list": [{"a": "1"}, {"b": 1}]}, "more": {}}),
    );
    let path = bed.collection(&kind.resource());
    let answer = bed
        .post(path.as_str(), object.clone())
        .query("fieldValidation", "Strict")
        .await;
    let message = "Widget in version \"v1\" cannot be handled as a Widget: strict decoding error: unknown field \
                   \"more\", unknown field \"spec.list[1].b\", unknown field \"spec.x\"";
    assert_eq!(answer.refused(400, "BadRequest")["message"], message);
    let created = bed
        .post(path, object)
        .query("fieldValidation", "Ignore")
        .await
        .expect(201);
    assert_eq!(created["spec"], json!({"list": [{"a": "1"}, {}]}));
    let path = bed.object(&kind.resource(), "one");
    let change = json!({"spec": {"x": 1}});
    let answer = bed
        .patch(path, MERGE_PATCH, change)
        .query("fieldValidation", "Strict")
        .await;
    let found = causes(&answer);
    assert!(
        found[0].ends_with("strict decoding error: unknown field \"spec.x\""),
        "{found:?}"
    );
}

async fn strict_validation_of_a_built_in_kind_names_the_unknown_fields(bed: &Bed) {
    let mut object = config_map("a");
    object["spec"] = json!({});
    object["metadata"]["colour"] = "red".into();
    let path = bed.collection("configmaps");
    let answer = bed.post(path, object).query("fieldValidation", "Strict").await;
    let message = "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: unknown field \
                   \"metadata.colour\", unknown field \"spec\"";
    assert_eq!(answer.refused(400, "BadRequest")["message"], message);
}

async fn unknown_fields_of_a_built_in_kind_are_dropped(bed: &Bed) {
    let mut object = config_map("a");
    object["spec"] = json!({});
    object["metadata"]["colour"] = "red".into();
    let created = bed.create("configmaps", object).await;
    assert_eq!(created.get("spec"), None);
    assert_eq!(created["metadata"].get("colour"), None);
}

async fn a_built_in_kind_takes_only_values_of_its_types(bed: &Bed) {
    for (pointer, wrong) in [
        ("/spec/replicas", json!("three")),
        ("/spec/replicas", json!(1.5)),
        ("/spec", json!(3)),
        ("/spec/template/spec/containers", json!({})),
        ("/spec/template/spec/containers/0", json!("main")),
        ("/spec/template/spec/containers/0/image", json!(["main"])),
    ] {
        let mut object = deployment("web");
        *object.pointer_mut(pointer).unwrap() = wrong;
        let answer = bed.post(bed.collection("apps/v1/deployments"), object).await;
        let status = answer.refused(400, "BadRequest");
        let message = status["message"].as_str().unwrap();
        assert!(
            message.contains("cannot be handled as a Deployment: json: cannot unmarshal"),
            "{message}"
        );
    }
    bed.create("apps/v1/deployments", deployment("web")).await;
    let change = json!({"spec": {"replicas": "three"}});
    let answer = bed
        .patch(bed.object("apps/v1/deployments", "web"), MERGE_PATCH, change)
        .await;
    let status = answer.refused(422, "Invalid");
    assert_eq!(status["details"]["causes"][0]["field"], "patch");
}

async fn applies_merge_by_the_schema_of_the_kind(bed: &Bed) {
    let kind = define(bed, keyed()).await;
    let path = bed.object(&kind.resource(), "one");
    let object = |spec: Value| kind.object("one", json!({"spec": spec}));
    let first =
        json!({"list": [{"name": "a", "size": 2}], "set": ["x"], "plain": ["p"], "whole": {"a": "1"}});
    bed.apply(path.as_str(), "one", object(first)).await.expect(201);
    let second = json!({"list": [{"name": "b"}], "set": ["y"]});
    let merged = bed.apply(path.as_str(), "two", object(second)).await.expect(200);
    let list = json!([{"name": "a", "size": 2}, {"name": "b", "size": 1}]);
    let expected = json!({"list": list, "set": ["x", "y"], "plain": ["p"], "whole": {"a": "1"}});
    assert_eq!(merged["spec"], expected);
    for (spec, field) in [
        (json!({"plain": ["q"]}), ".spec.plain"),
        (json!({"whole": {"b": "1"}}), ".spec.whole"),
    ] {
        let status = bed
            .apply(path.as_str(), "two", object(spec))
            .await
            .refused(409, "Conflict");
        assert_eq!(status["details"]["causes"][0]["field"], field);
    }
    let left = bed
        .apply(path, "one", object(json!({"set": ["x"]})))
        .await
        .expect(200);
    assert_eq!(
        left["spec"],
        json!({"list": [{"name": "b", "size": 1}], "set": ["x", "y"]})
    );
}

async fn an_apply_of_a_field_that_the_schema_does_not_know_is_refused(bed: &Bed) {
    let kind = define(bed, json!({"size": {"type": "integer"}})).await;
    let object = kind.object("one", json!({"spec": {"sise": 1}}));
    let answer = bed
        .apply(bed.object(&kind.resource(), "one"), "one", object)
        .await;
    let status = answer.refused(500, "");
    let message = status["message"].as_str().unwrap();
    assert!(
        message.ends_with(".spec.sise: field not declared in schema"),
        "{message}"
    );
}

async fn a_removed_field_gets_its_default_back(bed: &Bed) {
    let kind = define(
        bed,
        json!({"size": {"type": "integer", "default": 2}, "note": {"type": "string"}}),
    )
    .await;
    let path = bed.object(&kind.resource(), "one");
    let object = |spec: Value| kind.object("one", json!({"spec": spec}));
    bed.apply(path.as_str(), "one", object(json!({"size": 5, "note": "x"})))
        .await
        .expect(201);
    let left = bed
        .apply(path, "one", object(json!({"note": "x"})))
        .await
        .expect(200);
    assert_eq!(left["spec"], json!({"size": 2, "note": "x"}));
}

async fn an_embedded_object_keeps_its_metadata(bed: &Bed) {
    let inner = json!({
        "type": "object", "x-kubernetes-embedded-resource": true,
        "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}},
    });
    let kind = define(bed, json!({"inner": inner})).await;
    let spec = json!({"inner": {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "labels": {"a": "1"}}, "spec": {"a": "1", "b": 1},
    }});
    let created = create(bed, &kind, spec).await.expect(201);
    let expected = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "labels": {"a": "1"}}, "spec": {"a": "1"},
    });
    assert_eq!(created["spec"]["inner"], expected);
}

async fn keys_of_a_map_are_held_against_the_schema_of_its_values(bed: &Bed) {
    let values = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let kind = define(
        bed,
        json!({"map": {"type": "object", "additionalProperties": values}}),
    )
    .await;
    let answer = create(bed, &kind, json!({"map": {"a": {"n": "x"}}})).await;
    let expected = [
        "TypeInvalid spec.map.a.n: Invalid value: \"string\": spec.map.a.n in body must be of type integer: \"string\"",
    ];
    assert_eq!(causes(&answer), expected);
    let created = create(bed, &kind, json!({"map": {"a": {"n": 1, "m": 2}}}))
        .await
        .expect(201);
    assert_eq!(created["spec"]["map"], json!({"a": {"n": 1}}));
}
