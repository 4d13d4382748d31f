//! What a controller may do with a kind it only uses.

use super::Argument;
use crate::{
    names::nearest,
    sink::{Sink, error},
};
use proc_macro2::Ident;
use quote::ToTokens;
use syn::{Token, parse::Parser, punctuated::Punctuated};

const VERBS: &[&str] = &[
    "get",
    "list",
    "watch",
    "create",
    "update",
    "patch",
    "delete",
    "deletecollection",
];

/// Reads `verbs(get, create)`.
pub(crate) fn verbs(argument: &Argument) -> syn::Result<Vec<Ident>> {
    let list = argument.list("get, create")?;
    let words = Punctuated::<Ident, Token![,]>::parse_terminated
        .parse2(list.clone())
        .map_err(|_| {
            error(
                list.to_token_stream(),
                "`verbs` takes words: `verbs(get, create)`",
            )
        })?;
    let mut sink = Sink::default();
    let mut kept: Vec<Ident> = Vec::new();
    for verb in words {
        let text = verb.to_string();
        if !VERBS.contains(&text.as_str()) {
            sink.at(&verb, unknown(&text));
        } else if kept.contains(&verb) {
            sink.at(&verb, format!("`{text}` is given twice"));
        } else {
            kept.push(verb);
        }
    }
    sink.finish(kept)
}

fn unknown(verb: &str) -> String {
    match nearest(verb, VERBS.iter().copied()) {
        Some(near) => format!("`{verb}` is not a verb; did you mean `{near}`?"),
        None => format!("`{verb}` is not a verb: expected `{}`", VERBS.join("`, `")),
    }
}
