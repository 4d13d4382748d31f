//! Kinds defined through the API, and what becomes of their objects.

use serde_json::json;

use crate::bed::Bed;

behaviours![a_defined_kind_has_objects];

async fn a_defined_kind_has_objects(bed: &Bed) {
    let widgets = bed.define("Widget").await;
    let widget = widgets.object("one", json!({"spec": {"size": 1}}));
    let created = bed.create(&widgets.resource(), widget).await;
    assert_eq!(created["metadata"]["generation"], 1);
    assert_eq!(bed.read(&widgets.resource(), "one").await, created);
}
