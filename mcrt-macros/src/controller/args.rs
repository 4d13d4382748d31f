//! The arguments of the struct attribute, as written; each alone is right, together they may not be.

use crate::{
    parse::{
        Argument, Arguments, Backoff, KindDecl, Pick, Vocabulary, Watch, controller_name, count, crate_path,
        duration, expression, field_manager, kind_only, reconciled_kind, used_kind, watched_kind,
    },
    sink::Sink,
};
use proc_macro2::{Ident, Span, TokenStream};
use quote::ToTokens;
use std::time::Duration;
use syn::{Expr, Lit, LitStr, Path, Type};

/// What stands between the parentheses.
pub(crate) struct Args {
    pub(crate) primary: Option<KindDecl<Watch>>,
    pub(crate) owned: Vec<KindDecl<Watch>>,
    pub(crate) watched: Vec<KindDecl<Watch>>,
    pub(crate) used: Vec<KindDecl<Vec<Ident>>>,
    pub(crate) provider: Option<Expr>,
    pub(crate) clusters: Option<Pick>,
    pub(crate) name: Option<LitStr>,
    pub(crate) concurrency: Option<u32>,
    /// With its literal, to point at when it exceeds `concurrency`.
    pub(crate) per_cluster: Option<(u32, Lit)>,
    pub(crate) resync: Option<Duration>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) field_manager: Option<LitStr>,
    /// With its tokens, to point at when an `#[error_policy]` function exists too.
    pub(crate) error_policy: Option<(Backoff, TokenStream)>,
    pub(crate) krate: Option<Path>,
    /// The kind of `for` even where its options are wrong, for the stand-in.
    pub(crate) readable_kind: Option<Type>,
    /// Every kind that is named, for the stand-in.
    pub(crate) mentioned: Vec<Type>,
}

const VOCABULARY: Vocabulary = Vocabulary {
    known: &[
        "for",
        "owns",
        "watches",
        "uses",
        "provider",
        "clusters",
        "name",
        "concurrency",
        "per_cluster",
        "resync",
        "timeout",
        "field_manager",
        "error_policy",
        "crate",
    ],
    repeatable: &["owns", "watches", "uses"],
    refused: &[
        (
            "finalizer",
            "`finalizer` is not available yet: call `mcrt::kube::runtime::finalizer` with `cx.api()` inside `#[reconcile]`",
        ),
        (
            "cleanup",
            "`cleanup` is not available yet: `#[gone]` runs after each deletion seen while the controller is up",
        ),
        (
            "each",
            "`each` is not available yet: a request works in the cluster of its object; to bring host objects to the fleet, write `watches(Kind, on = host)` and a `#[map]` function",
        ),
        (
            "request",
            "`request` is not available yet: requests name objects of the kind in `for = Kind`; `#[map]` functions choose which",
        ),
        ("on", "`on` belongs to a kind: `for(MyKind, on = host)`"),
        (
            "labels",
            "`labels` belongs to a kind: `for(MyKind, labels = \"app=web\")`",
        ),
        (
            "fields",
            "`fields` belongs to a kind: `for(MyKind, fields = \"metadata.name=web\")`",
        ),
        (
            "namespaces",
            "`namespaces` belongs to a kind: `for(MyKind, namespaces(\"team-a\"))`",
        ),
        (
            "predicate",
            "`predicate` belongs to a kind: `for(MyKind, predicate = generation)`",
        ),
        (
            "metadata_only",
            "`metadata_only` belongs to a kind: `watches(MyKind, metadata_only)`",
        ),
        ("full", "`full` belongs to a kind: `owns(MyKind, full)`"),
        (
            "optional",
            "`optional` belongs to a kind: `owns(MyKind, optional)`",
        ),
        ("verbs", "`verbs` belongs to a kind: `uses(MyKind, verbs(get))`"),
    ],
};

impl Args {
    pub(crate) fn read(tokens: TokenStream, sink: &mut Sink) -> Self {
        // Without a kind the other errors still count, but nothing is said twice of a list that is only a typo.
        let says_more = has_word(&tokens, "request") || has_word(&tokens, "for");
        let list = Arguments::read(tokens, &VOCABULARY, sink);
        if !says_more {
            sink.push(syn::Error::new(
                Span::call_site(),
                "missing `for = Kind`: the kind this controller reconciles",
            ));
        }
        let value = |count: crate::parse::Count| count.value;
        Self {
            primary: list.one("for", reconciled_kind, sink),
            owned: list.many("owns", watched_kind, sink),
            watched: list.many("watches", watched_kind, sink),
            used: list.many("uses", used_kind, sink),
            provider: list.one("provider", provider, sink),
            clusters: list.one("clusters", Pick::read, sink),
            name: list.one("name", controller_name, sink),
            concurrency: list.one("concurrency", count, sink).map(value),
            per_cluster: list
                .one("per_cluster", count, sink)
                .map(|count| (count.value, count.literal)),
            resync: list.one("resync", duration, sink).map(|duration| duration.value),
            timeout: list.one("timeout", duration, sink).map(|duration| duration.value),
            field_manager: list.one("field_manager", field_manager, sink),
            error_policy: list.one("error_policy", error_policy, sink),
            krate: list.one("crate", crate_path, sink),
            readable_kind: list.find("for").and_then(kind_only),
            mentioned: list.kinds().filter_map(kind_only).collect(),
        }
    }
}

fn provider(argument: &Argument) -> syn::Result<Expr> {
    expression(argument, "mcrt::providers::None")
}

fn error_policy(argument: &Argument) -> syn::Result<(Backoff, TokenStream)> {
    Ok((Backoff::read(argument)?, argument.to_token_stream()))
}

/// Whether `word` stands at the top of a list, readable or not.
fn has_word(tokens: &TokenStream, word: &str) -> bool {
    tokens
        .clone()
        .into_iter()
        .any(|tree| matches!(tree, proc_macro2::TokenTree::Ident(ident) if ident == word))
}
