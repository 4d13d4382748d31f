//! Whether an object keeps its schema, refused as the API server refuses it.

use serde_json::{Number, Value};

use crate::crd::formats;
use crate::crd::lists::{duplicates, same_item};
use crate::crd::node::{Limits, Node};
use crate::refusal::cause::Cause;

/// What is wrong with an object. What was there before and is left as it was is not looked at again.
pub(crate) fn check(node: &Node, value: &Value, before: Option<&Value>) -> Vec<Cause> {
    let mut check = Check::default();
    check.walk(node, value, before, "");
    let mut lists = Vec::new();
    duplicates(node, value, before, "", &mut lists);
    check.causes.extend(lists);
    check.causes
}

/// What is wrong with the status alone: paths in texts begin inside of it.
pub(crate) fn check_status(node: &Node, value: &Value, before: Option<&Value>) -> Vec<Cause> {
    let Some((node, status)) = node.fields.get("status").zip(value.get("status")) else {
        return Vec::new();
    };
    let mut causes = check(node, status, before.and_then(|before| before.get("status")));
    for cause in &mut causes {
        cause.put_under("status");
    }
    causes
}

/// The rules of one value, which is a candidate for a default or for a branch.
pub(crate) fn fits(node: &Node, value: &Value) -> bool {
    let mut check = Check::default();
    check.walk(node, value, None, "");
    check.causes.is_empty()
}

#[derive(Default)]
struct Check {
    causes: Vec<Cause>,
}

pub(super) fn below(at: &str, name: &str) -> String {
    if at.is_empty() {
        name.to_owned()
    } else {
        format!("{at}.{name}")
    }
}

/// The type of a value by its name in a schema.
fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if whole(number).is_some() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn whole(number: &Number) -> Option<i64> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it has no fraction and is in range"
    )]
    let from_float = |number: f64| (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i64);
    number.as_i64().or_else(|| number.as_f64().and_then(from_float))
}

impl Check {
    fn walk(&mut self, node: &Node, value: &Value, before: Option<&Value>, at: &str) {
        if before == Some(value) {
            return;
        }
        if !self.check_type(node, value, at) {
            return;
        }
        match value {
            Value::Object(fields) => {
                self.object(node, fields, at);
                for (name, field) in fields {
                    if at.is_empty() && name == "metadata" {
                        continue;
                    }
                    if let Some(node) = node.field(name) {
                        let before = before.and_then(|before| before.get(name));
                        self.walk(node, field, before, &below(at, name));
                    }
                }
            }
            Value::Array(items) => {
                self.size(items.len(), node.rules.items, at, "items");
                for (index, item) in items.iter().enumerate() {
                    if let Some(node_of_item) = &node.item {
                        let before = before.and_then(|before| same_item(node, before, item));
                        self.walk(node_of_item, item, before, &format!("{at}[{index}]"));
                    }
                }
            }
            Value::String(text) => self.text(node, text, at),
            Value::Number(number) => self.number(node, number, at),
            _ => {}
        }
        self.choices(node, value, at);
        self.branches(node, value, at);
    }

    /// Whether the type fits, so that the rest is worth a look.
    fn check_type(&mut self, node: &Node, value: &Value, at: &str) -> bool {
        let is = type_name(value);
        let fits = match &*node.ty {
            _ if value.is_null() && node.nullable => return false,
            _ if node.int_or_string => matches!(is, "integer" | "string"),
            "" => true,
            "number" => matches!(is, "integer" | "number"),
            wanted => wanted == is,
        };
        if fits {
            return true;
        }
        let wanted = if node.int_or_string {
            "integer,string"
        } else {
            &*node.ty
        };
        let message = format!("Invalid value: {is:?}: {at} in body must be of type {wanted}: {is:?}");
        self.causes.push(Cause::of("FieldValueTypeInvalid", at, message));
        if (is, wanted) == ("number", "integer") {
            let why = format!("Checked value must be of type integer (default format) in {at}");
            self.causes.push(Cause::invalid_text("<nil>", "", &why));
        }
        false
    }

    fn object(&mut self, node: &Node, fields: &serde_json::Map<String, Value>, at: &str) {
        self.size(fields.len(), node.rules.properties, at, "properties");
        for name in node
            .rules
            .required
            .iter()
            .filter(|name| !fields.contains_key(&***name))
        {
            let message = "Required value".to_owned();
            self.causes
                .push(Cause::of("FieldValueRequired", &below(at, name), message));
        }
    }

    fn size(&mut self, size: usize, (least, most): Limits, at: &str, what: &str) {
        if let Some(most) = most.filter(|most| size > *most) {
            let message = format!("Too many: {size}: must have at most {most} {}", items(most));
            self.causes.push(Cause::of("FieldValueTooMany", at, message));
        }
        if let Some(least) = least.filter(|least| size < *least) {
            let why = format!("{at} in body should have at least {least} {what}");
            self.causes.push(Cause::invalid(at, size, &why));
        }
    }

    fn text(&mut self, node: &Node, text: &str, at: &str) {
        let length = text.chars().count();
        let (least, most) = node.rules.length;
        if let Some(most) = most.filter(|most| length > *most) {
            self.causes.push(Cause::too_long(at, most));
        } else if let Some(least) = least.filter(|least| length < *least) {
            let why = format!("{at} in body should be at least {least} chars long");
            self.causes.push(Cause::invalid_text(at, text, &why));
        } else if let Some((pattern, regex)) = &node.rules.pattern
            && !regex.is_match(text)
        {
            let why = format!("{at} in body should match '{pattern}'");
            self.causes.push(Cause::invalid_text(at, text, &why));
        }
        if !node.int_or_string && !formats::fits(&node.format, text) {
            let message = format!(
                "Invalid value: {text:?}: {at} in body must be of type {}: {text:?}",
                node.format
            );
            self.causes.push(Cause::of("FieldValueTypeInvalid", at, message));
        }
    }

    fn number(&mut self, node: &Node, number: &Number, at: &str) {
        let value = number.as_f64().unwrap_or_default();
        let rules = &node.rules;
        let mut wrong = |why: String| {
            let why = format!("{at} in body {why}");
            self.causes.push(Cause::invalid(at, number, &why));
        };
        if let Some(multiple) = rules.multiple.as_ref().and_then(Number::as_f64)
            && (value / multiple).fract() != 0.0
        {
            wrong(format!("should be a multiple of {multiple}"));
        }
        if let Some((maximum, exclusive)) = &rules.maximum {
            let limit = maximum.as_f64().unwrap_or_default();
            if value > limit || *exclusive && value >= limit {
                let or = if *exclusive { "" } else { " or equal to" };
                wrong(format!("should be less than{or} {maximum}"));
            }
        }
        if let Some((minimum, exclusive)) = &rules.minimum {
            let limit = minimum.as_f64().unwrap_or_default();
            if value < limit || *exclusive && value <= limit {
                let or = if *exclusive { "" } else { " or equal to" };
                wrong(format!("should be greater than{or} {minimum}"));
            }
        }
        if whole(number).is_some_and(|number| !formats::fits_number(&node.format, number)) {
            wrong(format!("must be of type {}: {number}", node.format));
        }
    }

    fn choices(&mut self, node: &Node, value: &Value, at: &str) {
        let Some(choices) = node
            .rules
            .choices
            .as_deref()
            .filter(|choices| !choices.contains(value))
        else {
            return;
        };
        let shown: Vec<_> = choices
            .iter()
            .map(|choice| choice.as_str().map_or_else(|| choice.to_string(), str::to_owned))
            .collect();
        let shown: Vec<_> = shown.iter().map(String::as_str).collect();
        self.causes.push(Cause::unsupported_list(at, value, &shown));
    }

    fn branches(&mut self, node: &Node, value: &Value, at: &str) {
        let rules = &node.rules;
        let mut wrong = |why: String| {
            let why = format!("{at:?} must {why}");
            self.causes.push(Cause::invalid_text("<nil>", "", &why));
        };
        if !rules.any.is_empty() && !rules.any.iter().any(|branch| fits(branch, value)) {
            wrong("validate at least one schema (anyOf)".into());
        }
        let fitting = rules.one.iter().filter(|branch| fits(branch, value)).count();
        if !rules.one.is_empty() && fitting != 1 {
            let found = if fitting == 0 {
                "Found none valid".to_owned()
            } else {
                format!("Found {fitting} valid alternatives")
            };
            wrong(format!("validate one and only one schema (oneOf). {found}"));
        }
        // Each branch is looked at once: twice would be a million times at twenty levels.
        let fitting = rules.all.iter().filter(|branch| fits(branch, value)).count();
        if fitting < rules.all.len() {
            let rest = if fitting > 0 { "" } else { ". None validated" };
            wrong(format!("validate all the schemas (allOf){rest}"));
        }
        if rules.not.as_ref().is_some_and(|branch| fits(branch, value)) {
            wrong("not validate the schema (not)".into());
        }
    }
}

fn items(count: usize) -> &'static str {
    if count == 1 { "item" } else { "items" }
}
