//! Label selectors, by the grammar of Kubernetes, for labels that no API server looks at.
use super::InvalidSelector;
use std::{collections::BTreeMap, fmt};

/// What one label must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Requirement {
    key: String,
    must: Must,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Must {
    Exist,
    NotExist,
    /// Written with `=`, or with `in`.
    BeOneOf(Vec<String>),
    /// Also holds where there is no such label.
    BeNoneOf(Vec<String>),
    BeMore(i64),
    BeLess(i64),
}

impl Requirement {
    pub(super) fn holds(&self, labels: &BTreeMap<String, String>) -> bool {
        let label = labels.get(&self.key);
        let number = || label.and_then(|label| label.parse::<i64>().ok());
        match &self.must {
            Must::Exist => label.is_some(),
            Must::NotExist => label.is_none(),
            Must::BeOneOf(values) => label.is_some_and(|label| values.contains(label)),
            Must::BeNoneOf(values) => label.is_none_or(|label| !values.contains(label)),
            Must::BeMore(than) => number().is_some_and(|number| number > *than),
            Must::BeLess(than) => number().is_some_and(|number| number < *than),
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        match &self.must {
            Must::Exist => f.write_str(key),
            Must::NotExist => write!(f, "!{key}"),
            Must::BeOneOf(values) => match &**values {
                [value] => write!(f, "{key}={value}"),
                values => write!(f, "{key} in ({})", values.join(",")),
            },
            Must::BeNoneOf(values) => match &**values {
                [value] => write!(f, "{key}!={value}"),
                values => write!(f, "{key} notin ({})", values.join(",")),
            },
            Must::BeMore(than) => write!(f, "{key}>{than}"),
            Must::BeLess(than) => write!(f, "{key}<{than}"),
        }
    }
}

/// Reads a selector; commas separate requirements, all of which must hold.
pub(super) fn read(selector: &str) -> Result<Vec<Requirement>, InvalidSelector> {
    let requirements = split(selector).and_then(|pieces| pieces.into_iter().map(requirement).collect());
    requirements.map_err(|why| InvalidSelector::Labels {
        selector: selector.to_owned(),
        why,
    })
}

/// Splits at the commas that are not inside parentheses.
fn split(selector: &str) -> Result<Vec<&str>, String> {
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

fn requirement(text: &str) -> Result<Requirement, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("empty requirement".to_owned());
    }
    if let Some(key) = text.strip_prefix('!') {
        return said(key, Must::NotExist);
    }
    if let Some((head, values)) = text.split_once('(') {
        return set(text, head.trim(), values);
    }
    // The longer ones first: `!=` and `==` hold an `=`.
    for operator in ["!=", "==", "=", ">", "<"] {
        let Some((key, value)) = text.split_once(operator) else {
            continue;
        };
        let value = value.trim();
        let must = match operator {
            "!=" => Must::BeNoneOf(vec![checked_value(value)?]),
            ">" => Must::BeMore(number(value)?),
            "<" => Must::BeLess(number(value)?),
            _ => Must::BeOneOf(vec![checked_value(value)?]),
        };
        return said(key, must);
    }
    match text.split_once(char::is_whitespace) {
        Some((key, rest)) => Err(format!(
            "`{}` after `{key}`: expected `=`, `!=`, `in (...)` or `notin (...)`",
            rest.trim()
        )),
        None => said(text, Must::Exist),
    }
}

/// `key in (a, b)`, cut at the parenthesis.
fn set(text: &str, head: &str, values: &str) -> Result<Requirement, String> {
    let form = || format!("`{text}` is not of the form `key in (a, b)` or `key notin (a, b)`");
    let (key, operator) = head.split_once(char::is_whitespace).ok_or_else(form)?;
    let values = values.trim_end().strip_suffix(')').ok_or_else(form)?;
    let values = values
        .split(',')
        .map(|value| checked_value(value.trim()))
        .collect::<Result<_, _>>()?;
    match operator.trim() {
        "in" => said(key, Must::BeOneOf(values)),
        "notin" => said(key, Must::BeNoneOf(values)),
        _ => Err(form()),
    }
}

fn said(key: &str, must: Must) -> Result<Requirement, String> {
    let key = key.trim();
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    if let Some(prefix) = prefix.filter(|prefix| !is_subdomain(prefix)) {
        return Err(format!("`{prefix}` in `{key}` is not a DNS name"));
    }
    if name.is_empty() {
        return Err("a requirement begins with a label key".to_owned());
    }
    if !is_label_text(name) {
        return Err(format!("`{key}` is not a label key: {LABEL_TEXT}"));
    }
    let key = key.to_owned();
    Ok(Requirement { key, must })
}

fn number(value: &str) -> Result<i64, String> {
    value
        .parse()
        .map_err(|_| format!("`{value}` is not a whole number, which `>` and `<` compare with"))
}

fn checked_value(value: &str) -> Result<String, String> {
    if value.is_empty() || is_label_text(value) {
        Ok(value.to_owned())
    } else {
        Err(format!("`{value}` is not a label value: {LABEL_TEXT}"))
    }
}

const LABEL_TEXT: &str =
    "at most 63 letters, digits, `-`, `_` and `.`, beginning and ending with a letter or digit";

fn is_label_text(text: &str) -> bool {
    let inside = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    let at_the_end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    bytes.len() <= 63 && bytes.iter().all(inside) && at_the_end(bytes.first()) && at_the_end(bytes.last())
}

fn is_subdomain(text: &str) -> bool {
    let is_label = |label: &str| {
        let inside = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
        let bytes = label.as_bytes();
        let edges = [bytes.first(), bytes.last()];
        let sound = edges.iter().all(|byte| byte.is_some_and(|byte| *byte != b'-'));
        sound && bytes.len() <= 63 && bytes.iter().all(inside)
    };
    text.len() <= 253 && text.split('.').all(is_label)
}
