//! Markers: which function plays which part.

use super::block::{Block, Function, Member, names_marker};
use crate::sink::Sink;
use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Attribute, Meta, Path, parse_quote};

/// The part that a marked function plays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    Reconcile,
    Gone,
    Map,
    Index,
    ErrorPolicy,
}

const ROLES: &[(&str, Role)] = &[
    ("reconcile", Role::Reconcile),
    ("gone", Role::Gone),
    ("map", Role::Map),
    ("index", Role::Index),
    ("error_policy", Role::ErrorPolicy),
];

/// Markers of later versions, each with what to do until then.
const LATER: &[(&str, &str)] = &[
    (
        "cleanup",
        "`#[cleanup]` is not available yet: `#[gone]` runs after each deletion seen while the controller is up; to hold a deletion back, call `mcrt::kube::runtime::finalizer` inside `#[reconcile]`",
    ),
    (
        "on_engage",
        "`#[on_engage]` is not available yet: every object of a cluster that joins is reconciled; do the work in `#[reconcile]`",
    ),
    (
        "on_disengage",
        "`#[on_disengage]` is not available yet: keep nothing per cluster outside the objects, or clean it up in `#[reconcile]`",
    ),
];

impl Role {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Reconcile => "reconcile",
            Self::Gone => "gone",
            Self::Map => "map",
            Self::Index => "index",
            Self::ErrorPolicy => "error_policy",
        }
    }

    /// The parameters that a function of this role has.
    pub(crate) fn parameters(self) -> &'static str {
        match self {
            Self::Reconcile | Self::Gone => "&self, object: Arc<Kind>, cx: Context<Self>",
            Self::Map => "&self, object: &Kind, cx: MapContext<Self>",
            Self::Index => "object: &Kind",
            Self::ErrorPolicy => "&self, object: Arc<Kind>, error: &mcrt::Error, cx: Context<Self>",
        }
    }
}

/// Whether `word` is a marker, of this version or a later one.
pub(super) fn is_marker(word: &Ident) -> bool {
    ROLES
        .iter()
        .map(|(name, _)| name)
        .chain(LATER.iter().map(|(name, _)| name))
        .any(|name| word == name)
}

/// A function and its part. `Unsure` ones were marked wrongly: they are reported, and nothing more is said of them.
#[derive(Clone)]
pub(crate) struct Marked {
    pub(crate) role: Role,
    pub(crate) sure: bool,
    pub(crate) function: Function,
}

/// Takes the markers off the block's functions.
pub(crate) fn take(block: &mut Block, krate: &Path, sink: &mut Sink) -> Vec<Marked> {
    let mut marked = Vec::new();
    for member in &mut block.members {
        match member {
            Member::Function(function) => marked.extend(take_from(function, krate, sink)),
            Member::Unreadable(tokens) => report_unreadable(tokens, sink),
            Member::Other(_) => {}
        }
    }
    marked
}

fn take_from(function: &mut Function, krate: &Path, sink: &mut Sink) -> Option<Marked> {
    let mut found: Option<(Role, bool)> = None;
    let (markers, kept): (Vec<_>, Vec<_>) = std::mem::take(&mut function.attrs)
        .into_iter()
        .partition(|attr| marker(attr, krate).is_some());
    function.attrs = kept;
    for attr in markers {
        let Some(word) = marker(&attr, krate) else {
            continue;
        };
        if let Some((_, text)) = LATER.iter().find(|(name, _)| word == name) {
            sink.at(attr.path(), text);
            continue;
        }
        let Some((_, role)) = ROLES.iter().find(|(name, _)| word == name) else {
            continue;
        };
        if let Some((first, sure)) = &mut found {
            sink.at(
                attr.path(),
                format!("`{}` is already marked `#[{}]`", function.sig.ident, first.word()),
            );
            *sure = false;
            continue;
        }
        if !matches!(attr.meta, Meta::Path(_)) {
            sink.at(&attr.meta, no_arguments(*role));
        }
        found = Some((*role, true));
    }
    let (role, sure) = found?;
    // The signature is the framework's choice, not the author's.
    function.attrs.insert(
        0,
        parse_quote!(#[allow(clippy::needless_pass_by_value, clippy::unused_async, clippy::unused_self)]),
    );
    Some(Marked {
        role,
        sure,
        function: function.clone(),
    })
}

/// The marker that an attribute names: `#[index]`, `#[mcrt::index]`, or by the path of a facade.
fn marker(attr: &Attribute, krate: &Path) -> Option<Ident> {
    let path = attr.path();
    let word = &path.segments.last()?.ident;
    let before = path.segments.iter().rev().nth(1);
    let ours = before.is_none_or(|before| {
        before.ident == "mcrt"
            || krate
                .segments
                .last()
                .is_some_and(|last| last.ident == before.ident)
    });
    (ours && is_marker(word)).then(|| word.clone())
}

fn no_arguments(role: Role) -> String {
    match role {
        Role::Map => {
            "`#[map]` takes no name: named declarations are not available yet, and the kind is that of the parameter"
                .to_owned()
        }
        Role::ErrorPolicy => {
            "`#[error_policy]` takes no arguments: it marks a function; numbers go into `error_policy(...)` of `#[multicluster_controller]`"
                .to_owned()
        }
        _ => format!("`#[{}]` takes no arguments", role.word()),
    }
}

/// A marked member that is no function yet must not vanish silently: without it the rest would mean something else.
fn report_unreadable(tokens: &TokenStream, sink: &mut Sink) {
    if tokens.clone().into_iter().any(|tree| names_marker(&tree)) {
        let rest = super::block::unmarked(tokens.clone());
        let error = syn::parse2::<Function>(rest.clone()).err();
        sink.push(error.unwrap_or_else(|| syn::Error::new_spanned(quote!(#rest), "expected a function")));
    }
}
