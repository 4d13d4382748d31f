//! Server-side apply: merging what a manager declares, owning it, and letting go of what it no longer says.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::merge::combine::{check, merge, remove};
use crate::merge::compare::Comparison;
use crate::merge::fields::{FieldSet, Path};
use crate::merge::managed::{self, Comparisons, Entry, Writer};
use crate::merge::zero::zero;
use crate::refusal::status::Status;
use crate::schema::types::Cursor;
use crate::state::object::{Object, ObjectKey, meta_mut, now, object_mut};
use crate::state::store::Store;
use crate::state::target::Target;
use crate::write::admit::check_uid;
use crate::write::conflicts::{Conflict, conflict_status, display};
use crate::write::operation::WriteOptions;

/// The annotation in which `kubectl apply` on the client's side keeps what it applied last.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The manager that takes over from it.
const KUBECTL: &str = "kubectl";

impl Store {
    /// Applies a configuration; says whether the object was created.
    pub(crate) fn apply(
        &mut self,
        target: &Target,
        key: &ObjectKey,
        mut config: Value,
        options: &WriteOptions,
        force: bool,
    ) -> Result<(Arc<Object>, bool), Status> {
        let options = WriteOptions {
            apply: true,
            ..options.clone()
        };
        let writer = options.writer(target);
        let metadata = meta_mut(&mut config);
        if metadata
            .get("managedFields")
            .is_some_and(|fields| !fields.is_null())
        {
            return Err(Status::bad_request("metadata.managedFields must be nil"));
        }
        if let Some(old) = self.find(&target.kind, key) {
            check_uid(target, &old, &config)?;
            let live = target.thaw(&old);
            let mut merged = apply_to(&live, &config, &writer, force)?;
            restore_identity(&config, &mut merged);
            return Ok((self.replace(target, &old, merged, &options)?, false));
        }
        if options.status {
            return Err(target.not_found(&key.name));
        }
        if config["metadata"]["uid"].is_string() {
            let why = "uid mismatch: the provided object specified a uid, and no existing object was found";
            return Err(target.conflict(&key.name, why));
        }
        meta_mut(&mut config).remove("resourceVersion");
        let empty = if target.kind.builtin {
            zero(target.version.schema.cursor())
        } else {
            json!({})
        };
        let mut created = apply_to(&empty, &config, &writer, force)?;
        restore_identity(&config, &mut created);
        Ok((self.create(target, created, &options)?, true))
    }
}

/// The version that a configuration names is compared with the live one later on.
fn restore_identity(config: &Value, merged: &mut Value) {
    let version = config["metadata"]["resourceVersion"].as_str();
    if let Some(version) = version.filter(|version| !version.is_empty()) {
        meta_mut(merged).insert("resourceVersion".into(), version.into());
    }
}

fn apply_to(live: &Value, config: &Value, writer: &Writer<'_>, force: bool) -> Result<Value, Status> {
    let ty = writer.target.version.schema.cursor();
    check(ty, config).map_err(|why| unfit(config, writer.target, &why))?;
    let mut entries = managed::read(live);
    let mut live = Cow::Borrowed(live);
    meta_mut(live.to_mut()).remove("managedFields");
    if entries.is_empty() && live["metadata"]["uid"].is_string() {
        // What was there before the first apply belongs to whoever put it there.
        let empty = if writer.target.kind.builtin {
            zero(ty)
        } else {
            json!({})
        };
        let there = managed::strip(Comparison::of(ty, &empty, &live).written);
        let before = Writer {
            manager: "before-first-apply",
            ..*writer
        };
        let mut entry = Entry::new(&before, false, there);
        entry.time = Some(now());
        entries.push(entry);
    }
    let applied = Apply {
        writer,
        ty,
        live: &live,
        config,
    };
    match applied.run(entries.clone(), force) {
        Err(conflicts) if writer.manager == KUBECTL && !force => {
            let own = last_applied(&live, ty, writer);
            let left: Vec<_> = conflicts
                .into_iter()
                .filter(|(path, _)| !own.contains(path))
                .collect();
            if left.is_empty() {
                applied
                    .run(entries, true)
                    .map_err(|conflicts| conflict_status(&conflicts))
            } else {
                Err(conflict_status(&left))
            }
        }
        done => done.map_err(|conflicts| conflict_status(&conflicts)),
    }
    .map(|merged| renew_last_applied(merged, config, writer))
}

struct Apply<'a> {
    writer: &'a Writer<'a>,
    ty: Cursor<'a>,
    live: &'a Value,
    config: &'a Value,
}

impl Apply<'_> {
    fn run(&self, mut entries: Vec<Entry>, force: bool) -> Result<Value, Vec<Conflict>> {
        let Self { writer, ty, .. } = *self;
        let is_own = |entry: &Entry| entry.apply && writer.owns(entry);
        let last = entries.iter().find(|entry| is_own(entry)).cloned();
        let wanted = FieldSet::of(ty, self.config).without(&writer.out_of_reach());
        let mut own = Entry::new(writer, true, wanted);
        own.time = last.as_ref().and_then(|last| last.time.clone());
        entries.retain(|entry| !is_own(entry));
        entries.push(own);
        let merged = merge(ty, Some(self.live), Some(self.config)).unwrap_or_default();
        let merged = match last {
            Some(last) => self.prune(merged, &last, &entries),
            None => merged,
        };
        let mut comparisons = Comparisons::new(*writer, self.live, &merged);
        let mut conflicts = Vec::new();
        entries.retain_mut(|entry| {
            if is_own(entry) {
                entry.fields = managed::strip(std::mem::take(&mut entry.fields));
                return true;
            }
            let Some(changed) = comparisons.of(&entry.api_version) else {
                return false;
            };
            let taken = entry.fields.intersection(&changed.written);
            let owner: Arc<str> = display(entry).into();
            conflicts.extend(taken.paths().into_iter().map(|path| (path, Arc::clone(&owner))));
            entry.fields.subtract(&taken);
            entry.fields.subtract(&changed.removed);
            true
        });
        if !force && !conflicts.is_empty() {
            return Err(conflicts);
        }
        if merged != *self.live
            && let Some(own) = entries.iter_mut().find(|entry| is_own(entry))
        {
            own.time = Some(now());
        }
        let mut merged = merged;
        managed::write(&mut merged, &entries);
        Ok(merged)
    }

    /// Takes out what this manager said last time, says no longer, and nobody else owns.
    fn prune(&self, merged: Value, last: &Entry, entries: &[Entry]) -> Value {
        let version = self.writer.target.kind.by_api_version(&last.api_version);
        let Some(version) = version.filter(|_| !last.fields.is_empty()) else {
            return merged;
        };
        let ty = version.schema.cursor();
        let said = last.fields.named(Some(ty));
        let Some(pruned) = remove(ty, &merged, &said) else {
            return merged;
        };
        let mut owned = FieldSet::default();
        for entry in entries {
            owned.union(&entry.fields);
        }
        let fields_of = |value: &Value| FieldSet::of(ty, value).named(Some(ty));
        let mut kept = fields_of(&pruned);
        kept.union(&owned.named(Some(ty)));
        // What an owned field lies in stays as well; what nobody has ever said here stays too.
        let all = fields_of(&merged);
        let with_owned = remove(ty, &merged, &all.difference(&kept)).unwrap_or_default();
        let gone = all.difference(&fields_of(&with_owned)).intersection(&said);
        remove(ty, &merged, &gone).unwrap_or_default()
    }
}

/// Refuses a configuration of another kind than that of its path, without a kind, or unfit for its schema.
pub(crate) fn check_config(target: &Target, config: &Value) -> Result<(), Status> {
    let text = |field: &str| config[field].as_str().unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if api_version == target.version.api_version && kind == target.kind.kind {
        return check(target.version.schema.cursor(), config).map_err(|why| unfit(config, target, &why));
    }
    let why = format!("invalid object type: {}, Kind={kind}", slashed(api_version));
    Err(Status::bad_request(why))
}

/// A version of the core group as Go prints it.
fn slashed(api_version: &str) -> String {
    let slash = if api_version.contains('/') { "" } else { "/" };
    format!("{slash}{api_version}")
}

fn unfit(config: &Value, target: &Target, why: &str) -> Status {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (namespace, name) = (
        text(&config["metadata"]["namespace"]),
        text(&config["metadata"]["name"]),
    );
    let (api_version, kind) = (&target.version.api_version, &target.kind.kind);
    let api_version = slashed(api_version);
    let message = format!(
        "failed to create typed patch object ({namespace}/{name}; {api_version}, Kind={kind}): {why}"
    );
    // A real server gives no reason here.
    Status::new(500, "", message)
}

/// The fields of the last client-side apply that are still as it left them.
fn last_applied(live: &Value, ty: Cursor<'_>, writer: &Writer<'_>) -> BTreeSet<Path> {
    let annotation = live["metadata"]["annotations"][LAST_APPLIED].as_str();
    let config: Option<Value> = annotation.and_then(|text| serde_json::from_str(text).ok());
    let Some(config) = config.filter(|config| config["apiVersion"] == *writer.target.version.api_version)
    else {
        return BTreeSet::new();
    };
    let differences = Comparison::of(ty, &config, live);
    let same = FieldSet::of(ty, &config)
        .difference(&differences.written)
        .difference(&differences.removed);
    same.paths().into_iter().collect()
}

/// Keeps the annotation of a client-side apply in step where kubectl has turned to the server's.
fn renew_last_applied(mut merged: Value, config: &Value, writer: &Writer<'_>) -> Value {
    let known = merged["metadata"]["annotations"][LAST_APPLIED].as_str();
    if writer.manager != KUBECTL || known.is_none_or(str::is_empty) {
        return merged;
    }
    let mut config = config.clone();
    if let Some(annotations) = meta_mut(&mut config).get_mut("annotations") {
        object_mut(annotations).remove(LAST_APPLIED);
    }
    merged["metadata"]["annotations"][LAST_APPLIED] = format!("{config}\n").into();
    merged
}
