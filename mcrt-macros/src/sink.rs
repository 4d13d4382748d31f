//! Collects errors, so that one build shows every mistake of an attribute.

use proc_macro2::TokenStream;
use quote::ToTokens;
use std::fmt::Display;

/// An error that underlines the whole of `tokens`.
pub(crate) fn error(tokens: impl ToTokens, message: impl Display) -> syn::Error {
    syn::Error::new_spanned(tokens, message)
}

/// The errors met so far.
#[derive(Default)]
pub(crate) struct Sink(Option<syn::Error>);

impl Sink {
    pub(crate) fn push(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(errors) => errors.combine(error),
            none => *none = Some(error),
        }
    }

    pub(crate) fn at(&mut self, tokens: impl ToTokens, message: impl Display) {
        self.push(error(tokens, message));
    }

    /// Keeps the value, or the reason why there is none.
    pub(crate) fn take<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.push(error)).ok()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// `value`, if nothing went wrong on the way to it.
    pub(crate) fn finish<T>(self, value: T) -> syn::Result<T> {
        match self.0 {
            Some(errors) => Err(errors),
            None => Ok(value),
        }
    }

    /// Invocations of `compile_error!`, one for each error.
    pub(crate) fn into_tokens(self) -> TokenStream {
        self.0.map(syn::Error::into_compile_error).unwrap_or_default()
    }
}
