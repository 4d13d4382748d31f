//! Kinds that are defined through the API: their schemas, and what these do with objects.
//!
//! The walk is written by hand: it has to prune, fill in and validate in one form of schema, and to refuse with the
//! paths and reasons of the API server, which no general validator of JSON Schema gives.

pub(crate) mod check;
pub(crate) mod definition;
pub(crate) mod fill;
pub(crate) mod formats;
pub(crate) mod lists;
pub(crate) mod node;
pub(crate) mod place;
pub(crate) mod structural;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Weak};

use ahash::AHashMap;
use parking_lot::Mutex;
use serde_json::Value;

use crate::crd::node::Node;
use crate::schema::builtin;
use crate::schema::types::{Cursor, Field, Map, Scalar, Type, TypeId, Types};

/// What one version of a defined kind says about its objects.
#[derive(Debug)]
pub(crate) struct Compiled {
    types: Types,
    root: TypeId,
    /// None where any object will do.
    pub(crate) node: Option<Node>,
}

impl Compiled {
    /// A kind without a schema.
    pub(crate) fn anything() -> Arc<Self> {
        static ANYTHING: LazyLock<Arc<Compiled>> = LazyLock::new(|| Arc::new(Compiled::new(None)));
        Arc::clone(&ANYTHING)
    }

    /// The schema of a version in a definition; servers that define the same kind share it.
    pub(crate) fn of(version: &Value) -> Arc<Self> {
        static KNOWN: LazyLock<Mutex<HashMap<String, Weak<Compiled>>>> = LazyLock::new(Mutex::default);
        let schema = &version["schema"]["openAPIV3Schema"];
        if !schema.is_object() {
            return Self::anything();
        }
        let mut known = KNOWN.lock();
        let text = schema.to_string();
        if let Some(compiled) = known.get(&text).and_then(Weak::upgrade) {
            return compiled;
        }
        known.retain(|_, compiled| compiled.strong_count() > 0);
        let compiled = Arc::new(Self::new(Some(Node::read(schema))));
        known.insert(text, Arc::downgrade(&compiled));
        compiled
    }

    fn new(node: Option<Node>) -> Self {
        let mut types = Types::default();
        let fields = match &node {
            Some(node) => node.merge_fields(&mut types, node.preserve),
            None => AHashMap::new(),
        };
        let rest = match &node {
            Some(node) => node.merge_rest(&mut types, node.preserve),
            None => Some(types.push(Type::Any)),
        };
        let root = envelope(&mut types, fields, rest);
        let root = types.push(root);
        Self { types, root, node }
    }

    pub(crate) fn cursor(&self) -> Cursor<'_> {
        self.types.cursor(self.root)
    }
}

/// The type of a custom resource: what all objects have, and these fields.
fn envelope(types: &mut Types, mut fields: AHashMap<Box<str>, Field>, rest: Option<TypeId>) -> Type {
    let text = types.push(Type::Scalar(Scalar::Text));
    let metadata = types.push(Type::Builtin(builtin::metadata()));
    for (name, ty) in [("apiVersion", text), ("kind", text), ("metadata", metadata)] {
        fields.insert(name.into(), Field::of(ty));
    }
    Type::Map(Map {
        atomic: false,
        fields,
        rest,
        ..Map::default()
    })
}
