//! What a write has changed, field by field, as the schema divides an object into fields.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::merge::fields::{FieldSet, Path};
use crate::schema::elem::Elem;
use crate::schema::types::{Cursor, ListShape, MapShape, Shape};

/// The differences of two objects; no field is in both sets.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    pub(crate) removed: FieldSet,
    /// What is there now and was not, or was otherwise.
    pub(crate) written: FieldSet,
}

impl Comparison {
    pub(crate) fn of(ty: Cursor<'_>, old: &Value, new: &Value) -> Self {
        let mut comparison = Self::default();
        comparison.walk(ty, Some(old), Some(new), &mut Vec::new());
        comparison
    }

    /// Leaves out what one endpoint cannot change.
    pub(crate) fn without(self, fields: &FieldSet) -> Self {
        Self {
            removed: self.removed.without(fields),
            written: self.written.without(fields),
        }
    }

    fn walk(&mut self, ty: Cursor<'_>, old: Option<&Value>, new: Option<&Value>, at: &mut Path) {
        if old != new {
            self.differing(ty, old, new, at);
        }
    }

    /// Walks on where the sides are known to differ.
    fn differing(&mut self, ty: Cursor<'_>, old: Option<&Value>, new: Option<&Value>, at: &mut Path) {
        let shape = |value: Option<&Value>| value.map(|value| ty.shape(value));
        match (shape(old), shape(new)) {
            (Some(Shape::Map(map)), Some(Shape::Map(_)) | None) | (None, Some(Shape::Map(map))) => {
                self.map(map, old, new, at);
            }
            (Some(Shape::List(list)), Some(Shape::List(_)) | None) | (None, Some(Shape::List(list))) => {
                self.list(list, old, new, at);
            }
            (Some(Shape::Leaf), Some(Shape::Leaf) | None) | (None, Some(Shape::Leaf)) => {
                self.leaf(old, new, at);
            }
            // A value of any type that turned into one of another form.
            (Some(_), Some(_)) => {
                self.written.insert(at);
                for (old, new) in [(old, None), (None, new)] {
                    if let (Some(map), true) = (ty.as_map(), old.or(new).is_some_and(Value::is_object)) {
                        self.fields(map, old, new, at);
                    }
                }
            }
            (None, None) => {}
        }
    }

    fn leaf(&mut self, old: Option<&Value>, new: Option<&Value>, at: &Path) {
        match (old, new) {
            (None, _) => self.written.insert(at),
            (_, None) => self.removed.insert(at),
            _ => self.written.insert(at),
        }
    }

    fn sides(&mut self, old: Option<&Value>, new: Option<&Value>, at: &Path) {
        match (old, new) {
            (None, _) => self.written.insert(at),
            (_, None) => self.removed.insert(at),
            _ => {}
        }
    }

    fn map(&mut self, map: MapShape<'_>, old: Option<&Value>, new: Option<&Value>, at: &mut Path) {
        let empty = |side: Option<&Value>| side.and_then(Value::as_object).is_none_or(Map::is_empty);
        if empty(old) && empty(new) {
            // As one: that keeps an empty map apart from none.
            return self.leaf(old, new, at);
        }
        self.fields(map, old, new, at);
        self.sides(old, new, at);
    }

    fn fields(&mut self, map: MapShape<'_>, old: Option<&Value>, new: Option<&Value>, at: &mut Path) {
        let added = fields_of(new).filter(|(name, _)| old.and_then(|old| old.get(name.as_str())).is_none());
        for (name, _) in fields_of(old).chain(added) {
            let (before, after) = (
                old.and_then(|old| old.get(name)),
                new.and_then(|new| new.get(name)),
            );
            if before != after
                && let Some(ty) = map.field(name)
            {
                at.push(Elem::field(name));
                self.differing(ty, before, after, at);
                at.pop();
            }
        }
    }

    fn list(&mut self, list: ListShape<'_>, old: Option<&Value>, new: Option<&Value>, at: &mut Path) {
        let (before, after) = (index(list, old), index(list, new));
        if before.is_empty() && after.is_empty() {
            return self.leaf(old, new, at);
        }
        let fresh = after.keys().filter(|elem| !before.contains_key(*elem));
        for elem in before.keys().chain(fresh) {
            at.push(elem.clone());
            self.items(list, find(&before, elem), find(&after, elem), at);
            at.pop();
        }
        self.sides(old, new, at);
    }

    /// Compares the items under one key; several under one key count as one thing.
    fn items(&mut self, list: ListShape<'_>, old: &[&Value], new: &[&Value], at: &mut Path) {
        match (old, new) {
            ([] | [_], [] | [_]) => self.walk(list.item, old.first().copied(), new.first().copied(), at),
            ([_, _, ..], [_, _, ..]) => {
                if old != new {
                    self.written.insert(at);
                }
            }
            ([_, _, ..], _) => {
                self.walk(list.item, None, new.first().copied(), at);
                self.removed.insert(at);
            }
            _ => {
                self.walk(list.item, old.first().copied(), None, at);
                self.written.insert(at);
            }
        }
    }
}

fn fields_of(side: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    side.and_then(Value::as_object).into_iter().flatten()
}

/// Sorted, so that long lists are gone through once.
type Index<'v> = BTreeMap<Elem, Vec<&'v Value>>;

fn find<'i, 'v>(index: &'i Index<'v>, elem: &Elem) -> &'i [&'v Value] {
    index.get(elem).map_or(&[], Vec::as_slice)
}

fn index<'v>(list: ListShape<'_>, side: Option<&'v Value>) -> Index<'v> {
    let mut index = Index::new();
    for item in side.and_then(Value::as_array).into_iter().flatten() {
        if let Ok(elem) = list.elem(item) {
            index.entry(elem).or_default().push(item);
        }
    }
    index
}
