//! `metadata.managedFields`: who last wrote which field, by which operation.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::merge::compare::Comparison;
use crate::merge::fields::FieldSet;
use crate::merge::zero::zero;
use crate::schema::elem::Elem;
use crate::state::object::{meta_mut, now};
use crate::state::target::Target;

/// How many writers by update an object remembers; the oldest are then taken as one.
const UPDATERS: usize = 10;
const ANCIENT: &str = "ancient-changes";

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

    fn api_version(&self) -> &str {
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

    fn read(value: &Value) -> Option<Self> {
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

    fn write(&self) -> Value {
        let mut value = json!({
            "operation": if self.apply { "Apply" } else { "Update" },
            "apiVersion": self.api_version,
            "fieldsType": "FieldsV1",
            "fieldsV1": self.fields.to_v1(),
        });
        let time = self.time.as_deref().unwrap_or_default();
        for (field, text) in [
            ("manager", &*self.manager),
            ("time", time),
            ("subresource", &*self.subresource),
        ] {
            if !text.is_empty() {
                value[field] = text.into();
            }
        }
        value
    }
}

/// The entries of an object; nothing if one of them cannot be read.
fn try_read(value: &Value) -> Option<Vec<Entry>> {
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
    by_version: BTreeMap<String, Option<Comparison>>,
}

impl<'a> Comparisons<'a> {
    pub(crate) fn new(writer: Writer<'a>, old: &'a Value, new: &'a Value) -> Self {
        Self {
            writer,
            old,
            new,
            by_version: BTreeMap::new(),
        }
    }

    /// Nothing, if the version is no longer served.
    pub(crate) fn of(&mut self, api_version: &str) -> Option<&Comparison> {
        if !self.by_version.contains_key(api_version) {
            let version = self.writer.target.kind.by_api_version(api_version);
            let comparison = version.map(|version| {
                let all = Comparison::of(version.schema.cursor(), self.old, self.new);
                all.without(&self.writer.out_of_reach())
            });
            self.by_version.insert(api_version.to_owned(), comparison);
        }
        self.by_version.get(api_version)?.as_ref()
    }
}

/// Fields that are nobody's: the type, and what identifies the object or is written by the server.
pub(crate) fn strip(fields: &FieldSet) -> FieldSet {
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
    fields.difference(&NOBODYS)
}

/// Gives the fields that an update has changed to its writer, and takes them from all others.
pub(crate) fn record_update(before: Option<&Value>, after: &mut Value, writer: &Writer<'_>) {
    let schema = writer.target.version.schema.cursor();
    let old = match before {
        Some(before) => Cow::Borrowed(before),
        None if writer.target.kind.builtin => Cow::Owned(zero(schema)),
        None => Cow::Owned(json!({})),
    };
    let mut entries = match before {
        // A subresource writes itself and nothing else.
        Some(before) if writer.status => read(before),
        _ if is_reset(after) => Vec::new(),
        _ => try_read(after)
            .filter(|sent| !sent.is_empty())
            .unwrap_or_else(|| read(&old)),
    };
    meta_mut(after).remove("managedFields");
    if entries.is_empty() && before.is_some() {
        // Nobody owned anything, and an update does not begin with it.
        return;
    }
    let mut comparisons = Comparisons::new(*writer, &old, after);
    let Some(own) = comparisons.of(writer.api_version()).cloned() else {
        return;
    };
    entries.retain_mut(|entry| {
        let Some(changed) = comparisons.of(&entry.api_version) else {
            return false;
        };
        entry.fields = entry
            .fields
            .difference(&changed.written())
            .difference(&changed.removed);
        !entry.fields.is_empty()
    });
    let written = strip(&own.written());
    if !written.is_empty() {
        let place = entries
            .iter()
            .position(|entry| !entry.apply && writer.owns(entry));
        let place = place.unwrap_or_else(|| {
            entries.push(Entry::new(writer, false, FieldSet::default()));
            entries.len() - 1
        });
        entries[place].fields.union(&written);
        entries[place].time = Some(now());
    }
    cap(&mut entries);
    write(after, &entries);
}

/// Takes the oldest updaters of a version as one, until there are not too many.
fn cap(entries: &mut Vec<Entry>) {
    let mut updaters: Vec<_> = entries.iter().filter(|entry| !entry.apply).cloned().collect();
    if updaters.len() <= UPDATERS {
        return;
    }
    updaters.sort_by(|a, b| (&a.time, &a.manager).cmp(&(&b.time, &b.manager)));
    let mut first: BTreeMap<String, Entry> = BTreeMap::new();
    let mut count = updaters.len();
    for updater in updaters {
        if count <= UPDATERS {
            break;
        }
        let Some(known) = first.get_mut(&updater.api_version) else {
            first.insert(updater.api_version.clone(), updater);
            continue;
        };
        entries.retain(|entry| *entry != updater && entry != known);
        ANCIENT.clone_into(&mut known.manager);
        known.subresource.clear();
        known.fields.union(&updater.fields);
        known.time = updater.time;
        entries.push(known.clone());
        count -= 1;
    }
}
