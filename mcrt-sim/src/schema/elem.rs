//! Steps of a path through an object.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// One step of a path, written as `fieldsV1` does: `f:` and a field's name, `k:` and the keys of a list item,
/// `v:` and an item of a set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Elem(Box<str>);

impl Elem {
    pub(crate) fn field(name: &str) -> Self {
        Self(["f:", name].concat().into())
    }

    pub(crate) fn key(keys: &BTreeMap<&str, &Value>) -> Self {
        let keys = serde_json::to_string(keys).expect("JSON under texts can be written");
        Self(["k:", &keys].concat().into())
    }

    pub(crate) fn item(item: &Value) -> Self {
        Self(format!("v:{item}").into())
    }

    /// The name, if the step leads to a field.
    pub(crate) fn name(&self) -> Option<&str> {
        self.0.strip_prefix("f:")
    }

    /// Reads the form that is stored; nothing if it is none.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let is_one = matches!(text.as_bytes(), [b'f' | b'k' | b'v' | b'i', b':', ..]);
        is_one.then(|| Self(text.into()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// How it reads in a path: `.name`, `[key="value"]`, `[="item"]`.
    pub(crate) fn display(&self) -> String {
        match self.0.split_at(2) {
            ("f:", name) => format!(".{name}"),
            ("k:", keys) => {
                let keys: Map<String, Value> = serde_json::from_str(keys).unwrap_or_default();
                let keys = keys.iter().map(|(name, value)| format!("{name}={value}"));
                format!("[{}]", keys.collect::<Vec<_>>().join(","))
            }
            (_, item) => format!("[={item}]"),
        }
    }
}
