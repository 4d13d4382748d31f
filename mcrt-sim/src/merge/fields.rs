//! Sets of fields as `managedFields` records them: paths to leaves, and their `fieldsV1` form.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::merge::schema::{ListType, is_atomic_map, list_type};
use crate::state::object::object_mut;

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Elem {
    Field(String),
    /// An item of a keyed list, by its keys as JSON.
    Key(String),
    /// An item of a set, as JSON.
    Item(String),
}

pub(crate) type Path = Vec<Elem>;

/// Fields that a writer owns.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FieldSet(pub(crate) BTreeSet<Path>);

/// Metadata that the server writes or that identifies the object: nobody's field.
const UNOWNED_METADATA: [&str; 10] = [
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "generateName",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
];

impl FieldSet {
    /// The leaves of an object.
    pub(crate) fn of(value: &Value, builtin: bool) -> Self {
        let mut set = Self::default();
        let mut path = Vec::new();
        for (name, field) in value.as_object().into_iter().flatten() {
            path.push(Elem::Field(name.clone()));
            match name.as_str() {
                "apiVersion" | "kind" => {}
                "metadata" => set.add_metadata(field, &mut path, builtin),
                _ => set.add(field, &mut path, builtin),
            }
            path.pop();
        }
        set
    }

    fn add_metadata(&mut self, metadata: &Value, path: &mut Path, builtin: bool) {
        for (name, field) in metadata.as_object().into_iter().flatten() {
            if !UNOWNED_METADATA.contains(&name.as_str()) {
                path.push(Elem::Field(name.clone()));
                self.add(field, path, builtin);
                path.pop();
            }
        }
    }

    fn add(&mut self, value: &Value, path: &mut Path, builtin: bool) {
        match value {
            Value::Object(fields) if !fields.is_empty() && !is_atomic_map(builtin, path) => {
                for (name, field) in fields {
                    path.push(Elem::Field(name.clone()));
                    self.add(field, path, builtin);
                    path.pop();
                }
            }
            Value::Array(items) if !items.is_empty() => {
                let kind = list_type(builtin, path);
                if kind == ListType::Atomic {
                    self.0.insert(path.clone());
                    return;
                }
                for item in items {
                    path.push(item_elem(kind, item));
                    self.0.insert(path.clone());
                    if matches!(kind, ListType::Map(_)) {
                        self.add(item, path, builtin);
                    }
                    path.pop();
                }
            }
            _ => {
                self.0.insert(path.clone());
            }
        }
    }

    /// Whether the set holds the path itself or anything below it.
    pub(crate) fn covers(&self, path: &[Elem]) -> bool {
        self.0
            .range(path.to_vec()..)
            .next()
            .is_some_and(|next| next.starts_with(path))
    }

    pub(crate) fn to_v1(&self) -> Value {
        let mut root = Value::Object(Map::new());
        for path in &self.0 {
            let mut node = &mut root;
            for elem in path {
                node = object_mut(node)
                    .entry(elem.to_v1())
                    .or_insert_with(|| Value::Object(Map::new()));
            }
            if matches!(path.last(), Some(Elem::Key(_))) {
                object_mut(node).insert(".".into(), Value::Object(Map::new()));
            }
        }
        root
    }

    pub(crate) fn from_v1(value: &Value) -> Self {
        let mut set = Self::default();
        set.read(value, &mut Vec::new());
        set
    }

    fn read(&mut self, value: &Value, path: &mut Path) {
        let fields = value.as_object();
        if fields.is_none_or(Map::is_empty) && !path.is_empty() {
            self.0.insert(path.clone());
        }
        for (name, inner) in fields.into_iter().flatten() {
            if name == "." {
                self.0.insert(path.clone());
            } else if let Some(elem) = Elem::from_v1(name) {
                path.push(elem);
                self.read(inner, path);
                path.pop();
            }
        }
    }
}

impl Elem {
    fn to_v1(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(keys) => format!("k:{keys}"),
            Self::Item(item) => format!("v:{item}"),
        }
    }

    fn from_v1(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once(':')?;
        match kind {
            "f" => Some(Self::Field(rest.to_owned())),
            "k" => Some(Self::Key(rest.to_owned())),
            "v" => Some(Self::Item(rest.to_owned())),
            _ => None,
        }
    }
}

/// How a path reads in a conflict: `.spec.containers[name="a"].image`.
pub(crate) fn display(path: &[Elem]) -> String {
    use std::fmt::Write;
    let mut text = String::new();
    for elem in path {
        let _ = match elem {
            Elem::Field(name) => write!(text, ".{name}"),
            Elem::Key(keys) => {
                let keys: Map<String, Value> = serde_json::from_str(keys).unwrap_or_default();
                let keys: Vec<_> = keys
                    .iter()
                    .map(|(name, value)| format!("{name}={value}"))
                    .collect();
                write!(text, "[{}]", keys.join(","))
            }
            Elem::Item(item) => write!(text, "[={item}]"),
        };
    }
    text
}

/// The step that leads to an item of a keyed list or of a set.
pub(crate) fn item_elem(kind: ListType, item: &Value) -> Elem {
    let ListType::Map(keys) = kind else {
        return Elem::Item(item.to_string());
    };
    let value = |key: &str| match &item[key] {
        // The one key that the API itself defaults.
        Value::Null if key == "protocol" => Value::from("TCP"),
        other => other.clone(),
    };
    let keys: Map<String, Value> = keys.iter().map(|key| ((*key).to_owned(), value(key))).collect();
    Elem::Key(Value::Object(keys).to_string())
}

/// Whether a path leads to a field by which its list item is known: that one goes with the item only.
pub(crate) fn is_key_field(path: &[Elem]) -> bool {
    let [.., Elem::Key(keys), Elem::Field(name)] = path else {
        return false;
    };
    serde_json::from_str::<Map<String, Value>>(keys).is_ok_and(|keys| keys.contains_key(name))
}

/// What is at a path.
pub(crate) fn get<'a>(value: &'a Value, path: &[Elem], builtin: bool) -> Option<&'a Value> {
    let mut current = value;
    for (depth, elem) in path.iter().enumerate() {
        current = if let Elem::Field(name) = elem {
            current.get(name)?
        } else {
            let kind = list_type(builtin, &path[..depth]);
            current
                .as_array()?
                .iter()
                .find(|item| item_elem(kind, item) == *elem)?
        };
    }
    Some(current)
}

fn get_mut<'a>(value: &'a mut Value, path: &[Elem], builtin: bool) -> Option<&'a mut Value> {
    let mut current = value;
    for (depth, elem) in path.iter().enumerate() {
        current = if let Elem::Field(name) = elem {
            current.get_mut(name)?
        } else {
            let kind = list_type(builtin, &path[..depth]);
            current
                .as_array_mut()?
                .iter_mut()
                .find(|item| item_elem(kind, item) == *elem)?
        };
    }
    Some(current)
}

/// Removes what is at a path; says whether its parent is empty now.
pub(crate) fn remove(value: &mut Value, path: &[Elem], builtin: bool) -> bool {
    let Some((last, parents)) = path.split_last() else {
        return false;
    };
    let Some(current) = get_mut(value, parents, builtin) else {
        return false;
    };
    match (last, current) {
        (Elem::Field(name), Value::Object(fields)) => {
            fields.remove(name);
            fields.is_empty()
        }
        (elem, Value::Array(items)) => {
            let kind = list_type(builtin, parents);
            items.retain(|item| item_elem(kind, item) != *elem);
            items.is_empty()
        }
        _ => false,
    }
}
