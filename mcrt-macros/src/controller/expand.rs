//! A checked controller as tokens.

use super::{
    Subject,
    model::{Declaration, Form, Model, Use},
    relations,
};
use crate::{
    names::{at, request_alias},
    parse::{Backoff, Pick},
};
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use std::time::Duration;
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
    let relations = relations::expand(ident, model, &p);
    let checks = checks(ident, model);
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
    let features = FEATURES;
    let wiring = wiring(Span::mixed_site());
    let ownership = (!model.owned.is_empty()).then(|| ownership(p));
    let steps = steps(model, p);
    quote! {
        #[automatically_derived]
        impl #krate::MulticlusterController for #ident {
            type For = #stored;
            const NAME: &'static #p::str = #name;
            #[allow(unexpected_cfgs)]
            const FEATURES: &'static [&'static #p::str] = &[#(#[cfg(feature = #features)] #features),*];
            #[allow(clippy::needless_update, clippy::redundant_closure)]
            fn wire(#wiring: &mut #krate::ControllerBuilder<Self>) {
                #ownership
                #(#steps;)*
            }
            #provider
        }
    }
}

/// The parameter of `wire`, underlined at `span`; its hygiene keeps it apart from names in the user's expressions.
fn wiring(span: Span) -> Ident {
    Ident::new("wiring", Span::mixed_site().located_at(span))
}

/// Lets `owns` name a kind through its bound: where the bound fails, nothing else about the kind is reported.
fn ownership(p: &TokenStream) -> TokenStream {
    quote! {
        trait Owned<O> { type Kind; }
        impl<K: #p::OwnedBy<O>, O> Owned<O> for K { type Kind = K; }
    }
}

/// The calls of the builder.
fn steps(model: &Model, p: &TokenStream) -> Vec<TokenStream> {
    let krate = &model.krate;
    let mut steps = vec![primary_step(&model.primary, krate)];
    steps.extend(
        model
            .owned
            .iter()
            .map(|owned| owned_step(owned, &model.primary.ty, krate, p)),
    );
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
    let span = decl.ty.span();
    // The type comes from the other half, so that a mismatch is reported once, by the check in that half.
    let object = at(span, quote!(<Self as #krate::Reconciler>::Object));
    let (wiring, watch) = (wiring(span), watch(decl, krate, &object));
    quote_spanned!(span=> #wiring.for_kind(#watch))
}

fn owned_step(decl: &Declaration, owner: &Type, krate: &Path, p: &TokenStream) -> TokenStream {
    let (ty, span) = (&decl.ty, decl.ty.span());
    let (wiring, p) = (wiring(span), at(span, p));
    let kind = quote_spanned!(span=> <#ty as Owned<#owner>>::Kind);
    match decl.form {
        Form::Metadata => {
            let watch = watch(decl, krate, &quote_spanned!(span=> #p::PartialObjectMeta<_>));
            quote_spanned!(span=> #wiring.owns::<#kind>(#watch))
        }
        Form::Full => {
            let watch = watch(decl, krate, &quote_spanned!(span=> _));
            quote_spanned!(span=> #wiring.owns_full::<#kind>(#watch))
        }
    }
}

fn watched_step(decl: &Declaration, krate: &Path, p: &TokenStream) -> TokenStream {
    let span = decl.ty.span();
    let (stored, wiring, p) = (stored(decl, p), wiring(span), at(span, p));
    let watch = watch(decl, krate, &stored);
    // A closure: where no function maps the kind, naming the function as a value would be a second error.
    let map = quote_spanned! {span=>
        |controller, object, cx| <#stored as #p::MappedBy<Self>>::map(controller, object, cx)
    };
    quote_spanned!(span=> #wiring.watches::<#stored, #krate::Requests<Self>>(#watch, #map))
}

fn used_step(used: &Use, krate: &Path) -> TokenStream {
    let Use { ty, place, verbs } = used;
    let (wiring, place) = (wiring(ty.span()), place.value(krate));
    let verbs = verbs
        .iter()
        .map(|verb| LitStr::new(&verb.to_string(), verb.span()));
    let verbs = (!used.verbs.is_empty()).then(|| quote!(.verbs(&[#(#verbs),*])));
    quote_spanned!(ty.span()=> #wiring.uses::<#ty>(#krate::Uses::new().on(#place) #verbs))
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
    let optional = decl.optional.then(|| quote!(.optional()));
    quote_spanned! {decl.ty.span()=>
        #krate::Watch::<#stored>::new().on(#place) #(#labels)* #(#fields)* #namespaces #(#predicate)* #optional
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
        let (wiring, name) = (wiring(Span::mixed_site()), Ident::new(name, Span::call_site()));
        quote!(#wiring.#name(#value))
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
    let clusters = model.clusters.as_ref();
    steps.extend(clusters.map(|pick| call("clusters", selector(pick, &model.krate))));
    let policy = settings.error_policy.as_ref();
    steps.extend(policy.map(|(policy, _)| call("error_policy", backoff(policy, &model.krate, p))));
    steps
}

/// `ClusterSelector::new()` and what is picked.
fn selector(pick: &Pick, krate: &Path) -> TokenStream {
    let list = |method: &str, names: &[LitStr]| {
        let method = Ident::new(method, Span::call_site());
        (!names.is_empty()).then(|| quote!(.#method([#(#names),*])))
    };
    let labels = pick.labels.iter().map(|selector| quote!(.labels(#selector)));
    let names = list("names", &pick.names);
    let properties = pick
        .properties
        .iter()
        .map(|(name, value)| quote!(.property(#name, #value)));
    let except = list("except", &pick.except.names);
    let left_out = pick
        .except
        .labels
        .iter()
        .map(|selector| quote!(.except_labels(#selector)));
    quote!(#krate::ClusterSelector::new() #(#labels)* #names #(#properties)* #except #(#left_out)*)
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
pub(super) fn stored(decl: &Declaration, p: &TokenStream) -> TokenStream {
    let ty = &decl.ty;
    match decl.form {
        Form::Full => quote!(#ty),
        Form::Metadata => {
            let p = at(ty.span(), p);
            quote_spanned!(ty.span()=> #p::PartialObjectMeta<#ty>)
        }
    }
}

/// The one rule between the halves that is no bound.
fn checks(ident: &Ident, model: &Model) -> TokenStream {
    let krate = &model.krate;
    let policy = model.settings.error_policy.as_ref().map(|(_, argument)| {
        quote_spanned! {argument.span()=>
            const _: () = ::core::assert!(
                !<#ident as #krate::Reconciler>::ERROR_POLICY,
                "`error_policy(...)` and `#[error_policy]` exclude each other"
            );
        }
    });
    quote!(#policy)
}
