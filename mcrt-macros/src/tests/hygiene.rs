//! What generated code must not depend on.

use super::support::{expand, inputs, occurrences};
use quote::quote;

#[test]
fn an_overridden_crate_path_leaves_no_trace_of_the_default() {
    for (name, text) in inputs().into_iter().filter(|(name, _)| name != "facade") {
        let written = occurrences(text.parse().expect("inputs are tokens"), "mcrt");
        let expansion = expand(&text, &quote!(crate = ::facade::runtime,));
        assert_eq!(occurrences(expansion.clone(), "mcrt"), written, "{name}");
        assert_ne!(occurrences(expansion, "facade"), 0, "{name}");
    }
}

#[test]
fn the_item_comes_first_and_unchanged() {
    let item = quote! {
        /// Documented.
        #[derive(Debug)]
        pub struct TeamTokens { pub(crate) issuer: String }
    };
    for args in [
        quote!(for = ConfigMap),
        quote!(),
        quote!(for(ConfigMap, on = hub)),
    ] {
        let expansion = crate::controller::expand(args, item.clone()).to_string();
        assert!(expansion.starts_with(&item.to_string()), "{expansion}");
    }
}
