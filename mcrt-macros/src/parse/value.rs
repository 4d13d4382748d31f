//! Literals and expressions after `=`.

use super::Argument;
use crate::sink::error;
use syn::{Expr, Lit, LitStr};

/// Any expression. Invisible groups, which `macro_rules!` leaves behind, are taken off.
pub(crate) fn expression(argument: &Argument, example: &str) -> syn::Result<Expr> {
    let value = argument.equals(example)?;
    let mut expr: Expr = syn::parse2(value.clone()).map_err(|_| {
        error(
            value,
            format!("`{}` needs an expression, such as `{example}`", argument.name()),
        )
    })?;
    while let Expr::Group(group) = expr {
        expr = *group.expr;
    }
    Ok(expr)
}

/// A literal; constants and expressions are refused for now, because they can only be checked at start.
pub(crate) fn literal(argument: &Argument, example: &str) -> syn::Result<Lit> {
    match expression(argument, example)? {
        Expr::Lit(literal) => Ok(literal.lit),
        other => {
            let text = format!(
                "`{}` takes a literal: constants and expressions are not available yet; write `{} = {example}`",
                argument.name(),
                argument.name()
            );
            Err(error(other, text))
        }
    }
}

/// A string literal that is not empty.
pub(crate) fn string(argument: &Argument, example: &str) -> syn::Result<LitStr> {
    match literal(argument, example)? {
        Lit::Str(text) if text.value().trim().is_empty() => Err(error(
            text,
            format!(
                "`{}` is empty: leave it out, or write `{}`",
                argument.name(),
                example
            ),
        )),
        Lit::Str(text) => Ok(text),
        other => Err(error(
            other,
            format!(
                "`{}` is a string: `{} = {example}`",
                argument.name(),
                argument.name()
            ),
        )),
    }
}
