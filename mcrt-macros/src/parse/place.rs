//! Where objects are: `fleet`, `host` or `all`.

use super::Argument;
use crate::sink::error;
use proc_macro2::TokenStream;
use quote::quote;
use syn::Path;

/// A named group of clusters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    Fleet,
    Host,
    All,
}

impl Place {
    /// Reads `on = fleet`.
    pub(crate) fn read(argument: &Argument) -> syn::Result<Self> {
        let value = argument.equals("host")?;
        match value.to_string().as_str() {
            "fleet" => Ok(Self::Fleet),
            "host" => Ok(Self::Host),
            "all" => Ok(Self::All),
            _ => Err(error(value, "expected `fleet`, `host` or `all`")),
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Fleet => "fleet",
            Self::Host => "host",
            Self::All => "all",
        }
    }

    /// The places that have a client of their own.
    pub(crate) fn parts(self) -> &'static [Self] {
        match self {
            Self::Fleet => &[Self::Fleet],
            Self::Host => &[Self::Host],
            Self::All => &[Self::Fleet, Self::Host],
        }
    }

    pub(crate) fn overlaps(self, other: Self) -> bool {
        self == other || self == Self::All || other == Self::All
    }

    /// The type that stands for this place.
    pub(crate) fn marker(self, krate: &Path) -> TokenStream {
        match self {
            Self::Fleet => quote!(#krate::place::Fleet),
            Self::Host => quote!(#krate::place::Host),
            Self::All => quote!(#krate::place::All),
        }
    }

    /// The value that stands for this place.
    pub(crate) fn value(self, krate: &Path) -> TokenStream {
        match self {
            Self::Fleet => quote!(#krate::Place::Fleet),
            Self::Host => quote!(#krate::Place::Host),
            Self::All => quote!(#krate::Place::All),
        }
    }
}
