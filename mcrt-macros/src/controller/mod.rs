//! `#[multicluster_controller(...)]`: what a controller watches, where, and by which policy.

mod args;
mod expand;
mod model;
mod relations;
mod stub;

use crate::{reconciler::without_markers, sink::Sink};
use args::Args;
use model::Model;
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Generics, Ident, Item, Visibility};

/// The item the attribute stands on, as far as the generated code needs it.
struct Subject {
    ident: Ident,
    vis: Visibility,
    generics: Generics,
}

/// The item, untouched and first, then what the arguments say, or errors and a stand-in.
pub(crate) fn expand(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut sink = Sink::default();
    let (item, subject) = subject(item, &mut sink);
    let Some(subject) = subject else {
        let errors = sink.into_tokens();
        return quote!(#item #errors);
    };
    check_generics(&subject.generics, &mut sink);
    let args = Args::read(args, &mut sink);
    let stub = stub::expand(&subject, &args);
    match sink
        .is_empty()
        .then(|| Model::check(&subject, args, &mut sink))
        .flatten()
    {
        Some(model) if sink.is_empty() => {
            let wiring = expand::expand(&subject, &model);
            quote!(#item #wiring)
        }
        _ => {
            let errors = sink.into_tokens();
            quote!(#item #errors #stub)
        }
    }
}

/// Finds the struct. Other items with a name are reported and still get a stand-in.
fn subject(item: TokenStream, sink: &mut Sink) -> (TokenStream, Option<Subject>) {
    const ON_A_STRUCT: &str = "`#[multicluster_controller]` goes on a struct";
    let parsed = match syn::parse2::<Item>(item.clone()) {
        Ok(parsed) => parsed,
        Err(error) => {
            sink.push(error);
            return (item, None);
        }
    };
    let subject = match parsed {
        Item::Struct(item) => Subject {
            ident: item.ident,
            vis: item.vis,
            generics: item.generics,
        },
        Item::Enum(item) => {
            sink.at(&item.ident, ON_A_STRUCT);
            Subject {
                ident: item.ident,
                vis: item.vis,
                generics: item.generics,
            }
        }
        Item::Impl(block) => {
            let text = "`#[multicluster_controller]` goes on the struct; an impl block takes `#[reconciler]`";
            sink.at(&block.self_ty, text);
            return (without_markers(item), None);
        }
        other => {
            sink.at(other, ON_A_STRUCT);
            return (item, None);
        }
    };
    (item, Some(subject))
}

fn check_generics(generics: &Generics, sink: &mut Sink) {
    let Some(first) = generics.params.first() else {
        return;
    };
    let text = match first {
        syn::GenericParam::Lifetime(_) => "a controller owns its state: no lifetime parameters",
        _ => {
            "a controller with type parameters is not available yet: give it concrete fields, or one of `Arc<dyn Trait>`"
        }
    };
    sink.at(generics, text);
}
