//! Sets of fields as `managedFields` records them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::schema::elem::Elem;
use crate::schema::types::{Cursor, Shape};

pub(crate) type Path = Vec<Elem>;

/// Fields that a writer owns: a tree whose nodes are owned or only lead to what is.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FieldSet(BTreeMap<Elem, Node>);

#[derive(Clone, Debug, Default, PartialEq)]
struct Node {
    member: bool,
    below: FieldSet,
}

impl Node {
    fn is_empty(&self) -> bool {
        !self.member && self.below.is_empty()
    }
}

impl FieldSet {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn insert(&mut self, path: &[Elem]) {
        let Some((first, rest)) = path.split_first() else {
            return;
        };
        if !self.0.contains_key(first) {
            self.0.insert(first.clone(), Node::default());
        }
        if let Some(node) = self.0.get_mut(first) {
            if rest.is_empty() {
                node.member = true;
            } else {
                node.below.insert(rest);
            }
        }
    }

    pub(crate) fn has(&self, elem: &Elem) -> bool {
        self.0.get(elem).is_some_and(|node| node.member)
    }

    /// What is owned below a step, if anything is.
    pub(crate) fn below(&self, elem: &Elem) -> Option<&Self> {
        self.0
            .get(elem)
            .map(|node| &node.below)
            .filter(|below| !below.is_empty())
    }

    pub(crate) fn union(&mut self, other: &Self) {
        for (elem, theirs) in &other.0 {
            let node = self.0.entry(elem.clone()).or_default();
            node.member |= theirs.member;
            node.below.union(&theirs.below);
        }
    }

    fn filtered(&self, keep: impl Fn(&Elem, &Node) -> Node) -> Self {
        let nodes = self.0.iter().map(|(elem, node)| (elem, keep(elem, node)));
        let nodes = nodes.filter(|(_, node)| !node.is_empty());
        Self(nodes.map(|(elem, node)| (elem.clone(), node)).collect())
    }

    /// What is in this set and not itself in the other.
    pub(crate) fn difference(&self, other: &Self) -> Self {
        self.filtered(|elem, node| match other.0.get(elem) {
            None => node.clone(),
            Some(theirs) => Node {
                member: node.member && !theirs.member,
                below: node.below.difference(&theirs.below),
            },
        })
    }

    /// What is in this set and neither in the other nor below anything in it.
    pub(crate) fn without(&self, other: &Self) -> Self {
        self.filtered(|elem, node| match other.0.get(elem) {
            None => node.clone(),
            Some(theirs) if theirs.member => Node::default(),
            Some(theirs) => Node {
                member: node.member,
                below: node.below.without(&theirs.below),
            },
        })
    }

    pub(crate) fn intersection(&self, other: &Self) -> Self {
        self.filtered(|elem, node| match other.0.get(elem) {
            None => Node::default(),
            Some(theirs) => Node {
                member: node.member && theirs.member,
                below: node.below.intersection(&theirs.below),
            },
        })
    }

    /// The set with every declared field that leads to a member as a member itself.
    pub(crate) fn named(&self, ty: Option<Cursor<'_>>) -> Self {
        let declares = |elem: &Elem| {
            let name = elem.name()?;
            ty?.as_map()?.declared(name)
        };
        self.filtered(|elem, node| Node {
            member: node.member || declares(elem).is_some(),
            below: node.below.named(ty.and_then(|ty| ty.below(elem))),
        })
    }

    /// Every owned path, those nearer to the root first.
    pub(crate) fn paths(&self) -> Vec<Path> {
        let mut paths = Vec::new();
        self.collect(&mut Vec::new(), &mut paths);
        paths
    }

    fn collect(&self, at: &mut Path, paths: &mut Vec<Path>) {
        for (elem, _) in self.0.iter().filter(|(_, node)| node.member) {
            paths.push(at.iter().chain([elem]).cloned().collect());
        }
        for (elem, node) in &self.0 {
            at.push(elem.clone());
            node.below.collect(at, paths);
            at.pop();
        }
    }

    pub(crate) fn to_v1(&self) -> Value {
        let mut fields = Map::new();
        for (elem, node) in &self.0 {
            let mut below = node.below.to_v1();
            if let (true, Value::Object(below)) = (node.member && !node.below.is_empty(), &mut below) {
                below.insert(".".into(), Value::Object(Map::new()));
            }
            fields.insert(elem.as_str().to_owned(), below);
        }
        Value::Object(fields)
    }

    /// Reads the form that is stored; nothing if it is none.
    pub(crate) fn from_v1(value: &Value) -> Option<Self> {
        let mut set = Self::default();
        for (name, inner) in value.as_object()? {
            if name == "." {
                continue;
            }
            let elem = Elem::read(name)?;
            let below = Self::from_v1(inner)?;
            let member = below.is_empty() || inner.get(".").is_some();
            set.0.insert(elem, Node { member, below });
        }
        Some(set)
    }

    /// What a configuration says: its leaves, its list items, its empty maps.
    pub(crate) fn of(ty: Cursor<'_>, value: &Value) -> Self {
        let mut set = Self::default();
        set.add(ty, value, &mut Vec::new());
        set
    }

    fn add(&mut self, ty: Cursor<'_>, value: &Value, at: &mut Path) {
        match ty.shape(value) {
            Shape::Leaf => self.insert(at),
            Shape::Map(map) => {
                for (name, field) in value.as_object().into_iter().flatten() {
                    at.push(Elem::field(name));
                    if let Some(ty) = map.field(name) {
                        self.add(ty, field, at);
                    }
                    let empty = field.is_null() || field.as_object().is_some_and(Map::is_empty);
                    if empty || map.declared(name).is_none() {
                        self.insert(at);
                    }
                    at.pop();
                }
            }
            Shape::List(list) => {
                for item in value.as_array().into_iter().flatten() {
                    if let Ok(elem) = list.elem(item) {
                        at.push(elem);
                        self.add(list.item, item, at);
                        self.insert(at);
                        at.pop();
                    }
                }
            }
        }
    }
}

/// How a path reads in a conflict: `.spec.containers[name="a"].image`.
pub(crate) fn display(path: &[Elem]) -> String {
    path.iter().map(Elem::display).collect()
}
