//! Label and field selectors, by the grammar of the API server.

use super::{Argument, value::string};
use crate::sink::error;
use syn::LitStr;

/// Reads `labels = "app=web,tier in (a, b)"`.
pub(crate) fn labels(argument: &Argument) -> syn::Result<LitStr> {
    let selector = string(argument, "\"app=web\"")?;
    match check_labels(&selector.value()) {
        Ok(()) => Ok(selector),
        Err(why) => Err(error(selector, format!("invalid label selector: {why}"))),
    }
}

/// Reads `fields = "metadata.name=web"`.
pub(crate) fn fields(argument: &Argument) -> syn::Result<LitStr> {
    let selector = string(argument, "\"metadata.name=web\"")?;
    match check_fields(&selector.value()) {
        Ok(()) => Ok(selector),
        Err(why) => Err(error(selector, format!("invalid field selector: {why}"))),
    }
}

pub(crate) fn check_labels(selector: &str) -> Result<(), String> {
    for requirement in outside_parentheses(selector)? {
        check_requirement(requirement.trim())?;
    }
    Ok(())
}

/// Splits at the commas that are not inside parentheses.
fn outside_parentheses(selector: &str) -> Result<Vec<&str>, String> {
    let mut pieces = Vec::new();
    let (mut start, mut open) = (0, false);
    for (at, letter) in selector.char_indices() {
        match letter {
            '(' if open => return Err("`(` inside parentheses".to_owned()),
            '(' => open = true,
            ')' if !open => return Err("`)` without `(`".to_owned()),
            ')' => open = false,
            ',' if !open => {
                pieces.push(&selector[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    if open {
        return Err("`(` without `)`".to_owned());
    }
    pieces.push(&selector[start..]);
    Ok(pieces)
}

fn check_requirement(requirement: &str) -> Result<(), String> {
    if requirement.is_empty() {
        return Err("empty requirement between commas".to_owned());
    }
    if let Some(key) = requirement.strip_prefix('!') {
        return check_key(key.trim());
    }
    if let Some((head, values)) = requirement.split_once('(') {
        return check_set(requirement, head.trim(), values);
    }
    for operator in ["!=", "==", "=", ">", "<"] {
        let Some((key, value)) = requirement.split_once(operator) else {
            continue;
        };
        check_key(key.trim())?;
        return match operator {
            ">" | "<" => check_number(value.trim()),
            _ => check_value(value.trim()),
        };
    }
    match requirement.split_once(char::is_whitespace) {
        Some((key, rest)) => Err(format!(
            "`{}` after `{key}`: expected `=`, `!=`, `in (...)` or `notin (...)`",
            rest.trim()
        )),
        None => check_key(requirement),
    }
}

/// `key in (a, b)`, cut at the parenthesis.
fn check_set(requirement: &str, head: &str, values: &str) -> Result<(), String> {
    let form = || format!("`{requirement}` is not of the form `key in (a, b)` or `key notin (a, b)`");
    let (key, operator) = head.split_once(char::is_whitespace).ok_or_else(form)?;
    if !matches!(operator.trim(), "in" | "notin") {
        return Err(form());
    }
    check_key(key)?;
    let values = values.trim_end().strip_suffix(')').ok_or_else(form)?;
    values.split(',').try_for_each(|value| check_value(value.trim()))
}

fn check_number(value: &str) -> Result<(), String> {
    let number = value.parse::<i64>();
    number
        .map(|_| ())
        .map_err(|_| format!("`{value}` is not a whole number, which `>` and `<` compare with"))
}

fn check_key(key: &str) -> Result<(), String> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    if let Some(prefix) = prefix
        && !is_subdomain(prefix)
    {
        return Err(format!("`{prefix}` in `{key}` is not a DNS name"));
    }
    if name.is_empty() {
        return Err("a requirement begins with a label key".to_owned());
    }
    if !is_label_text(name) {
        return Err(format!("`{key}` is not a label key: {LABEL_TEXT}"));
    }
    Ok(())
}

fn check_value(value: &str) -> Result<(), String> {
    if value.is_empty() || is_label_text(value) {
        Ok(())
    } else {
        Err(format!("`{value}` is not a label value: {LABEL_TEXT}"))
    }
}

const LABEL_TEXT: &str =
    "at most 63 letters, digits, `-`, `_` and `.`, beginning and ending with a letter or digit";

fn is_label_text(text: &str) -> bool {
    let inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    text.len() <= 63
        && text.chars().all(inside)
        && edge(text.chars().next())
        && edge(text.chars().next_back())
}

fn is_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(super::is_controller_name)
}

pub(crate) fn check_fields(selector: &str) -> Result<(), String> {
    unescaped(selector, ',')?.into_iter().try_for_each(check_field)
}

fn check_field(term: &str) -> Result<(), String> {
    if term.trim().is_empty() {
        return Err("empty term between commas".to_owned());
    }
    let Some(at) = unescaped(term, '=')?
        .first()
        .map(|path| path.len())
        .filter(|at| *at < term.len())
    else {
        return Err(format!(
            "`{term}` is not of the form `path=value` or `path!=value`"
        ));
    };
    let path = term[..at].trim_end_matches('!');
    let is_path = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '/' | '[' | ']');
    if path.is_empty() || !path.chars().all(is_path) {
        return Err(format!(
            "`{path}` in `{term}` is not the path of a field, such as `metadata.name`"
        ));
    }
    let value = &term[at + 1..];
    let value = value.strip_prefix('=').unwrap_or(value);
    match unescaped(value, '=')?.len() {
        1 => Ok(()),
        _ => Err(format!("write `\\=` for `=` inside the value of `{term}`")),
    }
}

/// Splits at `separator` unless a backslash stands before it.
fn unescaped(text: &str, separator: char) -> Result<Vec<&str>, String> {
    let mut pieces = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (at, letter) in text.char_indices() {
        if escaped {
            if !matches!(letter, '\\' | ',' | '=') {
                return Err(format!(
                    "`\\{letter}` escapes nothing: only `\\\\`, `\\,` and `\\=` exist"
                ));
            }
            escaped = false;
        } else if letter == '\\' {
            escaped = true;
        } else if letter == separator {
            pieces.push(&text[start..at]);
            start = at + 1;
        }
    }
    if escaped {
        return Err("a backslash at the end escapes nothing".to_owned());
    }
    pieces.push(&text[start..]);
    Ok(pieces)
}
