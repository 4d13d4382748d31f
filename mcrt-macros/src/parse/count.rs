//! Whole numbers that are at least one.

use super::{
    Argument,
    value::{expression, literal},
};
use crate::sink::error;
use syn::{Expr, Lit, UnOp};

/// A count and the literal it was written as.
pub(crate) struct Count {
    pub(crate) value: u32,
    pub(crate) literal: Lit,
}

/// Reads `concurrency = 16`.
pub(crate) fn count(argument: &Argument) -> syn::Result<Count> {
    let key = argument.name();
    if let Expr::Unary(negative) = &expression(argument, "16")?
        && matches!(negative.op, UnOp::Neg(_))
    {
        return Err(error(negative, least(&key)));
    }
    let literal = literal(argument, "16")?;
    let Lit::Int(number) = &literal else {
        return Err(error(
            &literal,
            format!("`{key}` is a whole number: `{key} = 16`"),
        ));
    };
    match number.base10_parse::<u32>() {
        Ok(0) => Err(error(number, least(&key))),
        Ok(value) => Ok(Count { value, literal }),
        Err(_) => Err(error(
            number,
            format!("`{key}` is a whole number of at most {}", u32::MAX),
        )),
    }
}

fn least(key: &str) -> String {
    let absent = match key {
        "concurrency" => "256",
        "per_cluster" => "a quarter of `concurrency`",
        _ => "no limit",
    };
    format!("`{key}` is at least 1; leave it out for {absent}")
}
