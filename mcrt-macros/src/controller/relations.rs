//! Impls of the relations in `mcrt::__private`: what is declared where, for the type checker to see.

use super::{
    expand::stored,
    model::{Form, Model},
};
use crate::{names::type_text, parse::Place};
use proc_macro2::TokenStream;
use quote::quote;
use std::collections::HashSet;
use syn::Ident;

/// Impls that let the type checker see what is declared where.
pub(super) fn expand(ident: &Ident, model: &Model, p: &TokenStream) -> TokenStream {
    let krate = &model.krate;
    let home = if model.primary.place == Place::Host {
        Place::Host
    } else {
        Place::Fleet
    }
    .marker(krate);
    let mut relations = quote!(impl #p::Homed for #ident { type Place = #home; });
    let mut places = model
        .declarations()
        .map(|(_, decl)| decl.place)
        .chain(model.used.iter().map(|used| used.place));
    if places.any(|place| place != Place::Fleet) {
        relations.extend(quote!(impl #p::HasHost for #ident {}));
    }
    let mut indexable = HashSet::new();
    for (word, decl) in model.declarations() {
        let (ty, stored) = (&decl.ty, stored(decl, p));
        for place in decl.place.parts() {
            let place = place.marker(krate);
            relations.extend(quote!(impl #p::CachedBy<#ident, #place> for #ty { type Stored = #stored; }));
        }
        if indexable.insert((type_text(ty), decl.form == Form::Full)) {
            relations.extend(quote!(impl #p::IndexableBy<#ident> for #stored {}));
        }
        if word == "watches" {
            let place = decl.place.marker(krate);
            relations.extend(quote!(impl #p::WatchedBy<#ident> for #stored { type Place = #place; }));
        }
    }
    relations.extend(declared(ident, model, p));
    relations
}

/// One impl for each kind and place: `uses` may widen what a watch declares.
fn declared(ident: &Ident, model: &Model, p: &TokenStream) -> TokenStream {
    let watched = model.declarations().map(|(_, decl)| (&decl.ty, decl.place));
    let used = model.used.iter().map(|used| (&used.ty, used.place));
    let mut done = HashSet::new();
    let impls = watched
        .chain(used)
        .flat_map(|(ty, place)| place.parts().iter().map(move |place| (ty, *place)));
    impls
        .filter(|(ty, place)| done.insert((type_text(ty), place.word())))
        .map(|(ty, place)| {
            let place = place.marker(&model.krate);
            quote!(impl #p::DeclaredBy<#ident, #place> for #ty {})
        })
        .collect()
}
