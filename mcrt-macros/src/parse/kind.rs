//! A declared kind: `for = Kind`, `owns(Kind, full)`, `uses(Kind, verbs(get))`.

use super::{
    Argument, Arguments, Place, Predicate, Vocabulary, arguments::Value, name::namespaces, selector,
    verbs::verbs,
};
use crate::{
    names::type_text,
    sink::{Sink, error},
};
use proc_macro2::{Ident, TokenStream};
use quote::ToTokens;
use syn::{
    LitStr, Token, Type,
    parse::{ParseStream, Parser, discouraged::Speculative},
};

/// A kind and where it is, with options `O`.
pub(crate) struct KindDecl<O> {
    pub(crate) ty: Type,
    pub(crate) on: Option<Place>,
    pub(crate) options: O,
}

/// Options of a kind that is watched.
pub(crate) struct Watch {
    pub(crate) labels: Option<LitStr>,
    pub(crate) fields: Option<LitStr>,
    pub(crate) namespaces: Vec<LitStr>,
    pub(crate) predicate: Option<Predicate>,
    pub(crate) metadata_only: bool,
    pub(crate) full: bool,
    pub(crate) optional: bool,
}

const NAMED: (&str, &str) = (
    "as",
    "`as` is not available yet: one controller declares a kind once in a place; write a second controller for the other declaration",
);

const WATCH: Vocabulary = Vocabulary {
    known: &[
        "on",
        "labels",
        "fields",
        "namespaces",
        "predicate",
        "metadata_only",
        "full",
        "optional",
    ],
    repeatable: &[],
    refused: &[
        NAMED,
        (
            "verbs",
            "`verbs` works only in `uses`: a watch may get, list and watch what it declares; write a `uses` of this kind for more",
        ),
    ],
};

const USE: Vocabulary = Vocabulary {
    known: &["on", "verbs"],
    repeatable: &[],
    refused: &[
        NAMED,
        (
            "labels",
            "`labels` works only where a kind is watched: `uses` gives access and starts no watch",
        ),
        (
            "fields",
            "`fields` works only where a kind is watched: `uses` gives access and starts no watch",
        ),
        (
            "namespaces",
            "`namespaces` works only where a kind is watched: `uses` gives access and starts no watch",
        ),
        (
            "predicate",
            "`predicate` works only where a kind is watched: `uses` gives access and starts no watch",
        ),
        (
            "metadata_only",
            "`metadata_only` works only where a kind is watched: `uses` gives access and starts no watch",
        ),
        (
            "full",
            "`full` works only where a kind is watched: `uses` gives access and starts no watch",
        ),
        (
            "optional",
            "`optional` works only where a kind is watched: nothing waits for a kind of `uses`",
        ),
    ],
};

/// Reads the argument of `for`.
pub(crate) fn reconciled_kind(argument: &Argument) -> syn::Result<KindDecl<Watch>> {
    let (_, rest) = kind_and_rest(argument)?;
    let list = Arguments::read(rest, &WATCH, &mut Sink::default());
    let Some(optional) = list.find("optional") else {
        return watched_kind(argument);
    };
    let mut refused = error(
        optional,
        "`for` is never optional: where its kind is not served there is nothing to reconcile; leave `optional` out",
    );
    if let Err(other) = watched_kind(argument) {
        refused.combine(other);
    }
    Err(refused)
}

/// Reads the argument of `owns` and `watches`.
pub(crate) fn watched_kind(argument: &Argument) -> syn::Result<KindDecl<Watch>> {
    let (ty, rest) = kind_and_rest(argument)?;
    let mut sink = Sink::default();
    let list = Arguments::read(rest, &WATCH, &mut sink);
    let metadata_only = list.word("metadata_only", &mut sink);
    let full = list.word("full", &mut sink);
    if let (Some(_), Some(full)) = (metadata_only, full) {
        sink.at(full, "`full` and `metadata_only` exclude each other");
    }
    let options = Watch {
        labels: list.one("labels", selector::labels, &mut sink),
        fields: list.one("fields", selector::fields, &mut sink),
        namespaces: list.one("namespaces", namespaces, &mut sink).unwrap_or_default(),
        predicate: list.one("predicate", Predicate::read, &mut sink),
        metadata_only: metadata_only.is_some(),
        full: full.is_some(),
        optional: list.word("optional", &mut sink).is_some(),
    };
    let on = list.one("on", Place::read, &mut sink);
    sink.finish(KindDecl { ty, on, options })
}

/// Reads the argument of `uses`; the options are its verbs.
pub(crate) fn used_kind(argument: &Argument) -> syn::Result<KindDecl<Vec<Ident>>> {
    let (ty, rest) = kind_and_rest(argument)?;
    let mut sink = Sink::default();
    let list = Arguments::read(rest, &USE, &mut sink);
    let options = list.one("verbs", verbs, &mut sink).unwrap_or_default();
    let on = list.one("on", Place::read, &mut sink);
    sink.finish(KindDecl { ty, on, options })
}

/// The kind alone, for stand-ins: options may be wrong.
pub(crate) fn kind_only(argument: &Argument) -> Option<Type> {
    kind_and_rest(argument).ok().map(|(ty, _)| ty)
}

fn kind_and_rest(argument: &Argument) -> syn::Result<(Type, TokenStream)> {
    let word = argument.name();
    match &argument.value {
        Value::Equals(value) if !value.is_empty() => Ok((kind(&word, value)?, TokenStream::new())),
        Value::List(list) if !list.is_empty() => split_list(&word, list),
        _ => Err(error(
            argument,
            format!("`{word}` needs a kind: `{word} = MyKind`"),
        )),
    }
}

fn kind(word: &str, value: &TokenStream) -> syn::Result<Type> {
    if let Ok(literal) = syn::parse2::<syn::Lit>(value.clone()) {
        let text = match &literal {
            syn::Lit::Str(text) => text.value(),
            other => other.to_token_stream().to_string(),
        };
        return Err(error(
            literal,
            format!("a kind is a type, not a string: `{word} = {text}`"),
        ));
    }
    if syn::parse2::<syn::ExprArray>(value.clone()).is_ok() {
        return Err(error(
            value,
            format!("one kind per `{word}`: write `{word} = A, {word} = B`"),
        ));
    }
    match syn::parse2::<Type>(value.clone()) {
        Ok(ty @ (Type::Path(_) | Type::Group(_) | Type::Paren(_))) => Ok(ty),
        _ => Err(error(
            value,
            format!("a kind is a named type: `{word} = ConfigMap`"),
        )),
    }
}

/// Splits `Kind, on = host`. The kind may be generic, so it is parsed and not cut at the first comma.
fn split_list(word: &str, list: &TokenStream) -> syn::Result<(Type, TokenStream)> {
    let starts = || {
        error(
            list,
            format!("`{word}(...)` starts with a kind: `{word}(MyKind, on = host)`"),
        )
    };
    let (first, rest) = split_type.parse2(list.clone())?.ok_or_else(|| {
        // `owns("Secret")` deserves the answer that `owns = "Secret"` gets.
        let literal = |input: ParseStream| {
            let literal = input.parse::<syn::Lit>()?;
            input.parse::<TokenStream>()?;
            Ok(literal)
        };
        let literal = literal.parse2(list.clone()).map(ToTokens::into_token_stream);
        literal.map_or_else(
            |_| starts(),
            |literal| kind(word, &literal).err().unwrap_or_else(starts),
        )
    })?;
    let first = kind(word, &first.into_token_stream())?;
    if let Ok(Some((second, _))) = split_type.parse2(rest.clone())
        && looks_like_a_kind(&second)
    {
        return Err(error(
            second,
            format!("one kind per `{word}`: write `{word}(A), {word}(B)`"),
        ));
    }
    Ok((first, rest))
}

fn split_type(input: ParseStream) -> syn::Result<Option<(Type, TokenStream)>> {
    let fork = input.fork();
    match fork.parse::<Type>() {
        Ok(ty) if fork.is_empty() || fork.peek(Token![,]) => {
            input.advance_to(&fork);
            input.parse::<Option<Token![,]>>()?;
            Ok(Some((ty, input.parse()?)))
        }
        _ => {
            input.parse::<TokenStream>()?;
            Ok(None)
        }
    }
}

/// Options are lower-case words; kinds are capitalised or paths.
fn looks_like_a_kind(ty: &Type) -> bool {
    let text = type_text(ty);
    text.contains("::") || text.contains('<') || text.starts_with(|first: char| first.is_uppercase())
}
