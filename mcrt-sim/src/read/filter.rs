//! What lists, watches and deletions of collections select.

use serde_json::Value;

use crate::read::fields::{self, FieldRequirement};
use crate::read::labels::{self, Requirement};
use crate::request::info::RequestInfo;
use crate::state::kind::{Kind, Version};
use crate::state::object::Object;

/// A namespace and selectors.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    pub(crate) namespace: Option<String>,
    labels: Vec<Requirement>,
    fields: Vec<FieldRequirement>,
    looks_inside: bool,
}

/// Why there is no filter, in a sentence for people.
#[derive(Debug)]
pub(crate) struct FilterError {
    pub(crate) message: String,
    /// Whether a selector breaks the grammar; else it names a field that the kind does not know.
    pub(crate) unreadable: bool,
}

impl Filter {
    pub(crate) fn parse(kind: &Kind, version: &Version, info: &RequestInfo) -> Result<Self, FilterError> {
        let selector = |name: &str| info.query(name).unwrap_or_default();
        let unreadable = |message| FilterError {
            message,
            unreadable: true,
        };
        let labels = labels::parse(selector("labelSelector")).map_err(unreadable)?;
        let terms = fields::parse(selector("fieldSelector")).map_err(unreadable)?;
        let fields = fields::resolve(terms, kind, version);
        let fields = fields.map_err(|message| FilterError {
            message,
            unreadable: false,
        })?;
        Ok(Self {
            namespace: info.namespace().map(str::to_owned),
            looks_inside: fields.iter().any(FieldRequirement::looks_inside),
            labels,
            fields,
        })
    }

    pub(crate) fn matches(&self, object: &Object) -> bool {
        let here = self.namespace.as_deref();
        if here.is_some_and(|namespace| namespace != &*object.key.namespace)
            || !self.labels.iter().all(|requirement| requirement.matches(object))
        {
            return false;
        }
        // Read only where it decides: most selectors name labels, or the object itself.
        let content = self.looks_inside.then(|| object.content());
        let content: Option<&Value> = content.as_ref();
        self.fields
            .iter()
            .all(|requirement| requirement.matches(object, content))
    }

    /// Whether anything beside the namespace restricts the answer.
    pub(crate) fn selects(&self) -> bool {
        !self.labels.is_empty() || !self.fields.is_empty()
    }
}
