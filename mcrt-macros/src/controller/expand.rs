//! A checked controller as tokens.

use super::{
    Subject,
    model::{Declaration, Form, Model, Use},
};
use crate::{
    names::{at, request_alias, type_text},
    parse::{Backoff, Place},
};
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use std::{collections::HashSet, time::Duration};
use syn::{Ident, LitStr, Path, Type, spanned::Spanned};

/// The features of an application that choose a provider. They are asked for in the application itself:
/// features of mcrt unify across a workspace, and a test run must not reach somebody's real clusters.
pub(crate) const FEATURES: &[&str] = &[
    "sim",
    "file",
    "kind",
    "kubeconfig",
    "cluster-api",
    "cluster-profile",
    "namespace",
    "kcp",
    "command",
];

/// Everything after the struct.
pub(crate) fn expand(subject: &Subject, model: &Model) -> TokenStream {
    let krate = &model.krate;
    let p = quote!(#krate::__private);
    let ident = &subject.ident;
    let alias = request_type(subject, krate, &stored(&model.primary, &p));
    let controller = controller(ident, model, &p);
    let relations = relations(ident, model, &p);
    let checks = checks(ident, model, &p);
    quote!(#alias #controller #relations #checks)
}

/// `type TeamTokensRequest = Request<ConfigMap>`, of the type that is reconciled.
pub(super) fn request_type(subject: &Subject, krate: &Path, kind: &dyn ToTokens) -> TokenStream {
    let Subject { ident, vis, .. } = subject;
    let alias = request_alias(ident);
    let doc = format!("Names an object that [`{ident}`] reconciles, and its cluster.");
    quote! {
        #[doc = #doc]
        #[allow(dead_code)]
        #vis type #alias = #krate::Request<#kind>;
    }
}

fn controller(ident: &Ident, model: &Model, p: &TokenStream) -> TokenStream {
    let Model { krate, name, .. } = model;
    let stored = stored(&model.primary, p);
    let provider = model.provider.as_ref().map(|expr| {
        let chosen = quote_spanned!(expr.span()=> #p::provider(#expr));
        quote! {
            fn provider() -> #p::Option<#p::Arc<dyn #krate::Provider>> {
                #p::Option::Some(#chosen)
            }
        }
    });
    let wiring = Ident::new("wiring", Span::mixed_site());
    let (steps, features) = (steps(model, p), FEATURES);
    quote! {
        #[automatically_derived]
        impl #krate::MulticlusterController for #ident {
            type For = #stored;
            const NAME: &'static #p::str = #name;
            #[allow(unexpected_cfgs)]
            const FEATURES: &'static [&'static #p::str] = &[#(#[cfg(feature = #features)] #features),*];
            fn wire(#wiring: &mut #krate::ControllerBuilder<Self>) {
                #(#wiring #steps;)*
            }
            #provider
        }
    }
}

/// The calls of the builder, each beginning with its dot.
fn steps(model: &Model, p: &TokenStream) -> Vec<TokenStream> {
    let krate = &model.krate;
    let mut steps = vec![primary_step(&model.primary, krate)];
    steps.extend(model.owned.iter().map(|owned| owned_step(owned, krate, p)));
    steps.extend(
        model
            .watched
            .iter()
            .map(|watched| watched_step(watched, krate, p)),
    );
    steps.extend(model.used.iter().map(|used| used_step(used, krate)));
    steps.extend(setting_steps(model, p));
    steps
}

fn primary_step(decl: &Declaration, krate: &Path) -> TokenStream {
    // The type comes from the other half, so that a mismatch is reported once, by the check in that half.
    let object = at(decl.ty.span(), quote!(<Self as #krate::Reconciler>::Object));
    let watch = watch(decl, krate, &object);
    quote_spanned!(decl.ty.span()=> .for_kind(#watch))
}

fn owned_step(decl: &Declaration, krate: &Path, p: &TokenStream) -> TokenStream {
    let ty = &decl.ty;
    let watch = watch(decl, krate, &stored(decl, p));
    match decl.form {
        Form::Metadata => quote_spanned!(ty.span()=> .owns::<#ty>(#watch)),
        Form::Full => quote_spanned!(ty.span()=> .owns_full::<#ty>(#watch)),
    }
}

fn watched_step(decl: &Declaration, krate: &Path, p: &TokenStream) -> TokenStream {
    let stored = stored(decl, p);
    let watch = watch(decl, krate, &stored);
    let p = at(decl.ty.span(), p);
    quote_spanned!(decl.ty.span()=> .watches::<#stored, _>(#watch, <#stored as #p::MappedBy<Self>>::map))
}

fn used_step(used: &Use, krate: &Path) -> TokenStream {
    let Use { ty, place, verbs } = used;
    let place = place.value(krate);
    let verbs = verbs
        .iter()
        .map(|verb| LitStr::new(&verb.to_string(), verb.span()));
    let verbs = (!used.verbs.is_empty()).then(|| quote!(.verbs(&[#(#verbs),*])));
    quote_spanned!(ty.span()=> .uses::<#ty>(#krate::Uses::new().on(#place) #verbs))
}

/// `Watch::<T>::new().on(..)` and the options that were given.
fn watch(decl: &Declaration, krate: &Path, stored: &TokenStream) -> TokenStream {
    let place = decl.place.value(krate);
    let labels = decl.labels.iter().map(|selector| quote!(.labels(#selector)));
    let fields = decl.fields.iter().map(|selector| quote!(.fields(#selector)));
    let namespaces = &decl.namespaces;
    let namespaces = (!namespaces.is_empty()).then(|| quote!(.namespaces([#(#namespaces),*])));
    let predicate = decl.predicate.iter().map(|predicate| {
        let function = predicate.tokens(krate);
        quote!(.predicate(#function))
    });
    quote_spanned! {decl.ty.span()=>
        #krate::Watch::<#stored>::new().on(#place) #(#labels)* #(#fields)* #namespaces #(#predicate)*
    }
}

fn setting_steps(model: &Model, p: &TokenStream) -> Vec<TokenStream> {
    let settings = &model.settings;
    let counts = [
        ("concurrency", settings.concurrency),
        ("per_cluster", settings.per_cluster),
    ];
    let durations = [("resync", settings.resync), ("timeout", settings.timeout)];
    let call = |name: &str, value: TokenStream| {
        let name = Ident::new(name, Span::call_site());
        quote!(.#name(#value))
    };
    let mut steps = Vec::new();
    steps.extend(
        counts
            .iter()
            .filter_map(|(name, count)| count.map(|n| call(name, quote!(#n)))),
    );
    steps.extend(
        durations
            .iter()
            .filter_map(|(name, long)| long.map(|long| call(name, duration(long, p)))),
    );
    steps.extend(
        settings
            .field_manager
            .iter()
            .map(|manager| call("field_manager", quote!(#manager))),
    );
    let policy = settings.error_policy.as_ref();
    steps.extend(policy.map(|(policy, _)| call("error_policy", backoff(policy, &model.krate, p))));
    steps
}

fn backoff(backoff: &Backoff, krate: &Path, p: &TokenStream) -> TokenStream {
    let (initial, max) = (duration(backoff.initial, p), duration(backoff.max, p));
    let factor = backoff.factor.iter().map(|factor| quote!(factor: #factor,));
    let jitter = backoff.jitter.iter().map(|jitter| quote!(jitter: #jitter,));
    let retries = backoff
        .retries
        .iter()
        .map(|retries| quote!(retries: #p::Option::Some(#retries),));
    quote! {
        #krate::Backoff {
            initial: #initial,
            max: #max,
            #(#factor)*
            #(#jitter)*
            #(#retries)*
            ..<#krate::Backoff as ::core::default::Default>::default()
        }
    }
}

fn duration(duration: Duration, p: &TokenStream) -> TokenStream {
    // Every literal is a number of milliseconds that fits: the leaf multiplied a `u64`.
    let milliseconds = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    quote!(#p::Duration::from_millis(#milliseconds))
}

/// The type that the cache keeps: the kind, or its metadata.
fn stored(decl: &Declaration, p: &TokenStream) -> TokenStream {
    let ty = &decl.ty;
    match decl.form {
        Form::Full => quote!(#ty),
        Form::Metadata => {
            let p = at(ty.span(), p);
            quote_spanned!(ty.span()=> #p::PartialObjectMeta<#ty>)
        }
    }
}

/// Impls that let the type checker see what is declared where.
fn relations(ident: &Ident, model: &Model, p: &TokenStream) -> TokenStream {
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

/// Bounds that the user's own types must meet, with their spans.
fn checks(ident: &Ident, model: &Model, p: &TokenStream) -> TokenStream {
    let krate = &model.krate;
    let primary: &Type = &model.primary.ty;
    let pairs = model.owned.iter().map(|decl| {
        let ty = &decl.ty;
        quote_spanned!(ty.span()=> owned::<#ty, #primary>();)
    });
    let owned = (!model.owned.is_empty()).then(|| {
        quote! {
            const _: fn() = || {
                fn owned<K: #p::OwnedBy<O>, O>() {}
                #(#pairs)*
            };
        }
    });
    let policy = model.settings.error_policy.as_ref().map(|(_, argument)| {
        quote_spanned! {argument.span()=>
            const _: () = ::core::assert!(
                !<#ident as #krate::Reconciler>::ERROR_POLICY,
                "`error_policy(...)` and `#[error_policy]` exclude each other"
            );
        }
    });
    quote!(#owned #policy)
}
