//! Expands files in which the attributes stand as users write them.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use std::{
    fs,
    path::{Path, PathBuf},
};
use syn::{Attribute, File, Item, Meta};

/// The folder of committed expansions.
pub(super) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("expansions")
}

/// The name and text of every input.
pub(super) fn inputs() -> Vec<(String, String)> {
    let files = fs::read_dir(folder().join("inputs")).expect("the folder of inputs is committed");
    let mut inputs: Vec<_> = files
        .map(|file| {
            let path = file.expect("the folder can be read").path();
            let name = path
                .file_stem()
                .expect("inputs have names")
                .to_string_lossy()
                .into_owned();
            (name, fs::read_to_string(path).expect("inputs are text"))
        })
        .collect();
    inputs.sort();
    inputs
}

/// Expands the items of a file, each with `extra` before its arguments.
pub(super) fn expand(text: &str, extra: &TokenStream) -> TokenStream {
    let file: File = syn::parse_str(text).expect("inputs parse");
    file.items
        .into_iter()
        .flat_map(|item| expand_item(item, extra))
        .collect()
}

fn expand_item(mut item: Item, extra: &TokenStream) -> TokenStream {
    let attrs = match &mut item {
        Item::Struct(item) => &mut item.attrs,
        Item::Impl(item) => &mut item.attrs,
        _ => return item.into_token_stream(),
    };
    let attr: Attribute = attrs.remove(0);
    let arguments = match &attr.meta {
        Meta::List(list) => list.tokens.clone(),
        _ => TokenStream::new(),
    };
    let arguments = quote::quote!(#extra #arguments);
    if attr.path().is_ident("reconciler") {
        crate::reconciler::expand(arguments, item.into_token_stream())
    } else {
        crate::controller::expand(arguments, item.into_token_stream())
    }
}

/// The tokens as formatted source.
pub(super) fn formatted(tokens: TokenStream) -> String {
    prettyplease::unparse(&syn::parse2(tokens).expect("expansions parse"))
}

/// How often the identifier occurs.
pub(super) fn occurrences(tokens: TokenStream, word: &str) -> usize {
    let count = |tree| match tree {
        TokenTree::Ident(ident) => usize::from(ident == word),
        TokenTree::Group(group) => occurrences(group.stream(), word),
        _ => 0,
    };
    tokens.into_iter().map(count).sum()
}
