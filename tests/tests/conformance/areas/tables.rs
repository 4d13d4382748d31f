//! Answers as tables, which is what `kubectl get` prints.

use serde_json::{Value, json};

use crate::bed::{Bed, MERGE_PATCH, config_map, deployment, pod, secret};

behaviours![
    a_created_object_is_shown_as_a_table,
    a_date_column_shows_how_long_ago_it_was,
    a_defined_kind_without_columns_shows_name_and_age,
    a_deployment_shows_its_replicas,
    a_list_is_shown_as_a_table,
    a_missing_object_is_no_table,
    a_page_of_a_table_continues,
    a_pod_shows_its_containers,
    a_row_carries_what_the_caller_asks_for,
    a_secret_shows_its_type_and_the_number_of_its_keys,
    a_watch_shows_its_columns_once,
    an_empty_list_still_has_columns,
    columns_of_a_defined_kind_are_found_by_their_paths,
    kinds_without_columns_of_their_own_show_when_they_were_created,
    one_object_is_shown_as_a_table_of_one_row,
    what_a_row_should_carry_has_to_be_known,
    a_namespace_shows_its_phase,
];

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

/// Names of the columns; those for the wide output end with `+`.
fn columns(table: &Value) -> Vec<String> {
    let columns = table["columnDefinitions"].as_array().into_iter().flatten();
    let name = |column: &Value| {
        let wide = if column["priority"] == 0 { "" } else { "+" };
        format!("{}{wide}", column["name"].as_str().unwrap_or_default())
    };
    columns.map(name).collect()
}

/// The cells of the only row.
fn cells(table: &Value) -> &Vec<Value> {
    assert_eq!(table["rows"].as_array().map(Vec::len), Some(1), "{table}");
    table["rows"][0]["cells"].as_array().unwrap()
}

/// Whether a cell is an age of a few seconds or minutes.
fn is_age(cell: &Value) -> bool {
    let age = cell.as_str().unwrap_or_default();
    age.ends_with(['s', 'm']) && age.starts_with(|first: char| first.is_ascii_digit())
}

async fn a_list_is_shown_as_a_table(bed: &Bed) {
    let created = bed.create("configmaps", config_map("a")).await;
    let list = bed
        .get(bed.collection("configmaps"))
        .query("fieldSelector", "metadata.name=a");
    let table = list.accept(TABLE).await.expect(200);
    assert_eq!(
        (&table["kind"], &table["apiVersion"]),
        (&"Table".into(), &"meta.k8s.io/v1".into())
    );
    assert!(table["metadata"]["resourceVersion"].is_string());
    assert_eq!(columns(&table), ["Name", "Data", "Age"]);
    let name = &table["columnDefinitions"][0];
    assert_eq!(
        (&name["type"], &name["format"]),
        (&"string".into(), &"name".into())
    );
    let cells = cells(&table);
    assert_eq!((&cells[0], &cells[1]), (&"a".into(), &1.into()));
    assert!(is_age(&cells[2]), "{table}");
    let object = &table["rows"][0]["object"];
    assert_eq!(object["kind"], "PartialObjectMetadata");
    assert_eq!(object["apiVersion"], "meta.k8s.io/v1");
    assert_eq!(object["metadata"]["uid"], created["metadata"]["uid"]);
    assert_eq!(object.get("data"), None);
}

async fn one_object_is_shown_as_a_table_of_one_row(bed: &Bed) {
    let created = bed.create("configmaps", config_map("a")).await;
    let table = bed
        .get(bed.object("configmaps", "a"))
        .accept(TABLE)
        .await
        .expect(200);
    assert_eq!(cells(&table)[0], "a");
    assert_eq!(
        table["metadata"]["resourceVersion"],
        created["metadata"]["resourceVersion"]
    );
}

async fn a_created_object_is_shown_as_a_table(bed: &Bed) {
    let created = bed
        .post(bed.collection("configmaps"), config_map("a"))
        .accept(TABLE)
        .await;
    assert_eq!(cells(&created.expect(201))[0], "a");
    let change = json!({"data": {"more": "data"}});
    let changed = bed
        .patch(bed.object("configmaps", "a"), MERGE_PATCH, change)
        .accept(TABLE)
        .await;
    assert_eq!(cells(&changed.expect(200))[1], 2);
}

async fn a_row_carries_what_the_caller_asks_for(bed: &Bed) {
    bed.create("configmaps", config_map("a")).await;
    let path = bed.object("configmaps", "a");
    let none = bed
        .get(path.as_str())
        .query("includeObject", "None")
        .accept(TABLE)
        .await
        .expect(200);
    assert_eq!(none["rows"][0]["object"], Value::Null);
    let whole = bed
        .get(path.as_str())
        .query("includeObject", "Object")
        .accept(TABLE)
        .await
        .expect(200);
    let object = &whole["rows"][0]["object"];
    assert_eq!(
        (&object["kind"], &object["data"]["key"]),
        (&"ConfigMap".into(), &"value".into())
    );
    let list = bed
        .get(bed.collection("configmaps"))
        .query("fieldSelector", "metadata.name=a");
    let list = list
        .query("includeObject", "Object")
        .accept(TABLE)
        .await
        .expect(200);
    assert_eq!(list["rows"][0]["object"]["kind"], "ConfigMap");
}

async fn what_a_row_should_carry_has_to_be_known(bed: &Bed) {
    let list = bed
        .get(bed.collection("configmaps"))
        .query("includeObject", "Everything");
    list.accept(TABLE).await.refused(400, "BadRequest");
}

async fn a_missing_object_is_no_table(bed: &Bed) {
    bed.get(bed.object("configmaps", "a"))
        .accept(TABLE)
        .await
        .refused(404, "NotFound");
}

async fn an_empty_list_still_has_columns(bed: &Bed) {
    let table = bed.get(bed.collection("secrets")).accept(TABLE).await.expect(200);
    assert_eq!(columns(&table), ["Name", "Type", "Data", "Age"]);
    assert_eq!(table["rows"], json!([]));
}

async fn a_page_of_a_table_continues(bed: &Bed) {
    for name in ["a", "b", "c"] {
        bed.create("secrets", secret(name)).await;
    }
    let path = bed.collection("secrets");
    let first = bed
        .get(path.as_str())
        .query("limit", 2)
        .accept(TABLE)
        .await
        .expect(200);
    assert_eq!(first["rows"].as_array().map(Vec::len), Some(2));
    assert_eq!(first["metadata"]["remainingItemCount"], 1);
    let token = first["metadata"]["continue"].as_str().unwrap();
    let last = bed
        .get(path)
        .query("continue", token)
        .accept(TABLE)
        .await
        .expect(200);
    assert_eq!(cells(&last)[0], "c");
}

async fn a_secret_shows_its_type_and_the_number_of_its_keys(bed: &Bed) {
    bed.create("secrets", secret("a")).await;
    let table = bed
        .get(bed.object("secrets", "a"))
        .accept(TABLE)
        .await
        .expect(200);
    assert_eq!(cells(&table)[..3], ["a".into(), "Opaque".into(), json!(1)]);
}

async fn a_namespace_shows_its_phase(bed: &Bed) {
    let path = format!("/api/v1/namespaces/{}", bed.namespace());
    let table = bed.get(path).accept(TABLE).await.expect(200);
    assert_eq!(columns(&table), ["Name", "Status", "Age"]);
    assert_eq!(cells(&table)[..2], [bed.namespace(), "Active"]);
}

async fn a_pod_shows_its_containers(bed: &Bed) {
    bed.create("pods", pod("a")).await;
    let table = bed.get(bed.object("pods", "a")).accept(TABLE).await.expect(200);
    let wide = ["IP+", "Node+", "Nominated Node+", "Readiness Gates+"];
    let names = ["Name", "Ready", "Status", "Restarts", "Age"]
        .into_iter()
        .chain(wide);
    assert_eq!(columns(&table), names.collect::<Vec<_>>());
    assert_eq!(cells(&table)[..4], ["a", "0/1", "Pending", "0"]);
    assert_eq!(cells(&table)[5], "<none>");
}

async fn a_deployment_shows_its_replicas(bed: &Bed) {
    let resource = "apps/v1/deployments";
    bed.create(resource, deployment("web")).await;
    let status =
        json!({"status": {"replicas": 1, "readyReplicas": 1, "updatedReplicas": 1, "availableReplicas": 1}});
    let path = bed.object(resource, "web/status");
    bed.patch(path, MERGE_PATCH, status).await.expect(200);
    let table = bed
        .get(bed.object(resource, "web"))
        .accept(TABLE)
        .await
        .expect(200);
    let names = [
        "Name",
        "Ready",
        "Up-to-date",
        "Available",
        "Age",
        "Containers+",
        "Images+",
        "Selector+",
    ];
    assert_eq!(columns(&table), names);
    let cells = cells(&table);
    assert_eq!(cells[..4], ["web".into(), "1/1".into(), json!(1), json!(1)]);
    assert_eq!(cells[5..], ["main", "example.com/main:1", "app=web"]);
}

async fn kinds_without_columns_of_their_own_show_when_they_were_created(bed: &Bed) {
    let resource = "rbac.authorization.k8s.io/v1/roles";
    let created = bed
        .create(resource, json!({"metadata": {"name": "a"}, "rules": []}))
        .await;
    let table = bed.get(bed.object(resource, "a")).accept(TABLE).await.expect(200);
    assert_eq!(columns(&table), ["Name", "Created At"]);
    assert_eq!(table["columnDefinitions"][1]["type"], "date");
    assert_eq!(cells(&table)[1], created["metadata"]["creationTimestamp"]);
}

async fn a_watch_shows_its_columns_once(bed: &Bed) {
    bed.create("secrets", secret("a")).await;
    let watch = bed.get(bed.collection("secrets")).query("watch", 1);
    let mut watch = watch.accept(TABLE).follow().await;
    let first = watch.next_of("ADDED").await;
    assert_eq!(columns(&first), ["Name", "Type", "Data", "Age"]);
    assert_eq!(cells(&first)[0], "a");
    let created = bed.create("secrets", secret("b")).await;
    let second = watch.next_of("ADDED").await;
    assert_eq!(second["columnDefinitions"], Value::Null);
    assert_eq!(cells(&second)[0], "b");
    assert_eq!(
        second["metadata"]["resourceVersion"],
        created["metadata"]["resourceVersion"]
    );
    bed.delete(bed.object("secrets", "b")).await.expect(200);
    assert_eq!(cells(&watch.next_of("DELETED").await)[0], "b");
}

fn version(columns: Value) -> Value {
    json!({
        "name": "v1", "served": true, "storage": true, "additionalPrinterColumns": columns,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
    })
}

async fn a_defined_kind_without_columns_shows_name_and_age(bed: &Bed) {
    let widgets = bed.define("Widget").await;
    bed.create(&widgets.resource(), widgets.object("one", json!({})))
        .await;
    let table = bed
        .get(bed.collection(&widgets.resource()))
        .accept(TABLE)
        .await
        .expect(200);
    assert_eq!(columns(&table), ["Name", "Age"]);
    assert_eq!(cells(&table)[0], "one");
    assert!(is_age(&cells(&table)[1]), "{table}");
}

async fn columns_of_a_defined_kind_are_found_by_their_paths(bed: &Bed) {
    let ready = ".status.conditions[?(@.type==\"Ready\")].status";
    let described = json!([
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "description": "how large"},
        {"name": "Ready", "type": "string", "jsonPath": ready},
        {"name": "On", "type": "boolean", "jsonPath": ".spec.on", "priority": 1},
        {"name": "First", "type": "string", "jsonPath": ".spec.list[0].name"},
        {"name": "Missing", "type": "string", "jsonPath": ".spec.missing"},
        {"name": "Wrong", "type": "integer", "jsonPath": ".spec.list[0].name"},
        {"name": "Number", "type": "string", "jsonPath": ".spec.size"},
    ]);
    let widgets = bed
        .define_as(bed.definition("Widget", json!([version(described)])))
        .await;
    let fields = json!({
        "spec": {"size": 3, "on": true, "list": [{"name": "one"}, {"name": "two"}]},
        "status": {"conditions": [{"type": "Live", "status": "False"}, {"type": "Ready", "status": "True"}]},
    });
    bed.create(&widgets.resource(), widgets.object("one", fields))
        .await;
    let table = bed
        .get(bed.object(&widgets.resource(), "one"))
        .accept(TABLE)
        .await
        .expect(200);
    assert_eq!(
        columns(&table),
        [
            "Name", "Size", "Ready", "On+", "First", "Missing", "Wrong", "Number"
        ]
    );
    let size = &table["columnDefinitions"][1];
    assert_eq!(
        (&size["type"], &size["description"]),
        (&"integer".into(), &"how large".into())
    );
    let expected = json!(["one", 3, "True", true, "one", null, null, "3"]);
    assert_eq!(Value::from(cells(&table).clone()), expected);
}

async fn a_date_column_shows_how_long_ago_it_was(bed: &Bed) {
    let described = json!([
        {"name": "Then", "type": "date", "jsonPath": ".spec.then"},
        {"name": "Never", "type": "date", "jsonPath": ".spec.never"},
        {"name": "Nonsense", "type": "date", "jsonPath": ".spec.nonsense"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]);
    let widgets = bed
        .define_as(bed.definition("Widget", json!([version(described)])))
        .await;
    let fields = json!({"spec": {"then": "2001-01-01T00:00:00Z", "nonsense": "soon"}});
    bed.create(&widgets.resource(), widgets.object("one", fields))
        .await;
    let table = bed
        .get(bed.object(&widgets.resource(), "one"))
        .accept(TABLE)
        .await
        .expect(200);
    let cells = cells(&table);
    assert!(cells[1].as_str().is_some_and(|age| age.ends_with('y')), "{table}");
    assert_eq!(cells[2], Value::Null);
    assert_eq!(cells[3], "<invalid>");
    assert!(is_age(&cells[4]), "{table}");
}
