//! `metadata.managedFields`: who last wrote which field, by which operation.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::merge::compare::Comparison;
use crate::merge::fields::FieldSet;
use crate::schema::elem::Elem;
use crate::state::object::meta_mut;
use crate::state::target::Target;

/// The identity under which fields are owned.
#[derive(Clone, Copy)]
pub(crate) struct Writer<'a> {
    pub(crate) manager: &'a str,
    pub(crate) target: &'a Target,
    pub(crate) status: bool,
}

impl Writer<'_> {
    /// What the endpoint that is written to cannot change.
    pub(crate) fn out_of_reach(&self) -> FieldSet {
        let mut fields = FieldSet::default();
        if self.status {
            fields.insert(&[Elem::field("metadata")]);
            fields.insert(&[Elem::field("spec")]);
        } else if self.target.version.status {
            fields.insert(&[Elem::field("status")]);
        }
        fields
    }

    pub(super) fn api_version(&self) -> &str {
        &self.target.version.api_version
    }

    pub(crate) fn owns(&self, entry: &Entry) -> bool {
        let version = entry.apply || entry.api_version == self.api_version();
        let subresource = if self.status { "status" } else { "" };
        entry.manager == self.manager && entry.subresource == subresource && version
    }
}

/// One entry of `managedFields`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) manager: String,
    pub(crate) apply: bool,
    pub(crate) subresource: String,
    pub(crate) api_version: String,
    /// Of the last write that changed something; none yet if there was no such.
    pub(crate) time: Option<String>,
    pub(crate) fields: FieldSet,
}

impl Entry {
    pub(crate) fn new(writer: &Writer<'_>, apply: bool, fields: FieldSet) -> Self {
        Self {
            manager: writer.manager.to_owned(),
            apply,
            subresource: if writer.status { "status" } else { "" }.to_owned(),
            api_version: writer.api_version().to_owned(),
            time: None,
            fields,
        }
    }

    pub(super) fn read(value: &Value) -> Option<Self> {
        let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
        let apply = match value["operation"].as_str()? {
            "Apply" => true,
            "Update" => false,
            _ => return None,
        };
        (value["fieldsType"] == "FieldsV1" && !text("apiVersion").is_empty()).then_some(())?;
        let fields = match &value["fieldsV1"] {
            Value::Null => FieldSet::default(),
            fields => FieldSet::from_v1(fields)?,
        };
        Some(Self {
            manager: text("manager"),
            apply,
            subresource: text("subresource"),
            api_version: text("apiVersion"),
            time: value["time"].as_str().map(str::to_owned),
            fields,
        })
    }

    pub(super) fn write(&self) -> Value {
        let operation = if self.apply { "Apply" } else { "Update" };
        let time = self.time.as_deref().unwrap_or_default();
        let mut entry = Map::new();
        for (field, text) in [
            ("operation", operation),
            ("apiVersion", &*self.api_version),
            ("fieldsType", "FieldsV1"),
            ("manager", &*self.manager),
            ("time", time),
            ("subresource", &*self.subresource),
        ] {
            if !text.is_empty() {
                entry.insert(field.into(), text.into());
            }
        }
        entry.insert("fieldsV1".into(), self.fields.to_v1());
        Value::Object(entry)
    }
}

/// The entries of an object; nothing if one of them cannot be read.
pub(super) fn try_read(value: &Value) -> Option<Vec<Entry>> {
    let entries = value["metadata"]["managedFields"].as_array();
    entries.into_iter().flatten().map(Entry::read).collect()
}

pub(crate) fn read(value: &Value) -> Vec<Entry> {
    try_read(value).unwrap_or_default()
}

pub(crate) fn write(value: &mut Value, entries: &[Entry]) {
    let mut entries: Vec<_> = entries.iter().filter(|entry| !entry.fields.is_empty()).collect();
    entries.sort_by_key(|entry| {
        (
            !entry.apply,
            &entry.time,
            &entry.manager,
            &entry.api_version,
            &entry.subresource,
        )
    });
    let entries: Vec<_> = entries.into_iter().map(Entry::write).collect();
    if entries.is_empty() {
        meta_mut(value).remove("managedFields");
    } else {
        meta_mut(value).insert("managedFields".into(), entries.into());
    }
}

/// Whether a client asks to forget who owns what.
pub(crate) fn is_reset(value: &Value) -> bool {
    let sent = value["metadata"]["managedFields"].as_array();
    sent.is_some_and(|entries| match entries.as_slice() {
        [] => true,
        [only] => only.as_object().is_some_and(Map::is_empty),
        _ => false,
    })
}

/// Differences of two objects, by every version in which somebody owns fields.
pub(crate) struct Comparisons<'a> {
    writer: Writer<'a>,
    old: &'a Value,
    new: &'a Value,
    by_version: Vec<(String, Option<Comparison>)>,
}

impl<'a> Comparisons<'a> {
    pub(crate) fn new(writer: Writer<'a>, old: &'a Value, new: &'a Value) -> Self {
        Self {
            writer,
            old,
            new,
            by_version: Vec::new(),
        }
    }

    /// Nothing, if the version is no longer served.
    pub(crate) fn of(&mut self, api_version: &str) -> Option<&Comparison> {
        let known = self.by_version.iter().position(|(known, _)| known == api_version);
        let at = known.unwrap_or_else(|| {
            let version = self.writer.target.kind.by_api_version(api_version);
            let comparison = version.map(|version| {
                let all = Comparison::of(version.schema.cursor(), self.old, self.new);
                all.without(&self.writer.out_of_reach())
            });
            self.by_version.push((api_version.to_owned(), comparison));
            self.by_version.len() - 1
        });
        self.by_version[at].1.as_ref()
    }

    /// What the writer has written.
    pub(super) fn into_written(mut self) -> FieldSet {
        let writer = self.writer;
        self.of(writer.api_version());
        let mut all = self.by_version.into_iter();
        let own = all.find(|(version, _)| version == writer.api_version());
        own.and_then(|(_, own)| own).unwrap_or_default().written
    }
}

/// Fields that are nobody's: the type, and what identifies the object or is written by the server.
pub(crate) fn strip(mut fields: FieldSet) -> FieldSet {
    static NOBODYS: LazyLock<FieldSet> = LazyLock::new(|| {
        let mut nobodys = FieldSet::default();
        let metadata = Elem::field("metadata");
        nobodys.insert(&[Elem::field("apiVersion")]);
        nobodys.insert(&[Elem::field("kind")]);
        nobodys.insert(std::slice::from_ref(&metadata));
        for name in [
            "name",
            "namespace",
            "creationTimestamp",
            "selfLink",
            "uid",
            "generation",
            "managedFields",
            "resourceVersion",
        ] {
            nobodys.insert(&[metadata.clone(), Elem::field(name)]);
        }
        nobodys
    });
    fields.subtract(&NOBODYS);
    fields
}

/// Whether two objects name the same owners of the same fields, since whatever time.
pub(crate) fn same_owners(before: &Value, after: &Value) -> bool {
    fn entries(value: &Value) -> &[Value] {
        value["metadata"]["managedFields"]
            .as_array()
            .map_or(&[], Vec::as_slice)
    }
    fn lasting(entry: &Value) -> Vec<(&String, &Value)> {
        let fields = entry.as_object().into_iter().flatten();
        fields.filter(|(name, _)| *name != "time").collect()
    }
    let (before, after) = (entries(before), entries(after));
    before.len() == after.len() && before.iter().zip(after).all(|(a, b)| lasting(a) == lasting(b))
}
