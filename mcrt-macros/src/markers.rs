//! Markers that stand where no `#[reconciler]` block is.

use proc_macro2::{Span, TokenStream};
use quote::quote;

/// The item, and an error that says where `#[word]` belongs.
pub(crate) fn misplaced(word: &str, item: &TokenStream) -> TokenStream {
    let text = format!("`#[{word}]` works only inside a `#[reconciler]` block");
    // The call site of an attribute is the attribute itself.
    let error = syn::Error::new(Span::call_site(), text).into_compile_error();
    quote!(#item #error)
}
