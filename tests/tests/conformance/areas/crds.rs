//! Kinds defined through the API, and what becomes of their objects.

use serde_json::{Value, json};

use crate::bed::{Answer, Bed, DEFINITIONS, MERGE_PATCH};

behaviours![
    a_defined_kind_has_objects,
    a_definition_gets_names_and_conditions,
    a_definition_is_named_after_its_kind,
    a_definition_has_one_version_to_store,
    a_definition_needs_a_schema_and_a_scope,
    a_schema_that_is_not_structural_is_refused,
    a_default_has_to_fit_its_schema,
    a_definition_whose_names_are_taken_is_not_served,
    a_kind_has_several_versions_of_the_same_objects,
    a_version_that_is_not_served_is_not_found,
    stored_versions_are_remembered,
    a_wider_schema_takes_new_fields,
    a_removed_definition_takes_its_objects_along,
    a_definition_that_is_removed_waits_for_its_objects,
    the_scope_of_a_definition_stays,
    a_kind_without_a_status_subresource_has_its_status_written_with_the_rest,
    a_kind_of_the_cluster_has_no_namespaces,
    a_new_object_owns_what_it_says_and_its_defaults,
    columns_of_a_definition_are_kept,
    a_custom_resource_says_its_type,
    generation_counts_what_is_not_metadata_or_status,
];

fn version(name: &str, storage: bool, schema: Value) -> Value {
    json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": schema}})
}

fn anything() -> Value {
    json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

async fn a_defined_kind_has_objects(bed: &Bed) {
    let widgets = bed.define("Widget").await;
    let widget = widgets.object("one", json!({"spec": {"size": 1}}));
    let created = bed.create(&widgets.resource(), widget).await;
    assert_eq!(created["metadata"]["generation"], 1);
    assert_eq!(bed.read(&widgets.resource(), "one").await, created);
}

fn condition<'a>(object: &'a Value, kind: &str) -> &'a Value {
    let conditions = object["status"]["conditions"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    conditions
        .iter()
        .find(|one| one["type"] == kind)
        .unwrap_or(&Value::Null)
}

async fn a_definition_gets_names_and_conditions(bed: &Bed) {
    let widgets = bed.define("Widget").await;
    let definition = bed.get(widgets.path()).await.expect(200);
    let names =
        json!({"kind": "Widget", "listKind": "WidgetList", "plural": "widgets", "singular": "widget"});
    assert_eq!(definition["spec"]["names"], names);
    assert_eq!(definition["spec"]["conversion"], json!({"strategy": "None"}));
    assert_eq!(definition["status"]["acceptedNames"], names);
    assert_eq!(definition["status"]["storedVersions"], json!(["v1"]));
    for (kind, reason, message) in [
        ("NamesAccepted", "NoConflicts", "no conflicts found"),
        (
            "Established",
            "InitialNamesAccepted",
            "the initial names have been accepted",
        ),
    ] {
        let found = condition(&definition, kind);
        assert_eq!(
            (&found["status"], &found["reason"], &found["message"]),
            (&json!("True"), &json!(reason), &json!(message))
        );
        assert!(found["lastTransitionTime"].is_string());
    }
}

/// The causes of a refusal, as `FIELD: MESSAGE`.
fn causes(answer: &Answer) -> Vec<String> {
    let status = answer.refused(422, "Invalid");
    let causes = status["details"]["causes"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let text = |cause: &Value, field: &str| cause[field].as_str().unwrap_or_default().to_owned();
    causes
        .iter()
        .map(|cause| format!("{}: {}", text(cause, "field"), text(cause, "message")))
        .collect()
}

async fn a_definition_is_named_after_its_kind(bed: &Bed) {
    let mut definition = bed.definition("Widget", json!([version("v1", true, anything())]));
    let name = format!("other.{}", bed.group());
    definition["metadata"]["name"] = name.as_str().into();
    let refused = bed.post(DEFINITIONS, definition).await;
    let expected =
        format!("metadata.name: Invalid value: \"{name}\": must be spec.names.plural+\".\"+spec.group");
    assert_eq!(causes(&refused), [expected]);
}

async fn a_definition_has_one_version_to_store(bed: &Bed) {
    for stored in [false, true] {
        let versions = json!([
            version("v1", stored, anything()),
            version("v2", stored, anything())
        ]);
        let refused = bed.post(DEFINITIONS, bed.definition("Widget", versions)).await;
        let found = causes(&refused);
        let expected = "must have exactly one version marked as storage version";
        assert!(
            found[0].starts_with("spec.versions: ") && found[0].ends_with(expected),
            "{found:?}"
        );
    }
}

async fn a_definition_needs_a_schema_and_a_scope(bed: &Bed) {
    let bare = json!([{"name": "v1", "served": true, "storage": true}]);
    let refused = bed.post(DEFINITIONS, bed.definition("Widget", bare)).await;
    assert_eq!(
        causes(&refused),
        ["spec.versions[0].schema.openAPIV3Schema: Required value"]
    );
    let mut definition = bed.definition("Widget", json!([version("v1", true, anything())]));
    definition["spec"]["scope"] = "Planet".into();
    let refused = bed.post(DEFINITIONS, definition).await;
    let expected = "spec.scope: Unsupported value: \"Planet\": supported values: \"Cluster\", \"Namespaced\"";
    assert_eq!(causes(&refused), [expected]);
}

async fn a_schema_that_is_not_structural_is_refused(bed: &Bed) {
    let text = json!({"type": "string"});
    let item = json!({"type": "object", "properties": {"k": text}});
    let list = |extra: Value| {
        let mut list = json!({"type": "array", "items": item, "x-kubernetes-list-type": "map"});
        list.as_object_mut()
            .unwrap()
            .extend(extra.as_object().cloned().unwrap_or_default());
        list
    };
    let cases = [
        (
            json!({}),
            "type: Required value: must not be empty for specified object fields",
        ),
        (
            json!({"type": "text"}),
            "type: Unsupported value: \"text\": supported values: \"array\", \"boolean\", \"integer\", \"number\", \
             \"object\", \"string\"",
        ),
        (
            json!({"type": "array"}),
            "items: Required value: must be specified",
        ),
        (
            json!({"type": "array", "items": {}}),
            "items.type: Required value: must not be empty for specified array items",
        ),
        (
            json!({"type": "object", "properties": {"b": text}, "additionalProperties": text}),
            "additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
        ),
        (
            list(json!({})),
            "x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
        ),
        (
            list(json!({"x-kubernetes-list-map-keys": ["k"]})),
            "items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must \
             have a default or be a required property",
        ),
        (
            json!({"type": "array", "uniqueItems": true, "items": text}),
            "uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        ),
        (
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": false}),
            "x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined",
        ),
        (
            json!({"type": "object", "anyOf": [{"type": "object"}]}),
            "anyOf[0].type: Forbidden: must be empty to be structural",
        ),
    ];
    for (schema, expected) in cases {
        let schema = json!({"type": "object", "properties": {"a": schema}});
        let definition = bed.definition("Widget", json!([version("v1", true, schema)]));
        let refused = bed.post(DEFINITIONS, definition).await;
        assert_eq!(
            causes(&refused),
            [format!(
                "spec.validation.openAPIV3Schema.properties[a].{expected}"
            )]
        );
    }
    let definition = bed.definition(
        "Widget",
        json!([version("v1", true, json!({"properties": {"a": text}}))]),
    );
    let expected = "spec.validation.openAPIV3Schema.type: Required value: must not be empty at the root";
    assert_eq!(causes(&bed.post(DEFINITIONS, definition).await), [expected]);
}

async fn a_default_has_to_fit_its_schema(bed: &Bed) {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer", "default": "x"}}});
    let definition = bed.definition("Widget", json!([version("v1", true, schema)]));
    let expected = "spec.validation.openAPIV3Schema.properties[a].default: Invalid value: \"string\":  in body must be \
                    of type integer: \"string\"";
    assert_eq!(causes(&bed.post(DEFINITIONS, definition).await), [expected]);
}

async fn a_definition_whose_names_are_taken_is_not_served(bed: &Bed) {
    bed.define("Widget").await;
    let mut definition = bed.definition("Gadget", json!([version("v1", true, anything())]));
    definition["spec"]["names"]["kind"] = "Widget".into();
    definition["spec"]["names"]["singular"] = "gadget".into();
    let path = format!("{DEFINITIONS}/gadgets.{}", bed.group());
    bed.post(DEFINITIONS, definition).await.expect(201);
    let refused = bed
        .eventually("the names to be refused", async || {
            let found = bed.get(path.as_str()).await.expect(200);
            if condition(&found, "Established")["status"] == "False" {
                Ok(found)
            } else {
                Err(found.to_string())
            }
        })
        .await;
    let names = condition(&refused, "NamesAccepted");
    assert_eq!(
        (&names["status"], &names["reason"]),
        (&json!("False"), &json!("ListKindConflict"))
    );
    assert_eq!(names["message"], "\"WidgetList\" is already in use");
    let established = condition(&refused, "Established");
    assert_eq!(
        (&established["reason"], &established["message"]),
        (&json!("NotAccepted"), &json!("not all names are accepted"))
    );
    let list = bed
        .get(bed.collection(&format!("{}/v1/gadgets", bed.group())))
        .await;
    assert_eq!(list.code(), 404);
}

async fn a_kind_has_several_versions_of_the_same_objects(bed: &Bed) {
    let versions = json!([version("v1", false, anything()), version("v2", true, anything())]);
    let widgets = bed.define_as(bed.definition("Widget", versions)).await;
    let created = bed
        .create(
            &widgets.resource(),
            widgets.object("one", json!({"spec": {"size": 1}})),
        )
        .await;
    let mut other = bed.read(&widgets.resource_of("v2"), "one").await;
    assert_eq!(other["apiVersion"], format!("{}/v2", widgets.group));
    assert_eq!(other["spec"], created["spec"]);
    other["spec"] = json!({"size": 2});
    bed.put(bed.object(&widgets.resource_of("v2"), "one"), other)
        .await
        .expect(200);
    let read = bed.read(&widgets.resource(), "one").await;
    assert_eq!(
        (&read["apiVersion"], &read["spec"]),
        (&created["apiVersion"], &json!({"size": 2}))
    );
    let entries = read["metadata"]["managedFields"].as_array().unwrap();
    let versions: Vec<_> = entries
        .iter()
        .map(|entry| entry["apiVersion"].as_str().unwrap())
        .collect();
    assert_eq!(versions.len(), 2, "{read}");
}

async fn a_version_that_is_not_served_is_not_found(bed: &Bed) {
    let mut old = version("v1", false, anything());
    old["served"] = false.into();
    let versions = json!([old, version("v2", true, anything())]);
    let widgets = bed.define_as(bed.definition("Widget", versions)).await;
    assert_eq!(bed.get(bed.collection(&widgets.resource())).await.code(), 404);
    bed.get(bed.collection(&widgets.resource_of("v2")))
        .await
        .expect(200);
}

async fn stored_versions_are_remembered(bed: &Bed) {
    let versions = json!([version("v1", true, anything())]);
    let widgets = bed.define_as(bed.definition("Widget", versions)).await;
    let versions = json!([version("v1", false, anything()), version("v2", true, anything())]);
    let change = json!({"spec": {"versions": versions}});
    let changed = bed.patch(widgets.path(), MERGE_PATCH, change).await.expect(200);
    assert_eq!(changed["status"]["storedVersions"], json!(["v1", "v2"]));
    assert_eq!(changed["metadata"]["generation"], 2);
}

async fn a_wider_schema_takes_new_fields(bed: &Bed) {
    let schema = |names: &[&str]| {
        let properties: serde_json::Map<_, _> = names
            .iter()
            .map(|name| ((*name).to_owned(), json!({"type": "string"})))
            .collect();
        json!({"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}})
    };
    let widgets = bed.define_with_schema("Widget", schema(&["a"])).await;
    let object = widgets.object("one", json!({"spec": {"a": "1", "b": "2"}}));
    let created = bed.create(&widgets.resource(), object).await;
    assert_eq!(created["spec"], json!({"a": "1"}));
    let mut definition = bed.get(widgets.path()).await.expect(200);
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema(&["a", "b"]);
    bed.put(widgets.path(), definition).await.expect(200);
    let path = bed.object(&widgets.resource(), "one");
    bed.eventually("the new field to be taken", async || {
        let change = json!({"spec": {"b": "2"}});
        let patched = bed.patch(path.as_str(), MERGE_PATCH, change).await.expect(200);
        if patched["spec"] == json!({"a": "1", "b": "2"}) {
            Ok(())
        } else {
            Err(patched.to_string())
        }
    })
    .await;
}

async fn a_removed_definition_takes_its_objects_along(bed: &Bed) {
    let widgets = bed.define("Widget").await;
    bed.create(&widgets.resource(), widgets.object("one", json!({})))
        .await;
    bed.delete(widgets.path()).await.expect(200);
    bed.gone(&widgets.path()).await;
    bed.eventually("the kind to be gone", async || {
        let list = bed.get(bed.collection(&widgets.resource())).await;
        if list.code() == 404 {
            Ok(())
        } else {
            Err(list.to_string())
        }
    })
    .await;
    let widgets = bed.define("Widget").await;
    assert_eq!(bed.get(bed.object(&widgets.resource(), "one")).await.code(), 404);
}

async fn a_definition_that_is_removed_waits_for_its_objects(bed: &Bed) {
    let widgets = bed.define("Widget").await;
    let held = widgets.object(
        "one",
        json!({"metadata": {"name": "one", "finalizers": ["example.com/hold"]}}),
    );
    bed.create(&widgets.resource(), held).await;
    bed.delete(widgets.path()).await.expect(200);
    let path = bed.object(&widgets.resource(), "one");
    bed.eventually("the object to be deleted", async || {
        let object = bed.get(path.as_str()).await.expect(200);
        if object["metadata"]["deletionTimestamp"].is_string() {
            Ok(())
        } else {
            Err(object.to_string())
        }
    })
    .await;
    let definition = bed.get(widgets.path()).await.expect(200);
    let finalizers = json!(["customresourcecleanup.apiextensions.k8s.io"]);
    assert_eq!(definition["metadata"]["finalizers"], finalizers);
    bed.patch(path, MERGE_PATCH, json!({"metadata": {"finalizers": null}}))
        .await
        .expect(200);
    bed.gone(&widgets.path()).await;
}

async fn the_scope_of_a_definition_stays(bed: &Bed) {
    let widgets = bed.define("Widget").await;
    let refused = bed
        .patch(widgets.path(), MERGE_PATCH, json!({"spec": {"scope": "Cluster"}}))
        .await;
    assert_eq!(
        causes(&refused),
        ["spec.scope: Invalid value: \"Cluster\": field is immutable"]
    );
}

async fn a_kind_without_a_status_subresource_has_its_status_written_with_the_rest(bed: &Bed) {
    let versions = json!([version("v1", true, anything())]);
    let widgets = bed.define_as(bed.definition("Widget", versions)).await;
    let object = widgets.object("one", json!({"status": {"ready": true}}));
    let created = bed.create(&widgets.resource(), object).await;
    assert_eq!(created["status"], json!({"ready": true}));
    assert_eq!(
        bed.get(bed.object(&widgets.resource(), "one/status"))
            .await
            .code(),
        404
    );
    let change = json!({"status": {"ready": false}});
    let changed = bed
        .patch(bed.object(&widgets.resource(), "one"), MERGE_PATCH, change)
        .await
        .expect(200);
    assert_eq!(changed["metadata"]["generation"], 2);
}

async fn a_kind_of_the_cluster_has_no_namespaces(bed: &Bed) {
    let mut definition = bed.definition("Widget", json!([version("v1", true, anything())]));
    definition["spec"]["scope"] = "Cluster".into();
    let widgets = bed.define_as(definition).await;
    let path = format!("/apis/{}", widgets.resource());
    let created = bed.post(path, widgets.object("one", json!({}))).await.expect(201);
    assert_eq!(created["metadata"].get("namespace"), None);
    assert_eq!(bed.get(bed.collection(&widgets.resource())).await.code(), 404);
}

async fn a_new_object_owns_what_it_says_and_its_defaults(bed: &Bed) {
    let spec = json!({
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "integer", "default": 1}},
    });
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    let widgets = bed.define_with_schema("Widget", schema).await;
    let created = bed
        .create(
            &widgets.resource(),
            widgets.object("one", json!({"spec": {"a": "1"}})),
        )
        .await;
    let entry = &created["metadata"]["managedFields"][0];
    assert_eq!(entry["operation"], "Update");
    assert_eq!(entry["apiVersion"], format!("{}/v1", widgets.group));
    assert_eq!(
        entry["fieldsV1"],
        json!({"f:spec": {".": {}, "f:a": {}, "f:b": {}}})
    );
}

async fn columns_of_a_definition_are_kept(bed: &Bed) {
    let mut v1 = version("v1", true, anything());
    let columns = json!([{"name": "Size", "type": "integer", "jsonPath": ".spec.size", "priority": 1}]);
    v1["additionalPrinterColumns"] = columns.clone();
    let widgets = bed.define_as(bed.definition("Widget", json!([v1]))).await;
    let definition = bed.get(widgets.path()).await.expect(200);
    assert_eq!(
        definition["spec"]["versions"][0]["additionalPrinterColumns"],
        columns
    );
}

async fn a_custom_resource_says_its_type(bed: &Bed) {
    let widgets = bed.define("Widget").await;
    let mut object = widgets.object("one", json!({}));
    object.as_object_mut().unwrap().remove("kind");
    let refused = bed.post(bed.collection(&widgets.resource()), object).await;
    refused.refused(400, "BadRequest");
}

async fn generation_counts_what_is_not_metadata_or_status(bed: &Bed) {
    let widgets = bed.define("Widget").await;
    bed.create(
        &widgets.resource(),
        widgets.object("one", json!({"data": {"a": "1"}})),
    )
    .await;
    let path = bed.object(&widgets.resource(), "one");
    let change = json!({"metadata": {"labels": {"a": "1"}}});
    let changed = bed.patch(path.as_str(), MERGE_PATCH, change).await.expect(200);
    assert_eq!(changed["metadata"]["generation"], 1);
    let changed = bed
        .patch(path.as_str(), MERGE_PATCH, json!({"data": {"a": "2"}}))
        .await
        .expect(200);
    assert_eq!(changed["metadata"]["generation"], 2);
    let status = json!({"status": {"ready": true}});
    let changed = bed
        .patch(format!("{path}/status"), MERGE_PATCH, status)
        .await
        .expect(200);
    assert_eq!(changed["metadata"]["generation"], 2);
}
