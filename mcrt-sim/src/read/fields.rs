//! Field selectors: which fields of a kind they may name, and what they match.

use serde_json::Value;

use crate::state::kind::{Kind, Version};
use crate::state::object::Object;

/// One comma-separated part of a field selector.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FieldRequirement {
    field: Field,
    equal: bool,
    value: String,
}

#[derive(Clone, Debug, PartialEq)]
enum Field {
    Name,
    Namespace,
    /// Fields of the object in order of preference, and what stands for a missing one.
    Inside(Vec<String>, &'static str),
}

impl FieldRequirement {
    /// Whether it looks at more than an object's key.
    pub(crate) fn looks_inside(&self) -> bool {
        matches!(self.field, Field::Inside(..))
    }

    /// `content` is the object's, or nothing where no requirement of the selector needs it.
    pub(crate) fn matches(&self, object: &Object, content: Option<&Value>) -> bool {
        let is_wanted = match &self.field {
            Field::Name => *object.key.name == *self.value,
            Field::Namespace => *object.key.namespace == *self.value,
            Field::Inside(pointers, missing) => {
                let found = pointers
                    .iter()
                    .filter_map(|pointer| content?.pointer(pointer))
                    .find(|found| !found.is_null() && *found != "");
                match found {
                    Some(Value::String(text)) => *text == self.value,
                    Some(other) => {
                        serde_json::from_str(&self.value).is_ok_and(|value: Value| value == *other)
                    }
                    None => *missing == self.value,
                }
            }
        };
        is_wanted == self.equal
    }
}

/// A part of a field selector that has been read but not looked up: label, equal or not, value.
pub(crate) type Term<'a> = (&'a str, bool, String);

/// Reads a selector; the error is the sentence for people.
pub(crate) fn parse(text: &str) -> Result<Vec<Term<'_>>, String> {
    let terms = split(text).into_iter().filter(|term| !term.is_empty());
    let terms = terms.map(|term| {
        let (label, equal, value) = split_term(term)
            .ok_or_else(|| format!("invalid selector: '{text}'; can't understand '{term}'"))?;
        Ok((label, equal, unescape(value)?))
    });
    terms.collect()
}

/// Finds the fields of a kind that a selector names.
pub(crate) fn resolve(
    terms: Vec<Term<'_>>,
    kind: &Kind,
    version: &Version,
) -> Result<Vec<FieldRequirement>, String> {
    let known = terms.into_iter().map(|(label, equal, value)| {
        let field = find(kind, version, label)?;
        Ok(FieldRequirement { field, equal, value })
    });
    known.collect()
}

/// Splits at commas that no backslash protects.
fn split(text: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (at, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms
}

fn split_term(term: &str) -> Option<(&str, bool, &str)> {
    let at = term.char_indices().map(|(at, _)| at).find(|at| {
        let rest = &term[*at..];
        rest.starts_with('=') || rest.starts_with("!=")
    })?;
    let (label, rest) = term.split_at(at);
    let operator = ["!=", "==", "="]
        .into_iter()
        .find(|operator| rest.starts_with(operator))?;
    Some((label, operator != "!=", &rest[operator.len()..]))
}

fn unescape(value: &str) -> Result<String, String> {
    let mut plain = String::with_capacity(value.len());
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some(protected @ ('\\' | ',' | '=')) => plain.push(protected),
                other => {
                    let other = other.map(String::from).unwrap_or_default();
                    return Err(format!(
                        "invalid field selector: invalid escape sequence: \\{other}"
                    ));
                }
            },
            ',' | '=' => {
                let code = u32::from(letter);
                return Err(format!(
                    "invalid field selector: unescaped character in value: {code}"
                ));
            }
            _ => plain.push(letter),
        }
    }
    Ok(plain)
}

fn find(kind: &Kind, version: &Version, label: &str) -> Result<Field, String> {
    let listed = known(kind);
    match label {
        "metadata.name" => return Ok(Field::Name),
        "metadata.namespace" if listed.is_none() || kind.namespaced => return Ok(Field::Namespace),
        _ => {}
    }
    if let Some((_, pointers, missing)) = listed.into_iter().flatten().find(|(known, ..)| *known == label) {
        let pointers = pointers.iter().map(|pointer| (*pointer).to_owned()).collect();
        return Ok(Field::Inside(pointers, missing));
    }
    if let Some(path) = version
        .selectable
        .iter()
        .find(|path| path.strip_prefix('.') == Some(label))
    {
        return Ok(Field::Inside(vec![path.replace('.', "/")], ""));
    }
    if listed.is_none() && kind.builtin {
        Err(format!(
            "{label:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        ))
    } else {
        Err(format!("field label not supported: {label}"))
    }
}

/// The label, where its value is in an object, and the value that stands for a missing one.
type Known = (&'static str, &'static [&'static str], &'static str);

/// The fields of a built-in kind beside name and namespace; nothing for kinds that know no others.
fn known(kind: &Kind) -> Option<&'static [Known]> {
    if !kind.builtin {
        return None;
    }
    match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "pods") => Some(&[
            ("spec.nodeName", &["/spec/nodeName"], ""),
            ("spec.host", &["/spec/nodeName"], ""),
            ("spec.restartPolicy", &["/spec/restartPolicy"], "Always"),
            (
                "spec.schedulerName",
                &["/spec/schedulerName"],
                "default-scheduler",
            ),
            ("spec.serviceAccountName", &["/spec/serviceAccountName"], ""),
            ("spec.hostNetwork", &["/spec/hostNetwork"], "false"),
            ("status.phase", &["/status/phase"], "Pending"),
            ("status.podIP", &["/status/podIPs/0/ip"], ""),
            ("status.podIPs", &["/status/podIPs/0/ip"], ""),
            ("status.nominatedNodeName", &["/status/nominatedNodeName"], ""),
        ]),
        ("", "nodes") => Some(&[("spec.unschedulable", &["/spec/unschedulable"], "false")]),
        ("", "namespaces") => Some(&[("status.phase", &["/status/phase"], "")]),
        ("", "secrets") => Some(&[("type", &["/type"], "")]),
        ("", "services") => Some(&[
            ("spec.clusterIP", &["/spec/clusterIP"], ""),
            ("spec.type", &["/spec/type"], "ClusterIP"),
        ]),
        ("", "events") => Some(&[
            ("involvedObject.kind", &["/involvedObject/kind"], ""),
            ("involvedObject.namespace", &["/involvedObject/namespace"], ""),
            ("involvedObject.name", &["/involvedObject/name"], ""),
            ("involvedObject.uid", &["/involvedObject/uid"], ""),
            ("involvedObject.apiVersion", &["/involvedObject/apiVersion"], ""),
            (
                "involvedObject.resourceVersion",
                &["/involvedObject/resourceVersion"],
                "",
            ),
            ("involvedObject.fieldPath", &["/involvedObject/fieldPath"], ""),
            ("reason", &["/reason"], ""),
            ("reportingComponent", &["/reportingComponent"], ""),
            ("source", &["/source/component", "/reportingComponent"], ""),
            ("type", &["/type"], ""),
        ]),
        ("events.k8s.io", "events") => Some(&[
            ("regarding.kind", &["/regarding/kind"], ""),
            ("regarding.namespace", &["/regarding/namespace"], ""),
            ("regarding.name", &["/regarding/name"], ""),
            ("regarding.uid", &["/regarding/uid"], ""),
            ("regarding.apiVersion", &["/regarding/apiVersion"], ""),
            ("regarding.resourceVersion", &["/regarding/resourceVersion"], ""),
            ("regarding.fieldPath", &["/regarding/fieldPath"], ""),
            ("reason", &["/reason"], ""),
            ("reportingController", &["/reportingController"], ""),
            ("type", &["/type"], ""),
        ]),
        ("batch", "jobs") => Some(&[("status.successful", &["/status/succeeded"], "0")]),
        _ => None,
    }
}
