//! The format: what one line says. `schema.json` says the same.
use super::access;
use crate::{
    child::printable,
    cluster::{ClusterName, Properties, Property, PropertyOrigin},
    connect::{Connection, Policy},
    provider::{ClusterSpec, said::Claim},
};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A line, read but not vetted.
#[derive(Debug)]
pub(super) enum Line {
    /// There is this cluster; or there is, but its line is not as it must be.
    Cluster(ClusterName, Result<Described, String>),
    /// There is not.
    Remove(ClusterName),
    /// All have been named.
    Synced,
    /// Nobody knows of which cluster it speaks.
    Nameless(String),
}

/// A cluster as its line describes it.
#[derive(Debug)]
pub(super) struct Described {
    uid: Option<String>,
    how: How,
    properties: Properties,
}

/// How to reach it.
enum How {
    Kubeconfig { text: String, context: Option<String> },
    Unusable(String),
}

/// A kubeconfig is secret.
impl std::fmt::Debug for How {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Kubeconfig { .. } => "Kubeconfig",
            Self::Unusable(_) => "Unusable",
        })
    }
}

/// What a field may hold. Nothing, as `null`, is the same as no field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    Text,
    TextOrObject,
    Object,
    Texts,
}

/// The fields of a cluster.
pub(super) const FIELDS: &[(&str, Holds)] = &[
    ("name", Holds::Text),
    ("uid", Holds::Text),
    ("kubeconfig", Holds::TextOrObject),
    ("context", Holds::Text),
    ("access", Holds::Object),
    ("unusable", Holds::Text),
    ("labels", Holds::Texts),
    ("properties", Holds::Texts),
];

/// Of these a line has one.
const HOW: [&str; 3] = ["kubeconfig", "access", "unusable"];

impl Line {
    /// Reads a line. Nothing of it is repeated but the names of known fields, and the cluster's.
    pub(super) fn read(line: &[u8]) -> Self {
        let mut fields = match serde_json::from_slice(line) {
            Ok(Value::Object(fields)) => fields,
            Ok(_) => return Self::Nameless("is no JSON object".to_owned()),
            Err(error) => {
                return Self::Nameless(format!("is not JSON: it goes wrong at column {}", error.column()));
            }
        };
        if fields.get("synced").is_some_and(|synced| !synced.is_null()) {
            return Self::synced(&fields);
        }
        if fields.get("remove").is_some_and(|remove| !remove.is_null()) {
            return Self::remove(&fields);
        }
        let is_known = fields
            .keys()
            .all(|field| FIELDS.iter().any(|(known, _)| known == field));
        fields.retain(|_, value| !value.is_null());
        let name = match fields.get("name") {
            Some(Value::String(name)) => ClusterName::new(name),
            Some(_) => return Self::Nameless("its `name` must be a text".to_owned()),
            None => return Self::Nameless("has no `name`".to_owned()),
        };
        match name {
            Ok(name) if is_known => {
                let described = describe(&name, fields);
                Self::Cluster(name, described)
            }
            Ok(name) => {
                let known: Vec<_> = FIELDS.iter().map(|(known, _)| *known).collect();
                let known = known.join(", ");
                let reason = format!("its line has a field that is not known; known are {known}");
                Self::Cluster(name, Err(reason))
            }
            Err(error) => Self::Nameless(error.to_string()),
        }
    }

    fn synced(fields: &Map<String, Value>) -> Self {
        if fields.len() == 1 && fields["synced"] == Value::Bool(true) {
            return Self::Synced;
        }
        Self::Nameless("must be `{\"synced\": true}`, if it has `synced`".to_owned())
    }

    fn remove(fields: &Map<String, Value>) -> Self {
        let name = fields["remove"].as_str().map(ClusterName::new);
        match name {
            Some(Ok(name)) if fields.len() == 1 => Self::Remove(name),
            Some(Err(error)) => Self::Nameless(error.to_string()),
            _ => Self::Nameless("must be `{\"remove\": \"NAME\"}`, if it has `remove`".to_owned()),
        }
    }
}

fn describe(name: &ClusterName, mut fields: Map<String, Value>) -> Result<Described, String> {
    for (field, holds) in FIELDS {
        if let Some(value) = fields.get(*field) {
            holds
                .check(value)
                .map_err(|must| format!("`{field}` in its line {must}"))?;
        }
    }
    let how: Vec<_> = HOW.into_iter().filter(|how| fields.contains_key(*how)).collect();
    if how.len() != 1 {
        let found = if how.is_empty() { "none" } else { "several" };
        return Err(format!(
            "its line must have one of {}, and has {found}",
            HOW.join(", ")
        ));
    }
    let context = text(&mut fields, "context");
    if context.is_some() && how != ["kubeconfig"] {
        return Err("`context` in its line is for a `kubeconfig`".to_owned());
    }
    let how = if let Some(reason) = text(&mut fields, "unusable") {
        How::Unusable(printable(&reason))
    } else {
        let text = match (fields.remove("kubeconfig"), fields.remove("access")) {
            (Some(Value::String(text)), _) => text,
            (Some(object), _) => object.to_string(),
            (None, Some(Value::Object(access))) => access::kubeconfig(name, access)?,
            (None, _) => String::new(),
        };
        How::Kubeconfig { text, context }
    };
    let origin = PropertyOrigin::Provider;
    let named = texts(&mut fields, "properties").into_iter();
    Ok(Described {
        uid: text(&mut fields, "uid"),
        how,
        properties: Properties {
            labels: texts(&mut fields, "labels"),
            named: named
                .map(|(name, value)| (name, Property { value, origin }))
                .collect(),
        },
    })
}

impl Described {
    /// Vets how it is to be reached. Blocks where the policy lets it read files.
    pub(super) fn vet(self, name: &ClusterName, policy: &Policy) -> Claim {
        let (text, context) = match self.how {
            How::Kubeconfig { text, context } => (text, context),
            How::Unusable(reason) => return Claim::Bad(reason),
        };
        match Connection::from_bytes(text, context.as_deref(), policy) {
            Ok(connection) => {
                let uid = self.uid.unwrap_or_else(|| name.to_string());
                let spec = ClusterSpec::new(name.clone(), uid, connection);
                Claim::Good(Box::new(spec.with_properties(self.properties)))
            }
            Err(error) => Claim::Bad(format!("its kubeconfig: {error}")),
        }
    }
}

impl Holds {
    fn check(self, value: &Value) -> Result<(), &'static str> {
        let must = match (self, value) {
            (Self::Text | Self::TextOrObject, Value::String(_))
            | (Self::TextOrObject | Self::Object, Value::Object(_)) => return Ok(()),
            (Self::Texts, Value::Object(fields))
                if fields.values().all(|value| value.is_string() || value.is_null()) =>
            {
                return Ok(());
            }
            (Self::Text, _) => "must be a text",
            (Self::TextOrObject, _) => "must be a text or an object",
            (Self::Object, _) => "must be an object",
            (Self::Texts, _) => "must be an object of texts",
        };
        Err(must)
    }
}

fn text(fields: &mut Map<String, Value>, field: &str) -> Option<String> {
    match fields.remove(field) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

fn texts(fields: &mut Map<String, Value>, field: &str) -> BTreeMap<String, String> {
    let Some(Value::Object(fields)) = fields.remove(field) else {
        return BTreeMap::new();
    };
    let texts = fields.into_iter().filter_map(|(key, value)| match value {
        Value::String(value) => Some((key, value)),
        _ => None,
    });
    texts.collect()
}
