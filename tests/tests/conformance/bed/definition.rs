//! Kinds that a behaviour brings along, in an API group of its own.

use serde_json::{Value, json};

use super::Bed;

/// A `CustomResourceDefinition` that is established.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) group: String,
    pub(crate) kind: String,
    pub(crate) plural: String,
}

impl Definition {
    /// The definition's own name.
    pub(crate) fn name(&self) -> String {
        format!("{}.{}", self.plural, self.group)
    }

    /// The path of the definition itself.
    pub(crate) fn path(&self) -> String {
        format!("{DEFINITIONS}/{}", self.name())
    }

    /// What [`Bed::collection`] and the like take for the version `v1`.
    pub(crate) fn resource(&self) -> String {
        self.resource_of("v1")
    }

    /// What [`Bed::collection`] and the like take.
    pub(crate) fn resource_of(&self, version: &str) -> String {
        format!("{}/{version}/{}", self.group, self.plural)
    }

    /// An object of version `v1`, with these further fields.
    pub(crate) fn object(&self, name: &str, fields: Value) -> Value {
        let mut object = json!({
            "apiVersion": format!("{}/v1", self.group), "kind": self.kind, "metadata": {"name": name},
        });
        if let (Some(object), Value::Object(fields)) = (object.as_object_mut(), fields) {
            object.extend(fields);
        }
        object
    }
}

pub(crate) const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

impl Bed {
    /// The API group that only this behaviour uses.
    pub(crate) fn group(&self) -> String {
        format!("{}.example.com", self.namespace())
    }

    /// The body of a namespaced `CustomResourceDefinition` of the behaviour's group, with these versions.
    pub(crate) fn definition(&self, kind: &str, versions: Value) -> Value {
        let (group, plural) = (self.group(), format!("{}s", kind.to_lowercase()));
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{group}")},
            "spec": {
                "group": group, "scope": "Namespaced", "versions": versions,
                "names": {"kind": kind, "plural": plural},
            },
        })
    }

    /// Defines a namespaced kind with one version `v1` that takes any field.
    pub(crate) async fn define(&self, kind: &str) -> Definition {
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        self.define_with_schema(kind, schema).await
    }

    /// Defines a namespaced kind with one version `v1` of this schema and a status subresource.
    pub(crate) async fn define_with_schema(&self, kind: &str, schema: Value) -> Definition {
        let version = json!({
            "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
            "subresources": {"status": {}},
        });
        self.define_as(self.definition(kind, json!([version]))).await
    }

    /// Creates a whole `CustomResourceDefinition` and waits until its objects can be created.
    pub(crate) async fn define_as(&self, definition: Value) -> Definition {
        let created = self.post(DEFINITIONS, definition).await.expect(201);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let spec = &created["spec"];
        let definition = Definition {
            group: text(&spec["group"]),
            kind: text(&spec["names"]["kind"]),
            plural: text(&spec["names"]["plural"]),
        };
        let versions = spec["versions"].as_array().cloned().unwrap_or_default();
        for version in versions.iter().filter(|version| version["served"] == true) {
            let resource = definition.resource_of(&text(&version["name"]));
            let path = format!("/apis/{resource}");
            self.eventually("the defined kind", async || match self.get(path.as_str()).await {
                list if list.code() == 200 => Ok(()),
                list => Err(list.to_string()),
            })
            .await;
        }
        definition
    }
}
