//! Label and field selectors, and the filter that lists and watches share.

use crate::api::status::Status;
use crate::state::object::Object;

/// What a list or a watch asks for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    pub(crate) namespace: Option<String>,
    pub(crate) labels: Vec<Requirement>,
    pub(crate) fields: Vec<FieldRequirement>,
}

impl Filter {
    pub(crate) fn parse(
        namespace: Option<&str>,
        labels: Option<&str>,
        fields: Option<&str>,
    ) -> Result<Self, Status> {
        Ok(Self {
            namespace: namespace.map(str::to_owned),
            labels: labels.map(parse_labels).transpose()?.unwrap_or_default(),
            fields: fields.map(parse_fields).transpose()?.unwrap_or_default(),
        })
    }

    pub(crate) fn matches(&self, object: &Object) -> bool {
        self.namespace
            .as_deref()
            .is_none_or(|namespace| namespace == &*object.key.namespace)
            && self.labels.iter().all(|requirement| requirement.matches(object))
            && self.fields.iter().all(|requirement| requirement.matches(object))
    }

    /// Whether anything beside the namespace restricts the answer.
    pub(crate) fn selects(&self) -> bool {
        !self.labels.is_empty() || !self.fields.is_empty()
    }
}

/// One comma-separated part of a label selector.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Requirement {
    key: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq)]
enum Test {
    Exists,
    Absent,
    In(Vec<String>),
    NotIn(Vec<String>),
    Greater(i64),
    Less(i64),
}

impl Requirement {
    fn matches(&self, object: &Object) -> bool {
        let value = object.label(&self.key);
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match &self.test {
            Test::Exists => value.is_some(),
            Test::Absent => value.is_none(),
            Test::In(values) => value.is_some_and(|value| values.iter().any(|one| one == value)),
            Test::NotIn(values) => value.is_none_or(|value| values.iter().all(|one| one != value)),
            Test::Greater(bound) => number().is_some_and(|number| number > *bound),
            Test::Less(bound) => number().is_some_and(|number| number < *bound),
        }
    }
}

/// A field selector term; only fields that are part of an object's key are indexed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FieldRequirement {
    field: Field,
    equal: bool,
    value: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Field {
    Name,
    Namespace,
}

impl FieldRequirement {
    fn matches(&self, object: &Object) -> bool {
        let actual = match self.field {
            Field::Name => &object.key.name,
            Field::Namespace => &object.key.namespace,
        };
        (**actual == *self.value) == self.equal
    }
}

pub(crate) fn parse_fields(text: &str) -> Result<Vec<FieldRequirement>, Status> {
    let terms = text.split(',').map(str::trim).filter(|term| !term.is_empty());
    terms.map(parse_field).collect()
}

fn parse_field(term: &str) -> Result<FieldRequirement, Status> {
    let (field, equal, value) = if let Some((field, value)) = term.split_once("!=") {
        (field, false, value)
    } else if let Some((field, value)) = term.split_once("==").or_else(|| term.split_once('=')) {
        (field, true, value)
    } else {
        return Err(Status::bad_request(format!(
            "invalid field selector \"{term}\": no operator found"
        )));
    };
    let field = match field.trim() {
        "metadata.name" => Field::Name,
        "metadata.namespace" => Field::Namespace,
        other => return Err(Status::bad_request(format!("field label not supported: {other}"))),
    };
    Ok(FieldRequirement {
        field,
        equal,
        value: value.trim().to_owned(),
    })
}

pub(crate) fn parse_labels(text: &str) -> Result<Vec<Requirement>, Status> {
    let mut tokens = Tokens { rest: text };
    let mut requirements = Vec::new();
    if tokens.peek().is_none() {
        return Ok(requirements);
    }
    loop {
        requirements.push(requirement(&mut tokens).map_err(|why| {
            Status::bad_request(format!(
                "unable to parse requirement: {why} in selector \"{text}\""
            ))
        })?);
        match tokens.next() {
            None => return Ok(requirements),
            Some(",") if tokens.peek().is_some() => {}
            Some(other) => {
                let why = format!("found '{other}', expected ',' or end");
                return Err(Status::bad_request(format!(
                    "unable to parse selector \"{text}\": {why}"
                )));
            }
        }
    }
}

fn requirement(tokens: &mut Tokens<'_>) -> Result<Requirement, String> {
    let negated = tokens.peek() == Some("!");
    if negated {
        tokens.next();
    }
    let key = label_key(tokens.next())?;
    if negated {
        return Ok(Requirement {
            key,
            test: Test::Absent,
        });
    }
    let test = match tokens.peek() {
        None | Some(",") => {
            return Ok(Requirement {
                key,
                test: Test::Exists,
            });
        }
        Some(operator) => {
            tokens.next();
            match operator {
                "=" | "==" => Test::In(vec![bare_value(tokens)?]),
                "!=" => Test::NotIn(vec![bare_value(tokens)?]),
                "in" => Test::In(value_list(tokens)?),
                "notin" => Test::NotIn(value_list(tokens)?),
                ">" => Test::Greater(number(tokens)?),
                "<" => Test::Less(number(tokens)?),
                other => return Err(format!("found '{other}', expected an operator")),
            }
        }
    };
    Ok(Requirement { key, test })
}

/// A value may be empty: `team=` selects objects whose label is the empty string.
fn bare_value(tokens: &mut Tokens<'_>) -> Result<String, String> {
    match tokens.peek() {
        None | Some(",") => Ok(String::new()),
        Some(_) => label_value(tokens.next().unwrap_or_default()),
    }
}

fn number(tokens: &mut Tokens<'_>) -> Result<i64, String> {
    let token = tokens.next().unwrap_or_default();
    token.parse().map_err(|_| format!("'{token}' is not an integer"))
}

fn value_list(tokens: &mut Tokens<'_>) -> Result<Vec<String>, String> {
    if tokens.next() != Some("(") {
        return Err("expected '('".to_owned());
    }
    let mut values = Vec::new();
    loop {
        match tokens.next() {
            Some(")") => break,
            Some(",") => values.push(String::new()),
            Some(value) => {
                values.push(label_value(value)?);
                match tokens.next() {
                    Some(",") if tokens.peek() == Some(")") => values.push(String::new()),
                    Some(",") => {}
                    Some(")") => break,
                    _ => return Err("expected ',' or ')'".to_owned()),
                }
            }
            None => return Err("expected ')'".to_owned()),
        }
    }
    if values.is_empty() {
        // Nothing between the parentheses is the empty text, as nothing after `=` is.
        values.push(String::new());
    }
    Ok(values)
}

pub(crate) fn label_key(token: Option<&str>) -> Result<String, String> {
    let key = token.unwrap_or_default();
    let (prefix, name) = key
        .rsplit_once('/')
        .map_or((None, key), |(prefix, name)| (Some(prefix), name));
    let prefix_valid =
        prefix.is_none_or(|prefix| !prefix.is_empty() && prefix.len() <= 253 && is_word(prefix));
    if name.is_empty() || name.len() > 63 || !is_word(name) || !prefix_valid {
        return Err(format!("'{key}' is not a label key"));
    }
    Ok(key.to_owned())
}

pub(crate) fn label_value(value: &str) -> Result<String, String> {
    if value.len() > 63 || !(value.is_empty() || is_word(value)) {
        return Err(format!("'{value}' is not a label value"));
    }
    Ok(value.to_owned())
}

fn is_word(text: &str) -> bool {
    let ends = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    let inner = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    ends(bytes.first()) && ends(bytes.last()) && bytes.iter().all(inner)
}

/// Splits a label selector into words and operators.
struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Tokens<'a> {
    fn peek(&self) -> Option<&'a str> {
        Tokens { rest: self.rest }.next()
    }

    fn next(&mut self) -> Option<&'a str> {
        let rest = self.rest.trim_start();
        let first = rest.chars().next()?;
        let length = if "=!<>".contains(first) {
            if rest.starts_with("==") || rest.starts_with("!=") {
                2
            } else {
                1
            }
        } else if "(),".contains(first) {
            1
        } else {
            rest.find(|c: char| c.is_whitespace() || "=!<>(),".contains(c))
                .unwrap_or(rest.len())
        };
        let (token, rest) = rest.split_at(length);
        self.rest = rest;
        Some(token)
    }
}
