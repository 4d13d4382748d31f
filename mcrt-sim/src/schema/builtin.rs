//! The built-in kinds and their schemas, read once from the table that a real API server has given.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::schema::types::{Cursor, Field, List, Map, Patch, Relation, Scalar, Type, TypeId, Types};

/// How to read it stands in `tests/src/builtin_table.rs`, which writes it.
const TABLE: &str = include_str!("builtin.txt");

/// One version of a built-in kind as discovery lists it.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) singular: &'static str,
    pub(crate) namespaced: bool,
    pub(crate) subresources: Vec<&'static str>,
    pub(crate) short_names: Vec<&'static str>,
    pub(crate) categories: Vec<&'static str>,
    pub(crate) ty: TypeId,
}

struct Builtin {
    rows: Vec<Row>,
    types: Types,
    names: HashMap<&'static str, TypeId>,
}

static BUILTIN: LazyLock<Builtin> = LazyLock::new(Builtin::read);

pub(crate) fn rows() -> &'static [Row] {
    &BUILTIN.rows
}

pub(crate) fn types() -> &'static Types {
    &BUILTIN.types
}

/// The type that every object's metadata has.
pub(crate) fn metadata() -> TypeId {
    BUILTIN.names["meta.v1.ObjectMeta"]
}

pub(crate) fn cursor(id: TypeId) -> Cursor<'static> {
    BUILTIN.types.cursor(id)
}

impl Builtin {
    fn read() -> Self {
        let mut builtin = Self {
            rows: Vec::new(),
            types: Types::default(),
            names: HashMap::new(),
        };
        // Names first: types name each other in any order.
        for line in TABLE.lines() {
            if let ["type" | "alias", name, ..] = words(line).as_slice() {
                let id = builtin.types.push(Type::Any);
                builtin.names.insert(name, id);
            }
        }
        let mut open: Option<(TypeId, Map)> = None;
        for line in TABLE.lines() {
            let words = words(line);
            if let Some(name) = line.strip_prefix(' ').and_then(|_| words.first()) {
                let field = builtin.field(&words[1..]);
                if let Some((_, map)) = &mut open {
                    map.fields.insert((*name).into(), field);
                }
                continue;
            }
            builtin.close(open.take());
            match words.as_slice() {
                ["type", name, relation @ ..] => {
                    let atomic = relation.contains(&"@atomic");
                    let map = Map {
                        atomic,
                        ..Map::default()
                    };
                    open = Some((builtin.names[name], map));
                }
                ["alias", name, ty] => {
                    let id = builtin.ty(ty, None);
                    builtin.types.set(builtin.names[name], Type::Builtin(id));
                }
                ["kind", rest @ ..] => builtin.row(rest),
                _ => {}
            }
        }
        builtin.close(open);
        builtin
    }

    fn close(&mut self, open: Option<(TypeId, Map)>) {
        if let Some((id, map)) = open {
            self.types.set(id, Type::Map(map));
        }
    }

    fn row(&mut self, words: &[&'static str]) {
        let [
            group,
            version,
            kind,
            plural,
            singular,
            scope,
            subresources,
            short_names,
            categories,
            ty,
        ] = *words
        else {
            return;
        };
        let list = |text: &'static str| text.split(',').filter(|name| *name != "-").collect();
        self.rows.push(Row {
            group: if group == "-" { "" } else { group },
            version,
            kind,
            plural,
            singular,
            namespaced: scope == "namespaced",
            subresources: list(subresources),
            short_names: list(short_names),
            categories: list(categories),
            ty: self.names[ty],
        });
    }

    fn field(&mut self, words: &[&str]) -> Field {
        let relation = words.iter().find_map(|word| word.strip_prefix('@'));
        let patch = words
            .iter()
            .find_map(|word| word.strip_prefix('^'))
            .unwrap_or_default();
        let (strategy, key) = patch.split_once(':').unwrap_or((patch, ""));
        let default = words.iter().find_map(|word| word.strip_prefix('='));
        Field {
            ty: self.ty(words[0], relation),
            required: words.contains(&"!"),
            default: default.and_then(|text| serde_json::from_str(text).ok()),
            patch: Patch {
                merge: strategy.split(',').any(|part| part == "merge"),
                key: Some(key).filter(|key| !key.is_empty()).map(Into::into),
            },
        }
    }

    fn ty(&mut self, text: &str, relation: Option<&str>) -> TypeId {
        let (first, rest) = text.split_at(1);
        let scalar = match first {
            "s" => Scalar::Text,
            "t" => Scalar::Time,
            "6" => Scalar::Base64,
            "i" => Scalar::Integer,
            "n" => Scalar::Number,
            "b" => Scalar::Bool,
            "x" => Scalar::Any,
            "u" => return self.types.push(Type::Opaque),
            "." if relation == Some("atomic") => return self.types.push(Type::Atomic(self.names[rest])),
            "." => return self.names[rest],
            "[" => {
                let item = self.ty(rest, None);
                let relation =
                    match relation.map(|relation| relation.split_once(':').unwrap_or((relation, ""))) {
                        Some(("set", _)) => Relation::Set,
                        Some(("map", keys)) => Relation::Keys(keys.split(',').map(Into::into).collect()),
                        _ => Relation::Atomic,
                    };
                return self.types.push(Type::List(List { relation, item }));
            }
            "{" => {
                let rest = Some(self.ty(rest, None));
                let atomic = relation == Some("atomic");
                return self.types.push(Type::Map(Map {
                    atomic,
                    rest,
                    ..Map::default()
                }));
            }
            _ => return self.types.push(Type::Any),
        };
        self.types.push(Type::Scalar(scalar))
    }
}

fn words(line: &'static str) -> Vec<&'static str> {
    line.split_whitespace().collect()
}
