//! Names of controllers, field managers and namespaces.

use super::{Argument, value::string};
use crate::sink::{Sink, error};
use syn::{LitStr, Token, parse::Parser, punctuated::Punctuated};

/// Reads `name = "team-tokens"`.
pub(crate) fn controller_name(argument: &Argument) -> syn::Result<LitStr> {
    let name = string(argument, "\"team-tokens\"")?;
    if is_controller_name(&name.value()) {
        return Ok(name);
    }
    let text = name.value();
    let text = if text.len() > 63 {
        format!("`{text}` is not a controller name: it is longer than 63 characters")
    } else {
        format!(
            "`{text}` is not a controller name: use lower-case letters, digits and `-`, beginning and ending with a letter or digit"
        )
    };
    Err(error(name, text))
}

/// Whether `name` is a DNS label, which is what names of Kubernetes objects can be made from.
pub(crate) fn is_controller_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !name.is_empty()
        && name.len() <= 63
        && name.chars().all(allowed)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

/// Reads `field_manager = "mcrt.dev/team-tokens"`.
pub(crate) fn field_manager(argument: &Argument) -> syn::Result<LitStr> {
    let manager = string(argument, "\"team-tokens\"")?;
    let text = manager.value();
    // What the API server accepts: printable, at most 128 bytes.
    if text.len() > 128 || text.chars().any(char::is_control) {
        return Err(error(
            manager,
            "a field manager has at most 128 bytes and no control characters",
        ));
    }
    Ok(manager)
}

/// Reads `namespaces("a", "b")`.
pub(crate) fn namespaces(argument: &Argument) -> syn::Result<Vec<LitStr>> {
    let list = argument.list("\"team-a\", \"team-b\"")?;
    let names = Punctuated::<LitStr, Token![,]>::parse_terminated
        .parse2(list.clone())
        .map_err(|_| {
            error(
                list,
                "`namespaces` takes string literals: `namespaces(\"team-a\", \"team-b\")`",
            )
        })?;
    let mut sink = Sink::default();
    let mut kept: Vec<LitStr> = Vec::new();
    for name in names {
        let text = name.value();
        if !is_controller_name(&text) {
            sink.at(
                &name,
                format!("`{text}` is not the name of a namespace: use lower-case letters, digits and `-`"),
            );
        } else if kept.iter().any(|earlier| earlier.value() == text) {
            sink.at(&name, format!("namespace `{text}` is given twice"));
        } else {
            kept.push(name);
        }
    }
    sink.finish(kept)
}
