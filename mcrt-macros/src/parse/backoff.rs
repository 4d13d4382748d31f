//! `error_policy(initial = "1s", max = "5m", ...)`.

use super::{
    Argument, Arguments, Vocabulary,
    arguments::Value,
    count::count,
    duration::{Written, duration},
    value::{expression, literal},
};
use crate::sink::{Sink, error};
use std::time::Duration;
use syn::{Expr, Lit};

/// How long to wait after an error, and how often to try again.
pub(crate) struct Backoff {
    pub(crate) initial: Duration,
    pub(crate) max: Duration,
    pub(crate) factor: Option<f64>,
    pub(crate) jitter: Option<bool>,
    pub(crate) retries: Option<u32>,
}

const VOCABULARY: Vocabulary = Vocabulary {
    known: &["initial", "max", "factor", "jitter", "retries"],
    repeatable: &[],
    refused: &[],
};

impl Backoff {
    pub(crate) fn read(argument: &Argument) -> syn::Result<Self> {
        const EXAMPLE: &str = "initial = \"1s\", max = \"5m\"";
        let mut sink = Sink::default();
        let list = Arguments::read(argument.list(EXAMPLE)?.clone(), &VOCABULARY, &mut sink);
        if list.find("initial").is_none() || list.find("max").is_none() {
            sink.at(
                argument,
                format!("`error_policy` needs both ends: `error_policy({EXAMPLE})`"),
            );
        }
        let initial = list.one("initial", duration, &mut sink);
        let max = list.one("max", duration, &mut sink);
        if let (Some(initial), Some(max)) = (&initial, &max)
            && initial.value > max.value
        {
            sink.at(&initial.literal, "`initial` is longer than `max`");
        }
        let backoff = Self {
            initial: length(initial),
            max: length(max),
            factor: list.one("factor", factor, &mut sink),
            jitter: list.one("jitter", jitter, &mut sink),
            retries: list.one("retries", count, &mut sink).map(|retries| retries.value),
        };
        sink.finish(backoff)
    }
}

fn length(written: Option<Written>) -> Duration {
    written.map_or(Duration::ZERO, |written| written.value)
}

/// Reads `factor = 2.0`.
fn factor(argument: &Argument) -> syn::Result<f64> {
    const TEXT: &str = "`factor` is a number of at least 1, such as `2.0`";
    if let Expr::Unary(negative) = expression(argument, "2.0")? {
        return Err(error(negative, TEXT));
    }
    let literal = literal(argument, "2.0")?;
    let number = match &literal {
        Lit::Float(number) => number.base10_parse::<f64>().ok(),
        Lit::Int(number) => number.base10_parse::<u32>().ok().map(f64::from),
        _ => None,
    };
    number
        .filter(|number| *number >= 1.0 && number.is_finite())
        .ok_or_else(|| error(literal, TEXT))
}

/// Reads `jitter` or `jitter = false`.
fn jitter(argument: &Argument) -> syn::Result<bool> {
    if matches!(argument.value, Value::Word) {
        return Ok(true);
    }
    match literal(argument, "false")? {
        Lit::Bool(jitter) => Ok(jitter.value),
        other => Err(error(other, "`jitter` is `true` or `false`")),
    }
}
