//! A stand-in for rejected arguments, so that the other half and later uses add no errors of their own.

use super::{Subject, args::Args, expand::request_type};
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Path, parse_quote};

/// An empty controller that every relation holds for.
pub(crate) fn expand(subject: &Subject, args: &Args) -> TokenStream {
    let krate: Path = args.krate.clone().unwrap_or_else(|| parse_quote!(::mcrt));
    let p = quote!(#krate::__private);
    let ident = &subject.ident;
    let (generics, arguments, clause) = subject.generics.split_for_impl();
    let bounds = clause.map(|clause| &clause.predicates);
    let kind = args
        .readable_kind
        .as_ref()
        .map_or_else(|| quote!(#p::Unresolved), ToTokens::to_token_stream);
    let alias = request_type(subject, &krate, &kind);
    // A generic struct cannot promise that its block exists for every parameter.
    let reconciled = (!subject.generics.params.is_empty()).then(|| quote!(Self: #krate::Reconciler, #bounds));
    // Imports of kinds are used, though nothing is generated for them.
    let mentioned = &args.mentioned;
    quote! {
        #alias
        const _: fn() = || {
            #({ #[allow(dead_code)] type Mentioned = #mentioned; })*
        };
        impl #generics #krate::MulticlusterController for #ident #arguments where #reconciled {
            type For = #p::Unresolved;
            const NAME: &'static #p::str = "";
            const FEATURES: &'static [&'static #p::str] = &[];
            fn wire(_: &mut #krate::ControllerBuilder<Self>) {}
        }
        impl #generics #p::BrokenController for #ident #arguments where #bounds {}
        impl #generics #p::HandWired for #ident #arguments where #bounds {}
    }
}
