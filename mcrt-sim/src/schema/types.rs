//! Types as merging sees them: which lists merge by which keys, which maps are replaced as a whole.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use ahash::AHashMap;
use serde_json::Value;

use crate::schema::builtin;
use crate::schema::elem::Elem;

/// A type inside its [`Types`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TypeId(u32);

/// All types of one schema; they name each other, in circles too.
#[derive(Debug, Default)]
pub(crate) struct Types {
    types: Vec<Type>,
}

#[derive(Clone, Debug)]
pub(crate) enum Type {
    Scalar(Scalar),
    List(List),
    Map(Map),
    /// Anything, merged by what it turns out to be: maps by parts, lists as one.
    Any,
    /// Anything, replaced as a whole.
    Opaque,
    /// Another type whose map is replaced as a whole where it is used here.
    Atomic(TypeId),
    /// A type of the built-in schemas, inside another schema.
    Builtin(TypeId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    Text,
    Time,
    Base64,
    Integer,
    Number,
    Bool,
    Any,
}

#[derive(Clone, Debug)]
pub(crate) struct List {
    pub(crate) relation: Relation,
    pub(crate) item: TypeId,
}

/// How the items of two lists are brought together.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Relation {
    Atomic,
    Set,
    Keys(Box<[Box<str>]>),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Map {
    pub(crate) atomic: bool,
    pub(crate) fields: AHashMap<Box<str>, Field>,
    /// The type of what is not declared by name; without one nothing else may be there.
    pub(crate) rest: Option<TypeId>,
    /// What the real server writes for fields that were left out, found out when it is first asked for.
    pub(crate) missing: OnceLock<Box<[(Box<str>, Value)]>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) ty: TypeId,
    pub(crate) required: bool,
    pub(crate) default: Option<Value>,
    pub(crate) patch: Patch,
}

impl Field {
    pub(crate) fn of(ty: TypeId) -> Self {
        Self {
            ty,
            required: false,
            default: None,
            patch: Patch::default(),
        }
    }
}

/// What a strategic merge patch does with a field.
#[derive(Clone, Debug, Default)]
pub(crate) struct Patch {
    pub(crate) merge: bool,
    pub(crate) key: Option<Box<str>>,
}

impl Types {
    pub(crate) fn push(&mut self, ty: Type) -> TypeId {
        let id = TypeId(u32::try_from(self.types.len()).unwrap_or(u32::MAX));
        self.types.push(ty);
        id
    }

    pub(crate) fn set(&mut self, id: TypeId, ty: Type) {
        self.types[id.0 as usize] = ty;
    }

    pub(crate) fn cursor(&self, id: TypeId) -> Cursor<'_> {
        let mut cursor = Cursor {
            types: self,
            id,
            atomic: false,
        };
        loop {
            match cursor.types.types[cursor.id.0 as usize] {
                Type::Atomic(inner) => {
                    cursor.id = inner;
                    cursor.atomic = true;
                }
                Type::Builtin(inner) => {
                    cursor.types = builtin::types();
                    cursor.id = inner;
                }
                _ => return cursor,
            }
        }
    }
}

/// A place in a schema.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'a> {
    types: &'a Types,
    id: TypeId,
    atomic: bool,
}

/// What a value is taken for at a place.
pub(crate) enum Shape<'a> {
    Leaf,
    List(ListShape<'a>),
    Map(MapShape<'a>),
}

#[derive(Clone, Copy)]
pub(crate) struct ListShape<'a> {
    list: &'a List,
    pub(crate) item: Cursor<'a>,
}

#[derive(Clone, Copy)]
pub(crate) struct MapShape<'a> {
    /// None where anything may be: every key is undeclared, and of any type.
    map: Option<&'a Map>,
    cursor: Cursor<'a>,
}

impl<'a> Cursor<'a> {
    pub(crate) fn ty(self) -> &'a Type {
        &self.types.types[self.id.0 as usize]
    }

    pub(crate) fn as_map(self) -> Option<MapShape<'a>> {
        match self.ty() {
            Type::Map(map) => Some(MapShape {
                map: Some(map),
                cursor: self,
            }),
            Type::Any => Some(MapShape {
                map: None,
                cursor: self,
            }),
            _ => None,
        }
    }

    pub(crate) fn as_list(self) -> Option<ListShape<'a>> {
        match self.ty() {
            Type::List(list) => Some(ListShape {
                list,
                item: self.types.cursor(list.item),
            }),
            _ => None,
        }
    }

    /// How a value merges here; atomic containers are leaves.
    pub(crate) fn shape(self, value: &Value) -> Shape<'a> {
        match self.ty() {
            Type::Map(map) if !map.atomic && !self.atomic => Shape::Map(MapShape {
                map: Some(map),
                cursor: self,
            }),
            Type::List(list) if list.relation != Relation::Atomic => Shape::List(ListShape {
                list,
                item: self.types.cursor(list.item),
            }),
            Type::Any if value.is_object() || value.is_null() => Shape::Map(MapShape {
                map: None,
                cursor: self,
            }),
            _ => Shape::Leaf,
        }
    }

    /// The place of a field or of the items of a list.
    pub(crate) fn below(self, elem: &Elem) -> Option<Cursor<'a>> {
        match elem.name() {
            Some(name) => self.as_map()?.field(name),
            None => Some(self.as_list()?.item),
        }
    }
}

impl<'a> MapShape<'a> {
    pub(crate) fn declared(self, name: &str) -> Option<&'a Field> {
        self.map?.fields.get(name)
    }

    pub(crate) fn fields(self) -> impl Iterator<Item = (&'a str, &'a Field, Cursor<'a>)> {
        let fields = self.map.map(|map| &map.fields).into_iter().flatten();
        fields.map(move |(name, field)| (&**name, field, self.cursor.types.cursor(field.ty)))
    }

    /// What the real server writes for fields that were left out; none where anything may be.
    pub(crate) fn missing(self) -> Option<&'a OnceLock<Box<[(Box<str>, Value)]>>> {
        self.map.map(|map| &map.missing)
    }

    /// The place of a field, declared or not; nothing if the field may not be there.
    pub(crate) fn field(self, name: &str) -> Option<Cursor<'a>> {
        Some(self.place(name)?.1)
    }

    /// What is declared of a field, if it is, and its place; nothing if the field may not be there.
    pub(crate) fn place(self, name: &str) -> Option<(Option<&'a Field>, Cursor<'a>)> {
        let Some(map) = self.map else {
            return Some((None, self.cursor));
        };
        let declared = map.fields.get(name);
        let id = declared.map(|field| field.ty).or(map.rest)?;
        Some((declared, self.cursor.types.cursor(id)))
    }
}

impl ListShape<'_> {
    pub(crate) fn relation(&self) -> &Relation {
        &self.list.relation
    }

    /// The step to an item; the error says why the item has none.
    pub(crate) fn elem(&self, item: &Value) -> Result<Elem, String> {
        let Relation::Keys(keys) = &self.list.relation else {
            return match item {
                Value::Object(_) => {
                    Err("associative list without keys has an element that's a map type".into())
                }
                Value::Array(_) => Err("not supported: associative list with lists as elements".into()),
                Value::Null => {
                    Err("associative list without keys has an element that's an explicit null".into())
                }
                scalar => Ok(Elem::item(scalar)),
            };
        };
        let Some(fields) = item.as_object() else {
            let what = if item.is_null() {
                "a null element"
            } else {
                "non-map elements"
            };
            return Err(format!("associative list with keys may not have {what}"));
        };
        let declared = self.item.as_map();
        let default = |key: &str| {
            declared
                .and_then(|map| map.declared(key))
                .and_then(|field| field.default.as_ref())
        };
        let known: BTreeMap<&str, &Value> = keys
            .iter()
            .filter_map(|key| Some((&**key, fields.get(&**key).or_else(|| default(key))?)))
            .collect();
        if known.is_empty() {
            let keys: Vec<_> = keys.iter().map(|key| format!("\"{key}\"")).collect();
            return Err(format!(
                "associative list with keys has an element that omits all key fields [{}] (and doesn't have \
                 default values for any key fields)",
                keys.join(" ")
            ));
        }
        Ok(Elem::key(&known))
    }
}
