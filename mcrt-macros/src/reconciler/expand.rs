//! A checked block as tokens.

use super::{
    block::Block,
    model::{Handler, Index, Model},
};
use crate::names::without_self;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Path, Type, ext::IdentExt, spanned::Spanned};

/// Everything after the block.
pub(crate) fn expand(block: &Block, model: &Model, krate: &Path) -> TokenStream {
    let p = quote!(#krate::__private);
    let self_ty = &block.self_ty;
    let object = &model.reconcile.object;
    let parts = [
        reconcile(self_ty, &model.reconcile, krate, &p),
        model
            .gone
            .as_ref()
            .map(|gone| self::gone(self_ty, gone, krate, &p))
            .unwrap_or_default(),
        model
            .error_policy
            .as_ref()
            .map(|policy| error_policy(self_ty, policy, krate, &p))
            .unwrap_or_default(),
        indexes(self_ty, &model.indexes, krate),
    ];
    let constants = constants(self_ty, &model.indexes, krate);
    let maps = model
        .maps
        .iter()
        .map(|map| self::map(self_ty, map, object, krate));
    let checks = checks(self_ty, model, krate, &p);
    quote! {
        #constants
        #[automatically_derived]
        impl #krate::Reconciler for #self_ty {
            type Object = #object;
            #(#parts)*
        }
        #(#maps)*
        #checks
    }
}

/// Arguments with the spans of the parameters they are passed for, so that a mismatch is reported there.
fn arguments<const N: usize>(handler: &Handler, names: [&str; N]) -> [Ident; N] {
    let mut spans = handler.spans.iter();
    names.map(|name| {
        Ident::new(
            name,
            spans
                .next()
                .map_or_else(Span::call_site, |span| located_at(*span)),
        )
    })
}

/// Generated code at the place of the user's: underlined there, but the compiler suggests no edits to it.
fn located_at(span: Span) -> Span {
    Span::call_site().located_at(span)
}

fn reconcile(self_ty: &Type, handler: &Handler, krate: &Path, p: &TokenStream) -> TokenStream {
    let Handler { name, output, .. } = handler;
    let [object, cx] = arguments(handler, ["object", "cx"]);
    // The call carries the span of the name, so that a future that is not `Send` is reported there.
    let call = quote_spanned!(name.span()=> #p::send(<#self_ty>::#name(self, #object, #cx)).await);
    let outcome = quote_spanned!(output.span()=> <#output as #p::Outcome>::outcome);
    quote! {
        fn reconcile(
            &self,
            object: #p::Arc<Self::Object>,
            cx: #krate::Context<Self>,
        ) -> impl #p::Future<Output = #krate::Result<#krate::Action>> + #p::Send {
            async move { #outcome(#call) }
        }
    }
}

fn gone(self_ty: &Type, handler: &Handler, krate: &Path, p: &TokenStream) -> TokenStream {
    let Handler { name, output, .. } = handler;
    let [object, cx] = arguments(handler, ["object", "cx"]);
    let call = quote_spanned!(name.span()=> #p::send(<#self_ty>::#name(self, #object, #cx)).await);
    let outcome = quote_spanned!(output.span()=> <#output as #p::GoneOutcome>::outcome);
    quote! {
        const GONE: #p::bool = true;
        fn gone(
            &self,
            object: #p::Arc<Self::Object>,
            cx: #krate::Context<Self>,
        ) -> impl #p::Future<Output = #krate::Result<()>> + #p::Send {
            async move { #outcome(#call) }
        }
    }
}

fn error_policy(self_ty: &Type, handler: &Handler, krate: &Path, p: &TokenStream) -> TokenStream {
    let Handler { name, output, .. } = handler;
    let [object, error, cx] = arguments(handler, ["object", "error", "cx"]);
    let action = quote_spanned!(output.span()=> <#output as #p::Into<#krate::Action>>::into);
    quote! {
        const ERROR_POLICY: #p::bool = true;
        fn error_policy(
            &self,
            object: #p::Arc<Self::Object>,
            error: &#krate::Error,
            cx: #krate::Context<Self>,
        ) -> #krate::Action {
            #action(<#self_ty>::#name(self, #object, #error, #cx))
        }
    }
}

/// Registers the indexes in declaration order: their position is the slot of their constant.
fn indexes(self_ty: &Type, indexes: &[Index], krate: &Path) -> TokenStream {
    if indexes.is_empty() {
        return TokenStream::new();
    }
    let calls = indexes.iter().map(|index| {
        let Index {
            name, object, output, ..
        } = index;
        let text = name.unraw().to_string();
        quote_spanned!(output.span()=> wiring.index::<#object, #output>(#text, <#self_ty>::#name);)
    });
    quote! {
        fn indexes(wiring: &mut #krate::ControllerBuilder<Self>) {
            #(#calls)*
        }
    }
}

/// `const BY_TEAM: Index<Self, ConfigMap, String>` for each index.
pub(super) fn constants(self_ty: &Type, indexes: &[Index], krate: &Path) -> TokenStream {
    if indexes.is_empty() {
        return TokenStream::new();
    }
    let constants = (0_u16..).zip(indexes).map(|(slot, index)| {
        let Index {
            vis,
            constant,
            object,
            output,
            name,
        } = index;
        // The key as written leaves the check of the bound, and its error, to the registration alone.
        let key = index.key().map_or_else(
            || quote_spanned!(output.span()=> <#output as #krate::__private::IndexKeys>::Key),
            ToTokens::to_token_stream,
        );
        let doc = format!("The index that [`{name}`](Self::{name}) computes.");
        quote! {
            #[doc = #doc]
            #[allow(dead_code)]
            #vis const #constant: #krate::Index<Self, #object, #key> = #krate::Index::declared(#slot);
        }
    });
    quote!(impl #self_ty { #(#constants)* })
}

/// One function maps one watched kind, so the impl for the kind is what the struct half asks for.
fn map(self_ty: &Type, handler: &Handler, primary: &Type, krate: &Path) -> TokenStream {
    let p = quote!(#krate::__private);
    let (kind, output) = (
        without_self(&handler.object, self_ty),
        without_self(&handler.output, self_ty),
    );
    let primary = without_self(primary, self_ty);
    let name = &handler.name;
    let [object, cx] = arguments(handler, ["object", "cx"]);
    let call = quote_spanned!(name.span()=> <#self_ty>::#name(controller, #object, #cx));
    let convert =
        quote_spanned!(handler.output.span()=> <#output as #p::IntoRequests<#self_ty>>::into_requests);
    let check = quote_spanned! {handler.object.span()=>
        const _: fn() = || {
            fn map<K, O>() where K: #p::WatchedBy<#self_ty>, O: #p::MapOutput<K::Place, #primary> {}
            map::<#kind, #output>();
        };
    };
    quote! {
        #[automatically_derived]
        impl #p::MappedBy<#self_ty> for #kind {
            fn map(
                controller: &#self_ty,
                object: &Self,
                cx: #krate::MapContext<#self_ty>,
            ) -> #krate::Requests<#self_ty> {
                #convert(#call)
            }
        }
        #check
    }
}

fn checks(self_ty: &Type, model: &Model, krate: &Path, p: &TokenStream) -> TokenStream {
    let object = without_self(&model.reconcile.object, self_ty);
    let controller = quote_spanned! {self_ty.span()=>
        const _: fn() = || {
            fn controller<C: #krate::MulticlusterController, K: #p::SameKind<C::For>>() {}
            controller::<#self_ty, #object>();
        };
    };
    let indexable = model.indexes.iter().map(|index| {
        let object = without_self(&index.object, self_ty);
        quote_spanned! {index.object.span()=>
            const _: fn() = || {
                fn indexable<K: #p::IndexableBy<#self_ty>>() {}
                indexable::<#object>();
            };
        }
    });
    quote!(#controller #(#indexable)*)
}
