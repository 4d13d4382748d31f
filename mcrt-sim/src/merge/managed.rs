//! `metadata.managedFields`: who last wrote which field, by which operation.

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
    fn into_written(mut self) -> FieldSet {
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

/// Gives the fields that an update has changed to its writer, and takes them from all others. Says whether everybody
/// owns what they did before; the entries of the object before may then be gone.
pub(crate) fn record_update(before: Option<&mut Value>, after: &mut Value, writer: &Writer<'_>) -> bool {
    let schema = writer.target.version.schema.cursor();
    let Some(before) = before else {
        let empty = if writer.target.kind.builtin {
            zero(schema)
        } else {
            json!({})
        };
        let sent = if is_reset(after) { Vec::new() } else { read(after) };
        record(&empty, after, sent, writer);
        return false;
    };
    if writer.status || !is_reset(after) {
        let stored = &before["metadata"]["managedFields"];
        let sent = after["metadata"].get("managedFields");
        let sent = sent.filter(|sent| !writer.status && sent.is_array());
        if stored.is_array() && sent.is_none_or(|sent| sent == stored) {
            return update_stored(before, after, writer);
        }
    }
    let entries = if is_reset(after) {
        Vec::new()
    } else {
        try_read(after)
            .filter(|sent| !sent.is_empty())
            .unwrap_or_else(|| read(before))
    };
    meta_mut(after).remove("managedFields");
    // Where nobody owned anything, an update does not begin with it.
    if !entries.is_empty() {
        record(before, after, entries, writer);
    }
    same_owners(before, after)
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

/// Records an update with entries in whatever form.
fn record(old: &Value, after: &mut Value, mut entries: Vec<Entry>, writer: &Writer<'_>) {
    meta_mut(after).remove("managedFields");
    let mut comparisons = Comparisons::new(*writer, old, after);
    if comparisons.of(writer.api_version()).is_none() {
        return;
    }
    entries.retain_mut(|entry| {
        let Some(changed) = comparisons.of(&entry.api_version) else {
            return false;
        };
        entry.fields.subtract(&changed.written);
        entry.fields.subtract(&changed.removed);
        !entry.fields.is_empty()
    });
    let written = strip(comparisons.into_written());
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

/// Records an update with the entries that are stored: they move to the object after it as they are, and only what it
/// changes of them is touched. Says whether that is nothing.
fn update_stored(before: &mut Value, after: &mut Value, writer: &Writer<'_>) -> bool {
    // An empty list stays: the comparison tells it from none as it does a full one.
    let mut entries = match &mut before["metadata"]["managedFields"] {
        Value::Array(entries) => std::mem::take(entries),
        _ => Vec::new(),
    };
    meta_mut(after).remove("managedFields");
    let mut comparisons = Comparisons::new(*writer, before, after);
    if comparisons.of(writer.api_version()).is_none() {
        return entries.is_empty();
    }
    let (count, mut same) = (entries.len(), true);
    entries.retain_mut(|entry| {
        let Some(changed) = comparisons.of(text(entry, "apiVersion")) else {
            return false;
        };
        let Some(fields) = entry.get_mut("fieldsV1").and_then(Value::as_object_mut) else {
            return false;
        };
        same &= !changed.written.subtract_from(fields);
        same &= !changed.removed.subtract_from(fields);
        !fields.is_empty()
    });
    same &= entries.len() == count;
    let written = strip(comparisons.into_written());
    if !written.is_empty() {
        same = false;
        give(&mut entries, &written, writer);
    }
    let updates = entries
        .iter()
        .filter(|entry| text(entry, "operation") == "Update");
    if updates.count() > UPDATERS {
        let mut entries: Vec<_> = entries.iter().filter_map(Entry::read).collect();
        cap(&mut entries);
        write(after, &entries);
    } else if !entries.is_empty() {
        entries.sort_by(|a, b| order(a).cmp(&order(b)));
        meta_mut(after).insert("managedFields".into(), entries.into());
    }
    same
}

/// Gives fields to a writer among stored entries.
fn give(entries: &mut Vec<Value>, written: &FieldSet, writer: &Writer<'_>) {
    let subresource = if writer.status { "status" } else { "" };
    let own = entries.iter_mut().find(|entry| {
        text(entry, "operation") == "Update"
            && text(entry, "manager") == writer.manager
            && text(entry, "subresource") == subresource
            && text(entry, "apiVersion") == writer.api_version()
    });
    if let Some(Value::Object(own)) = own {
        if let Some(Value::Object(fields)) = own.get_mut("fieldsV1") {
            written.add_to(fields);
        }
        own.insert("time".into(), now().into());
    } else {
        let mut entry = Entry::new(writer, false, written.clone());
        entry.time = Some(now());
        entries.push(entry.write());
    }
}

/// What stored entries are sorted by.
fn order(entry: &Value) -> impl Ord {
    (
        text(entry, "operation") != "Apply",
        entry["time"].as_str(),
        text(entry, "manager"),
        text(entry, "apiVersion"),
        text(entry, "subresource"),
    )
}

fn text<'a>(entry: &'a Value, field: &str) -> &'a str {
    entry[field].as_str().unwrap_or_default()
}

/// Takes the oldest updaters of a version as one, until there are not too many.
fn cap(entries: &mut Vec<Entry>) {
    if entries.iter().filter(|entry| !entry.apply).count() <= UPDATERS {
        return;
    }
    let mut updaters: Vec<_> = entries.iter().filter(|entry| !entry.apply).cloned().collect();
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
