//! `#[reconciler]`: how a controller reconciles, by the marked functions of one inherent impl block.

mod block;
mod expand;
mod model;
mod roles;
mod stub;

use crate::{
    parse::{Arguments, Vocabulary, crate_path},
    sink::Sink,
};
use block::Block;
use model::Model;
use proc_macro2::{TokenStream, TokenTree};
use quote::quote;
use syn::{Item, Path, parse_quote};

pub(crate) use block::without_markers;

/// The block without its markers, first, then what the markers say, or errors and a stand-in.
pub(crate) fn expand(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut sink = Sink::default();
    let krate = crate_argument(args, &mut sink);
    let mut block = match syn::parse2::<Block>(item.clone()) {
        Ok(block) => block,
        Err(error) => {
            sink.push(misplaced(&item).unwrap_or(error));
            let (item, errors) = (without_markers(item), sink.into_tokens());
            return quote!(#item #errors);
        }
    };
    if let Some(of) = &block.of_trait {
        sink.at(
            of,
            "`#[reconciler]` goes on an inherent impl block, not on the impl of a trait",
        );
    }
    let marked = roles::take(&mut block, &krate, &mut sink);
    let stub = stub::expand(&block, &marked, &krate);
    match Model::check(&block, marked, &mut sink) {
        // Type parameters are refused at the struct; the stand-in counts only beside the one of that half.
        Some(_) if sink.is_empty() && !block.generics.params.is_empty() => quote!(#block #stub),
        Some(model) if sink.is_empty() => {
            let handlers = expand::expand(&block, &model, &krate);
            quote!(#block #handlers)
        }
        _ => {
            let errors = sink.into_tokens();
            quote!(#block #errors #stub)
        }
    }
}

/// `crate = path` is the one argument, because the settings are those of the struct.
fn crate_argument(args: TokenStream, sink: &mut Sink) -> Path {
    const VOCABULARY: Vocabulary = Vocabulary {
        known: &["crate"],
        repeatable: &[],
        refused: &[],
    };
    let is_crate = |tree: &TokenTree| matches!(tree, TokenTree::Ident(ident) if ident == "crate");
    let krate = if args.clone().into_iter().next().as_ref().is_none_or(is_crate) {
        Arguments::read(args, &VOCABULARY, sink).one("crate", crate_path, sink)
    } else {
        let text = "`#[reconciler]` takes no arguments: settings belong to `#[multicluster_controller(...)]`";
        sink.at(args, text);
        None
    };
    krate.unwrap_or_else(|| parse_quote!(::mcrt))
}

/// What to say of an item that is no impl block, if it is an item at all.
fn misplaced(item: &TokenStream) -> Option<syn::Error> {
    use crate::sink::error;
    match syn::parse2::<Item>(item.clone()).ok()? {
        Item::Struct(item) => {
            let text =
                "`#[reconciler]` goes on the impl block; a struct takes `#[multicluster_controller(...)]`";
            Some(error(item.ident, text))
        }
        Item::Enum(item) => Some(error(item.ident, "`#[reconciler]` goes on an impl block")),
        Item::Fn(item) => Some(error(
            item.sig.ident,
            "`#[reconciler]` goes on the impl block around this function",
        )),
        Item::Impl(_) => None,
        other => Some(error(other, "`#[reconciler]` goes on an impl block")),
    }
}
