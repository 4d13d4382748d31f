//! The part of `JSONPath` that columns of defined kinds use: fields, indexes and filters.

use serde_json::Value;

/// A path to one value. One that cannot be read leads nowhere.
pub(super) struct JsonPath(Option<Vec<Step>>);

#[derive(Debug, PartialEq)]
enum Step {
    Field(String),
    Index(i64),
    /// Every element, of which the first that leads on counts.
    Any,
    /// Elements that have this text under this path, as in `[?(@.type=="Ready")]`.
    Where(Vec<String>, String),
}

impl JsonPath {
    pub(super) fn parse(text: &str) -> Self {
        Self(steps(text.trim()))
    }

    /// The first value it leads to.
    pub(super) fn find<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        walk(value, self.0.as_deref()?)
    }
}

fn walk<'a>(value: &'a Value, steps: &[Step]) -> Option<&'a Value> {
    let Some((step, rest)) = steps.split_first() else {
        return Some(value);
    };
    match step {
        Step::Field(name) => walk(value.get(name)?, rest),
        Step::Index(index) => {
            let items = value.as_array()?;
            let index = if *index < 0 {
                *index + i64::try_from(items.len()).ok()?
            } else {
                *index
            };
            walk(items.get(usize::try_from(index).ok()?)?, rest)
        }
        Step::Any => value.as_array()?.iter().find_map(|item| walk(item, rest)),
        Step::Where(path, wanted) => {
            let fits = |item: &&Value| {
                let found = path.iter().try_fold(*item, |value, field| value.get(field));
                found.is_some_and(|found| match found {
                    Value::String(text) => text == wanted,
                    other => wanted.parse::<Value>().is_ok_and(|wanted| *other == wanted),
                })
            };
            value
                .as_array()?
                .iter()
                .filter(fits)
                .find_map(|item| walk(item, rest))
        }
    }
}

fn steps(mut text: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    while !text.is_empty() {
        if let Some(rest) = text.strip_prefix('.') {
            // A dot in a name is escaped, as in `.metadata.labels.app\.kubernetes\.io/name`.
            let (name, rest) = field(rest);
            if !name.is_empty() {
                steps.push(Step::Field(name));
            }
            text = rest;
        } else {
            let inner = text.strip_prefix('[')?;
            let end = inner.find(']')?;
            steps.push(bracket(inner[..end].trim())?);
            text = &inner[end + 1..];
        }
    }
    Some(steps)
}

fn field(text: &str) -> (String, &str) {
    let mut name = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => name.extend(letters.next().map(|(_, letter)| letter)),
            '.' | '[' => return (name, &text[at..]),
            _ => name.push(letter),
        }
    }
    (name, "")
}

fn bracket(inner: &str) -> Option<Step> {
    if inner == "*" {
        return Some(Step::Any);
    }
    if let Some(name) = quoted(inner) {
        return Some(Step::Field(name.to_owned()));
    }
    if let Ok(index) = inner.parse() {
        return Some(Step::Index(index));
    }
    let condition = inner.strip_prefix("?(")?.strip_suffix(')')?;
    let (path, wanted) = condition.split_once("==")?;
    let path = path.trim().strip_prefix("@.")?;
    let wanted = wanted.trim();
    let path = path.split('.').map(str::to_owned).collect();
    Some(Step::Where(path, quoted(wanted).unwrap_or(wanted).to_owned()))
}

fn quoted(text: &str) -> Option<&str> {
    ['\'', '"']
        .into_iter()
        .find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_lead_through_fields_indexes_and_filters() {
        let value = json!({
            "metadata": {"labels": {"a.b/c": "label"}},
            "status": {"conditions": [{"type": "Live", "status": "1"}, {"type": "Ready", "status": "2"}]},
        });
        let find = |path| JsonPath::parse(path).find(&value).cloned();
        assert_eq!(find(r".metadata.labels.a\.b/c"), Some("label".into()));
        assert_eq!(find(".metadata.labels['a.b/c']"), Some("label".into()));
        assert_eq!(find(".status.conditions[0].status"), Some("1".into()));
        assert_eq!(find(".status.conditions[-1].status"), Some("2".into()));
        assert_eq!(find(".status.conditions[*].status"), Some("1".into()));
        assert_eq!(
            find(r#".status.conditions[?(@.type=="Ready")].status"#),
            Some("2".into())
        );
        assert_eq!(find(".status.nothing"), None);
        assert_eq!(find("nonsense["), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in r"[\\.\[\]?(@)='*0-9a-z ]*|.*") {
            let _ = JsonPath::parse(&text).find(&json!({"a": [{"b": 1}]}));
        }
    }
}
