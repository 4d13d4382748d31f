//! The columns that a `CustomResourceDefinition` describes.

use serde_json::{Value, json};

use super::age;
use super::jsonpath::JsonPath;

/// A column and where its cells are found.
pub(super) struct Column {
    definition: Value,
    cell: Cell,
}

enum Cell {
    Name,
    Path { kind: String, path: JsonPath },
}

/// The columns of one version; name and age if it describes none.
pub(super) fn columns(definition: &Value, version: &str) -> Vec<Column> {
    let versions = definition["spec"]["versions"].as_array().into_iter().flatten();
    let described = versions
        .filter(|known| known["name"] == version)
        .flat_map(|known| known["additionalPrinterColumns"].as_array().into_iter().flatten());
    let mut columns: Vec<_> = described.map(Column::described).collect();
    if columns.is_empty() {
        columns.push(Column::described(&json!({
            "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp",
            "description": "when the object was created",
        })));
    }
    columns.insert(0, Column::name());
    columns
}

impl Column {
    fn name() -> Self {
        Self {
            definition: json!({
                "name": "Name", "type": "string", "format": "name", "description": "the object's name",
                "priority": 0,
            }),
            cell: Cell::Name,
        }
    }

    fn described(column: &Value) -> Self {
        let text = |field: &str| column[field].as_str().unwrap_or_default();
        let path = text("jsonPath");
        let description = match text("description") {
            "" => format!("Custom resource definition column (in JSONPath format): {path}"),
            description => description.to_owned(),
        };
        Self {
            definition: json!({
                "name": text("name"), "type": text("type"), "format": text("format"),
                "description": description, "priority": column["priority"].as_i64().unwrap_or_default(),
            }),
            cell: Cell::Path {
                kind: text("type").to_owned(),
                path: JsonPath::parse(path),
            },
        }
    }

    pub(super) fn definition(&self) -> Value {
        self.definition.clone()
    }

    /// What an object shows in this column; null if it has nothing that fits.
    pub(super) fn cell(&self, object: &Value) -> Value {
        let (kind, path) = match &self.cell {
            Cell::Name => return object["metadata"]["name"].clone(),
            Cell::Path { kind, path } => (kind, path),
        };
        let Some(found) = path.find(object) else {
            return Value::Null;
        };
        match (kind.as_str(), found) {
            ("string", Value::String(_)) | ("boolean", Value::Bool(_)) => found.clone(),
            ("string", other) => other.to_string().into(),
            ("integer", Value::Number(number)) => number
                .as_i64()
                .or_else(|| number.as_f64().map(whole))
                .map_or(Value::Null, Value::from),
            ("number", Value::Number(number)) => number.as_f64().map_or(Value::Null, Value::from),
            ("date", Value::String(_)) => age(found),
            _ => Value::Null,
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a column of integers cuts what is none"
)]
fn whole(number: f64) -> i64 {
    number as i64
}
