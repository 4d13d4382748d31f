//! A structural schema, read once.

use std::collections::BTreeMap;

use ahash::AHashMap;
use regex::Regex;
use serde_json::{Number, Value};

use crate::schema::builtin;
use crate::schema::types::{Field, List, Map, Relation, Scalar, Type, TypeId, Types};

/// One place of a schema.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "they are the flags of the schema")]
pub(crate) struct Node {
    /// Empty where any type will do.
    pub(crate) ty: Box<str>,
    pub(crate) format: Box<str>,
    pub(crate) nullable: bool,
    pub(crate) default: Option<Value>,
    pub(crate) fields: BTreeMap<Box<str>, Node>,
    pub(crate) rest: Option<Box<Node>>,
    /// Whether any further key may be there, of any type.
    pub(crate) open: bool,
    pub(crate) item: Option<Box<Node>>,
    pub(crate) preserve: bool,
    pub(crate) embedded: bool,
    pub(crate) int_or_string: bool,
    pub(crate) atomic: bool,
    pub(crate) set: bool,
    pub(crate) keys: Box<[Box<str>]>,
    pub(crate) rules: Rules,
}

/// What a value has to keep beside its type.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    pub(crate) required: Box<[Box<str>]>,
    pub(crate) choices: Option<Box<[Value]>>,
    pub(crate) pattern: Option<(Box<str>, Regex)>,
    pub(crate) maximum: Option<(Number, bool)>,
    pub(crate) minimum: Option<(Number, bool)>,
    pub(crate) multiple: Option<Number>,
    /// Limits of texts, lists and maps: at least, at most.
    pub(crate) length: Limits,
    pub(crate) items: Limits,
    pub(crate) properties: Limits,
    pub(crate) all: Box<[Node]>,
    pub(crate) any: Box<[Node]>,
    pub(crate) one: Box<[Node]>,
    pub(crate) not: Option<Box<Node>>,
}

pub(crate) type Limits = (Option<usize>, Option<usize>);

impl Node {
    pub(crate) fn read(schema: &Value) -> Self {
        let text = |field: &str| schema[field].as_str().unwrap_or_default();
        let flag = |field: &str| schema[field] == true;
        let fields = schema["properties"].as_object().into_iter().flatten();
        let rest = &schema["additionalProperties"];
        let child = |value: &Value| value.is_object().then(|| Box::new(Self::read(value)));
        Self {
            ty: text("type").into(),
            format: text("format").into(),
            nullable: flag("nullable"),
            default: schema
                .get("default")
                .filter(|default| !default.is_null())
                .cloned(),
            fields: fields
                .map(|(name, field)| (name.as_str().into(), Self::read(field)))
                .collect(),
            rest: child(rest),
            open: *rest == true,
            item: child(&schema["items"]),
            preserve: flag("x-kubernetes-preserve-unknown-fields"),
            embedded: flag("x-kubernetes-embedded-resource"),
            int_or_string: flag("x-kubernetes-int-or-string"),
            atomic: text("x-kubernetes-map-type") == "atomic",
            set: text("x-kubernetes-list-type") == "set",
            keys: texts(&schema["x-kubernetes-list-map-keys"]),
            rules: Rules::read(schema),
        }
    }

    /// The node of a field, declared or not.
    pub(crate) fn field(&self, name: &str) -> Option<&Self> {
        self.fields.get(name).or(self.rest.as_deref())
    }

    /// How the values of this place merge. What takes unknown fields does so at every depth.
    fn merge_type(&self, types: &mut Types, preserve: bool) -> TypeId {
        let preserve = preserve || self.preserve;
        let ty = match &*self.ty {
            _ if self.int_or_string => Type::Scalar(Scalar::Any),
            "string" => Type::Scalar(Scalar::Text),
            "integer" => Type::Scalar(Scalar::Integer),
            "number" => Type::Scalar(Scalar::Number),
            "boolean" => Type::Scalar(Scalar::Bool),
            "array" => {
                let relation = match &*self.keys {
                    _ if self.set => Relation::Set,
                    [] => Relation::Atomic,
                    keys => Relation::Keys(keys.into()),
                };
                let item = match &self.item {
                    Some(item) => item.merge_type(types, preserve),
                    None => types.push(Type::Opaque),
                };
                Type::List(List { relation, item })
            }
            "object" => Type::Map(Map {
                atomic: self.atomic,
                fields: self.merge_fields(types, preserve),
                rest: self.merge_rest(types, preserve),
                ..Map::default()
            }),
            _ => Type::Any,
        };
        types.push(ty)
    }

    pub(crate) fn merge_fields(&self, types: &mut Types, preserve: bool) -> AHashMap<Box<str>, Field> {
        let mut fields = AHashMap::new();
        for (name, node) in &self.fields {
            let mut field = Field::of(node.merge_type(types, preserve));
            field.default.clone_from(&node.default);
            fields.insert(name.clone(), field);
        }
        if self.embedded {
            let text = types.push(Type::Scalar(Scalar::Text));
            let metadata = types.push(Type::Builtin(builtin::metadata()));
            for (name, ty) in [("apiVersion", text), ("kind", text), ("metadata", metadata)] {
                fields.insert(name.into(), Field::of(ty));
            }
        }
        fields
    }

    /// The type of what is not declared, if it may be there.
    pub(crate) fn merge_rest(&self, types: &mut Types, preserve: bool) -> Option<TypeId> {
        match &self.rest {
            Some(rest) => Some(rest.merge_type(types, preserve)),
            None if preserve || self.open || self.fields.is_empty() => Some(types.push(Type::Any)),
            None => None,
        }
    }
}

impl Rules {
    fn read(schema: &Value) -> Self {
        let limits = |least: &str, most: &str| {
            let limit = |field: &str| {
                schema[field]
                    .as_u64()
                    .and_then(|limit| usize::try_from(limit).ok())
            };
            (limit(least), limit(most))
        };
        let nodes = |field: &str| {
            schema[field]
                .as_array()
                .into_iter()
                .flatten()
                .map(Node::read)
                .collect()
        };
        let bound = |field: &str, exclusive: &str| {
            let Value::Number(bound) = &schema[field] else {
                return None;
            };
            Some((bound.clone(), schema[exclusive] == true))
        };
        let pattern = schema["pattern"].as_str().filter(|pattern| !pattern.is_empty());
        let multiple = match &schema["multipleOf"] {
            Value::Number(multiple) => Some(multiple.clone()),
            _ => None,
        };
        Self {
            required: texts(&schema["required"]),
            choices: schema["enum"].as_array().map(|choices| choices.clone().into()),
            // A definition whose pattern is none has been refused.
            pattern: pattern.and_then(|pattern| Some((pattern.into(), Regex::new(pattern).ok()?))),
            maximum: bound("maximum", "exclusiveMaximum"),
            minimum: bound("minimum", "exclusiveMinimum"),
            multiple,
            length: limits("minLength", "maxLength"),
            items: limits("minItems", "maxItems"),
            properties: limits("minProperties", "maxProperties"),
            all: nodes("allOf"),
            any: nodes("anyOf"),
            one: nodes("oneOf"),
            not: schema["not"]
                .is_object()
                .then(|| Box::new(Node::read(&schema["not"]))),
        }
    }
}

fn texts(value: &Value) -> Box<[Box<str>]> {
    let items = value.as_array().into_iter().flatten();
    items.filter_map(Value::as_str).map(Into::into).collect()
}
