//! Sets of fields as `managedFields` records them.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use crate::schema::elem::Elem;
use crate::schema::types::{Cursor, Shape};

pub(crate) type Path = Vec<Elem>;

/// Fields that a writer owns: a tree whose nodes are owned or only lead to what is.
///
/// The steps are sorted; a list of them, because most nodes have few and a map would take more room than they do.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FieldSet(pub(super) Vec<(Elem, Node)>);

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Node {
    pub(super) member: bool,
    pub(super) below: FieldSet,
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
        let node = self.node(first);
        if rest.is_empty() {
            node.member = true;
        } else {
            node.below.insert(rest);
        }
    }

    /// Where a step is, or where it belongs.
    fn search(&self, elem: &Elem) -> Result<usize, usize> {
        // Mostly it is the last one, or comes behind it.
        match self.0.last().map(|(last, _)| last.cmp(elem)) {
            None | Some(Ordering::Less) => Err(self.0.len()),
            Some(Ordering::Equal) => Ok(self.0.len() - 1),
            Some(Ordering::Greater) => self.0.binary_search_by(|(known, _)| known.cmp(elem)),
        }
    }

    fn node(&mut self, elem: &Elem) -> &mut Node {
        let at = self.search(elem).unwrap_or_else(|at| {
            self.0.insert(at, (elem.clone(), Node::default()));
            at
        });
        &mut self.0[at].1
    }

    fn get(&self, elem: &Elem) -> Option<&Node> {
        self.search(elem).ok().map(|at| &self.0[at].1)
    }

    pub(crate) fn has(&self, elem: &Elem) -> bool {
        self.get(elem).is_some_and(|node| node.member)
    }

    /// What is owned below a step, if anything is.
    pub(crate) fn below(&self, elem: &Elem) -> Option<&Self> {
        self.get(elem)
            .map(|node| &node.below)
            .filter(|below| !below.is_empty())
    }

    pub(crate) fn union(&mut self, other: &Self) {
        for (elem, theirs) in &other.0 {
            match self.search(elem) {
                Ok(at) => {
                    let node = &mut self.0[at].1;
                    node.member |= theirs.member;
                    node.below.union(&theirs.below);
                }
                Err(at) => self.0.insert(at, (elem.clone(), theirs.clone())),
            }
        }
    }

    fn filtered(&self, keep: impl Fn(&Elem, &Node) -> Node) -> Self {
        let nodes = self.0.iter().map(|(elem, node)| (elem, keep(elem, node)));
        let nodes = nodes.filter(|(_, node)| !node.is_empty());
        Self(nodes.map(|(elem, node)| (elem.clone(), node)).collect())
    }

    /// Leaves out what is itself in the other set.
    pub(crate) fn subtract(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        self.0.retain_mut(|(elem, node)| {
            if let Some(theirs) = other.get(elem) {
                node.member &= !theirs.member;
                node.below.subtract(&theirs.below);
            }
            !node.is_empty()
        });
    }

    /// What is in this set and not itself in the other.
    pub(crate) fn difference(&self, other: &Self) -> Self {
        let mut rest = self.clone();
        rest.subtract(other);
        rest
    }

    /// What is in this set and neither in the other nor below anything in it.
    pub(crate) fn without(mut self, other: &Self) -> Self {
        self.cut(other);
        self
    }

    fn cut(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        self.0.retain_mut(|(elem, node)| {
            match other.get(elem) {
                Some(theirs) if theirs.member => return false,
                Some(theirs) => node.below.cut(&theirs.below),
                None => {}
            }
            !node.is_empty()
        });
    }

    pub(crate) fn intersection(&self, other: &Self) -> Self {
        self.filtered(|elem, node| match other.get(elem) {
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
