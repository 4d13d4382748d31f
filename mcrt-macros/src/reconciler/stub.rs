//! A stand-in for a rejected block, so that the other half and uses of the block's indexes add no errors.

use super::{
    block::Block,
    expand::constants,
    model::Index,
    roles::{Marked, Role},
};
use proc_macro2::TokenStream;
use quote::quote;
use syn::Path;

/// A reconciler that never runs: an error always stands beside it.
pub(crate) fn expand(block: &Block, marked: &[Marked], krate: &Path) -> TokenStream {
    let p = quote!(#krate::__private);
    let self_ty = &block.self_ty;
    let of_role = |role| {
        marked
            .iter()
            .filter(move |marked| marked.role == role)
            .map(|marked| &marked.function)
    };
    let generic = !block.generics.params.is_empty();
    // What the struct half declares, so that its calls of the builder and its predicates still fit.
    let object = if generic {
        quote!(#p::Unresolved)
    } else {
        quote!(<Self as #krate::MulticlusterController>::For)
    };
    let readable = |index: &Index| index.key().is_some();
    let indexes: Vec<Index> = of_role(Role::Index)
        .filter_map(Index::read)
        .filter(readable)
        .collect();
    let constants = (!generic && block.of_trait.is_none()).then(|| constants(self_ty, &indexes, krate));
    let (generics, _, clause) = block.generics.split_for_impl();
    let bounds = clause.map(|clause| &clause.predicates);
    // A generic type cannot promise the bounds for every parameter, and is refused at the struct alone: without a
    // rejected struct this is no reconciler.
    let shared = generic.then(|| quote!(Self: #p::BrokenController + #p::Send + #p::Sync + 'static, #bounds));
    quote! {
        #constants
        impl #generics #krate::Reconciler for #self_ty where #shared {
            type Object = #object;
            fn reconcile(
                &self,
                _: #p::Arc<Self::Object>,
                _: #krate::Context<Self>,
            ) -> impl #p::Future<Output = #krate::Result<#krate::Action>> + #p::Send {
                async { ::core::unreachable!() }
            }
        }
        impl #generics #p::BrokenHandlers for #self_ty where #bounds {}
    }
}
