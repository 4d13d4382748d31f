//! The attributes of mcrt.
mod controller;
mod markers;
mod names;
mod parse;
mod reconciler;
mod sink;
#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

/// TODO
#[proc_macro_attribute]
pub fn multicluster_controller(args: TokenStream, item: TokenStream) -> TokenStream {
    controller::expand(args.into(), item.into()).into()
}

/// TODO
#[proc_macro_attribute]
pub fn reconciler(args: TokenStream, item: TokenStream) -> TokenStream {
    reconciler::expand(args.into(), item.into()).into()
}

/// TODO
#[proc_macro_attribute]
pub fn reconcile(_: TokenStream, item: TokenStream) -> TokenStream {
    markers::misplaced("reconcile", &item.into()).into()
}

/// TODO
#[proc_macro_attribute]
pub fn gone(_: TokenStream, item: TokenStream) -> TokenStream {
    markers::misplaced("gone", &item.into()).into()
}

/// TODO
#[proc_macro_attribute]
pub fn map(_: TokenStream, item: TokenStream) -> TokenStream {
    markers::misplaced("map", &item.into()).into()
}

/// TODO
#[proc_macro_attribute]
pub fn index(_: TokenStream, item: TokenStream) -> TokenStream {
    markers::misplaced("index", &item.into()).into()
}

/// TODO
#[proc_macro_attribute]
pub fn error_policy(_: TokenStream, item: TokenStream) -> TokenStream {
    markers::misplaced("error_policy", &item.into()).into()
}
