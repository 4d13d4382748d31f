//! Objects of every kind with values that no kind has: refused or taken, never the end of the server.
#![allow(clippy::unwrap_used, reason = "tests")]

use mcrt_sim::Server;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn odd_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z]{0,3}".prop_map(Value::from),
    ];
    let name = prop_oneof![
        Just("template"),
        Just("spec"),
        Just("containers"),
        Just("env"),
        Just("volumes"),
        Just("ports"),
        Just("jobTemplate"),
        Just("strategy"),
        Just("names"),
        Just("versions"),
        Just("schema"),
        Just("name"),
        Just("openAPIV3Schema"),
        Just("properties"),
        Just("items"),
        Just("type"),
        Just("$patch"),
    ];
    leaf.prop_recursive(5, 40, 4, move |inner| {
        let fields = prop::collection::vec((name.clone(), inner.clone()), 0..4);
        let fields = fields.prop_map(|fields| {
            Value::Object(
                fields
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value))
                    .collect::<Map<_, _>>(),
            )
        });
        prop_oneof![fields, prop::collection::vec(inner, 0..3).prop_map(Value::Array)]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn an_odd_object_never_stops_the_server(spec in odd_value(), owners in odd_value()) {
        let server = Server::new("one");
        for kind in server.kinds() {
            let api_version = match &*kind.group {
                "" => kind.version.clone(),
                group => format!("{group}/{}", kind.version),
            };
            let object = json!({
                "apiVersion": api_version, "kind": kind.kind, "metadata": {"name": "a"}, "spec": spec,
                "data": spec, "roleRef": spec, "subjects": spec,
            });
            let _ = server.create(object.clone());
            let _ = server.apply("one", object.clone());
            let _ = server.merge(object.clone());
            let mut owned = object;
            owned["metadata"]["managedFields"] = json!([{
                "manager": "x", "operation": "Update", "apiVersion": api_version, "fieldsType": "FieldsV1",
                "fieldsV1": owners,
            }]);
            let _ = server.merge(owned);
        }
        let config_map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "alive"}});
        server.create(config_map).unwrap();
    }
}
