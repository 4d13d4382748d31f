//! JSON objects read as Go programs read them: keys in any case, null as nothing; but what is not known is refused.
use serde_json::{Map, Value};

/// The fields of one object, each to be asked for once.
pub(super) struct Fields<'a> {
    at: String,
    left: Vec<(&'a str, &'a Value)>,
}

impl<'a> Fields<'a> {
    /// The object that stands there.
    pub(super) fn of(value: &'a Value, at: impl Into<String>) -> Result<Self, String> {
        let at = at.into();
        let object: &Map<String, Value> = value
            .as_object()
            .ok_or_else(|| format!("{}: not an object", named(&at)))?;
        let left = object.iter().map(|(key, value)| (&**key, value)).collect();
        Ok(Self { at, left })
    }

    /// The path of a field, for messages.
    pub(super) fn path(&self, name: &str) -> String {
        if self.at.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.at)
        }
    }

    pub(super) fn invalid(&self, name: &str, reason: &str) -> String {
        format!("{}: {reason}", self.path(name))
    }

    /// What a field holds, unless it is missing or null.
    pub(super) fn take(&mut self, name: &str) -> Result<Option<&'a Value>, String> {
        let mut found = None;
        let mut twice = false;
        self.left.retain(|(key, value)| {
            let is_it = key.eq_ignore_ascii_case(name);
            if is_it {
                twice |= found.replace(*value).is_some();
            }
            !is_it
        });
        if twice {
            return Err(self.invalid(name, "is there more than once, in different case: keep one"));
        }
        Ok(found.filter(|value| !value.is_null()))
    }

    pub(super) fn text(&mut self, name: &str) -> Result<Option<&'a str>, String> {
        match self.take(name)? {
            None => Ok(None),
            Some(value) => value
                .as_str()
                .map(Some)
                .ok_or_else(|| self.invalid(name, "not a text")),
        }
    }

    pub(super) fn flag(&mut self, name: &str) -> Result<bool, String> {
        match self.take(name)? {
            None => Ok(false),
            Some(value) => value
                .as_bool()
                .ok_or_else(|| self.invalid(name, "neither true nor false")),
        }
    }

    pub(super) fn list(&mut self, name: &str) -> Result<&'a [Value], String> {
        match self.take(name)? {
            None => Ok(&[]),
            Some(value) => {
                let list = value.as_array().map(Vec::as_slice);
                list.ok_or_else(|| self.invalid(name, "not a list"))
            }
        }
    }

    /// A list of texts.
    pub(super) fn texts(&mut self, name: &str) -> Result<Vec<String>, String> {
        let texts: Option<Vec<_>> = self
            .list(name)?
            .iter()
            .map(|text| text.as_str().map(str::to_owned))
            .collect();
        texts.ok_or_else(|| self.invalid(name, "holds something that is not a text"))
    }

    /// Nothing is left that nobody has asked for. The names are told: they are the operator's, and no values.
    pub(super) fn end(self) -> Result<(), String> {
        match self.left.first() {
            None => Ok(()),
            Some((unknown, _)) => Err(format!(
                "{}: is not known: correct its name, or remove it",
                self.path(unknown)
            )),
        }
    }
}

fn named(at: &str) -> &str {
    if at.is_empty() { "the file" } else { at }
}
