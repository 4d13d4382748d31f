//! Paths: of the crate, of predicates.

use super::{Argument, value::expression};
use crate::sink::error;
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Expr, Path};

/// Reads `crate = ::facade::mcrt`.
pub(crate) fn crate_path(argument: &Argument) -> syn::Result<Path> {
    let value = argument.equals("::facade::mcrt")?;
    let path: Path =
        syn::parse2(value.clone()).map_err(|_| error(value, "expected a path, such as `::facade::mcrt`"))?;
    let of_this_crate = path
        .segments
        .first()
        .is_some_and(|segment| segment.ident == "crate");
    if path.leading_colon.is_some() || of_this_crate {
        return Ok(path);
    }
    let text = path.to_token_stream().to_string().replace(' ', "");
    Err(error(
        value,
        format!("`crate` is an absolute path: `::{text}` for another crate, `crate::{text}` for this one"),
    ))
}

/// A function that says which changes are worth a reconcile.
pub(crate) enum Predicate {
    /// One of `mcrt::predicate`, by its name.
    BuiltIn(Path),
    Function(Path),
}

const BUILT_IN: &[&str] = &[
    "generation",
    "generation_or_finalizers",
    "resource_version",
    "labels",
    "annotations",
];

impl Predicate {
    /// Reads `predicate = generation`.
    pub(crate) fn read(argument: &Argument) -> syn::Result<Self> {
        match expression(argument, "generation")? {
            Expr::Path(path)
                if path
                    .path
                    .get_ident()
                    .is_some_and(|word| BUILT_IN.iter().any(|name| word == name)) =>
            {
                Ok(Self::BuiltIn(path.path))
            }
            Expr::Path(path) if path.qself.is_none() => Ok(Self::Function(path.path)),
            other => Err(error(
                other,
                format!(
                    "`predicate` is one of `{}`, or a path to a function `fn(old: Option<&Kind>, new: &Kind) -> bool`",
                    BUILT_IN.join("`, `")
                ),
            )),
        }
    }

    pub(crate) fn tokens(&self, krate: &Path) -> TokenStream {
        match self {
            Self::BuiltIn(name) => quote!(#krate::predicate::#name),
            Self::Function(path) => path.to_token_stream(),
        }
    }
}
