//! Sets of fields in the form in which objects store them, and changes of that form in place: an update touches few of
//! the fields that somebody owns.

use serde_json::{Map, Value};

use crate::merge::fields::{FieldSet, Node};
use crate::schema::elem::Elem;

/// Says of a node with others below it that it is owned itself.
const SELF: &str = ".";

impl FieldSet {
    pub(crate) fn to_v1(&self) -> Value {
        let mut fields = Map::new();
        for (elem, node) in &self.0 {
            fields.insert(elem.as_str().to_owned(), node.to_v1());
        }
        Value::Object(fields)
    }

    /// Reads the form that is stored; nothing if it is none.
    pub(crate) fn from_v1(value: &Value) -> Option<Self> {
        let mut set = Self::default();
        for (name, inner) in value.as_object()? {
            if name == SELF {
                continue;
            }
            let elem = Elem::read(name)?;
            let below = Self::from_v1(inner)?;
            let member = below.is_empty() || inner.get(SELF).is_some();
            set.0.push((elem, Node { member, below }));
        }
        // The names of an object are, mostly.
        set.0.sort_by(|(a, _), (b, _)| a.cmp(b));
        Some(set)
    }

    /// Leaves out of a stored set what is in this one; says whether there was any of it.
    pub(crate) fn subtract_from(&self, stored: &mut Map<String, Value>) -> bool {
        let mut changed = false;
        for (elem, node) in &self.0 {
            let Some(Value::Object(inner)) = stored.get_mut(elem.as_str()) else {
                continue;
            };
            let owned = is_owned(inner);
            let below = node.below.subtract_from(inner);
            let kept = owned && !node.member;
            if !below && kept == owned {
                continue;
            }
            changed = true;
            mark(inner, kept);
            if inner.is_empty() && !kept {
                stored.remove(elem.as_str());
            }
        }
        changed
    }

    /// Adds this set to a stored one; says whether any of it was not there.
    pub(crate) fn add_to(&self, stored: &mut Map<String, Value>) -> bool {
        let mut changed = false;
        for (elem, node) in &self.0 {
            let Some(Value::Object(inner)) = stored.get_mut(elem.as_str()) else {
                stored.insert(elem.as_str().to_owned(), node.to_v1());
                changed = true;
                continue;
            };
            let owned = is_owned(inner);
            let below = node.below.add_to(inner);
            if below || (node.member && !owned) {
                changed = true;
                mark(inner, owned || node.member);
            }
        }
        changed
    }
}

impl Node {
    fn to_v1(&self) -> Value {
        let mut below = self.below.to_v1();
        if let Value::Object(below) = &mut below {
            mark(below, self.member);
        }
        below
    }
}

/// Whether a stored node is owned itself, not only what is below it.
fn is_owned(inner: &Map<String, Value>) -> bool {
    inner.is_empty() || inner.contains_key(SELF)
}

/// Says of a stored node whether it is owned itself; one without anything below need not say it.
fn mark(inner: &mut Map<String, Value>, owned: bool) {
    inner.remove(SELF);
    if owned && !inner.is_empty() {
        inner.insert(SELF.into(), Value::Object(Map::new()));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn set() -> impl Strategy<Value = FieldSet> {
        let path = prop::collection::vec(prop::sample::select(vec!["a", "b", "c"]), 1..4);
        prop::collection::vec(path, 0..8).prop_map(|paths| {
            let mut set = FieldSet::default();
            for path in paths {
                set.insert(&path.into_iter().map(Elem::field).collect::<Vec<_>>());
            }
            set
        })
    }

    fn stored(set: &FieldSet) -> Map<String, Value> {
        set.to_v1().as_object().cloned().unwrap_or_default()
    }

    proptest! {
        #[test]
        fn what_is_stored_is_read_as_it_was(set in set()) {
            prop_assert_eq!(FieldSet::from_v1(&set.to_v1()), Some(set));
        }

        #[test]
        fn a_stored_set_changes_as_one_that_was_read(there in set(), other in set()) {
            let mut fields = stored(&there);
            let changed = other.subtract_from(&mut fields);
            prop_assert_eq!(&fields, &stored(&there.difference(&other)));
            prop_assert_eq!(changed, fields != stored(&there));

            let mut fields = stored(&there);
            let changed = other.add_to(&mut fields);
            let mut both = there.clone();
            both.union(&other);
            prop_assert_eq!(&fields, &stored(&both));
            prop_assert_eq!(changed, fields != stored(&there));
        }
    }
}
