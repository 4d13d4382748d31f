//! Durations: `"30s"`, `"5m"`.

use super::{
    Argument,
    value::{expression, literal},
};
use crate::sink::error;
use std::time::Duration;
use syn::{Expr, Lit};

/// A duration and the literal it was written as.
pub(crate) struct Written {
    pub(crate) value: Duration,
    pub(crate) literal: Lit,
}

/// Reads `resync = "10m"`.
pub(crate) fn duration(argument: &Argument) -> syn::Result<Written> {
    const FORM: &str = "a duration is a string with a unit, such as \"30s\" or \"5m\"";
    if let Expr::Unary(negative) = expression(argument, "\"30s\"")? {
        return Err(error(negative, FORM));
    }
    let literal = literal(argument, "\"30s\"")?;
    let Lit::Str(text) = &literal else {
        return Err(error(literal, FORM));
    };
    let value = parse(&text.value()).map_err(|why| error(text, why))?;
    Ok(Written { value, literal })
}

pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let bad =
        || format!("`{text}` is not a duration: write a number and `ms`, `s`, `m` or `h`, such as \"30s\"");
    let unit = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(bad)?;
    let (number, unit) = text.split_at(unit);
    let number: u64 = number.parse().map_err(|_| bad())?;
    let milliseconds = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(bad()),
    };
    match number.checked_mul(milliseconds) {
        Some(0) => Err(format!(
            "`{text}` is no time at all: leave the argument out, or write \"30s\""
        )),
        Some(total) => Ok(Duration::from_millis(total)),
        None => Err(format!("`{text}` is longer than a duration can be")),
    }
}
