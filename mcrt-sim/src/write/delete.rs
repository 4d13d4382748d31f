//! Deleting: preconditions, marking, and removal once nothing holds an object.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::refusal::status::Status;
use crate::state::object::{Object, ObjectKey, after, field_mut, meta_mut, object_mut};
use crate::state::store::Store;
use crate::state::target::Target;
use crate::write::admit;
use crate::write::gc;

/// What a delete asks for.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) uid: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) propagation: Propagation,
    /// Seconds that a pod gets to end; nothing for its own choice.
    pub(crate) grace: Option<i64>,
    pub(crate) dry_run: bool,
}

/// What happens to the dependents of a deleted object.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Propagation {
    /// As an earlier deletion of the object said, else in the background.
    #[default]
    Unsaid,
    Background,
    Foreground,
    Orphan,
}

/// What a delete has done.
pub(crate) enum Deleted {
    Gone(Arc<Object>),
    /// Finalizers hold the object.
    Pending(Arc<Object>),
}

impl Store {
    pub(crate) fn delete(
        &mut self,
        target: &Target,
        key: &ObjectKey,
        options: &DeleteOptions,
    ) -> Result<Deleted, Status> {
        let old = self
            .find(&target.kind, key)
            .ok_or_else(|| target.not_found(&key.name))?;
        check_preconditions(target, &old, options)?;
        if target.kind.is_namespace() && matches!(&*key.name, "default" | "kube-system" | "kube-public") {
            let details = json!({"name": &*key.name, "kind": target.kind.plural});
            return Err(target
                .forbidden(&key.name, "this namespace may not be deleted")
                .with_details(details));
        }
        if options.dry_run {
            let value = self.marked(target, &old, options);
            return Ok(if admit::is_held(target, &value) {
                Deleted::Pending(Arc::new(Object::freeze(value, old.version)))
            } else {
                Deleted::Gone(old)
            });
        }
        Ok(self.mark_as(target, &old, options))
    }

    /// Marks an object as deleted; removes it at once if nothing holds it. What follows from it is left to the
    /// cluster's controllers.
    pub(crate) fn mark_deleted(
        &mut self,
        target: &Target,
        old: &Arc<Object>,
        propagation: Propagation,
    ) -> Deleted {
        let options = DeleteOptions {
            propagation,
            ..DeleteOptions::default()
        };
        self.mark_as(target, old, &options)
    }

    fn mark_as(&mut self, target: &Target, old: &Arc<Object>, options: &DeleteOptions) -> Deleted {
        let value = self.marked(target, old, options);
        if !admit::is_held(target, &value) {
            return Deleted::Gone(self.remove(&target.kind, old, None));
        }
        if value == target.thaw(old) {
            return Deleted::Pending(Arc::clone(old));
        }
        Deleted::Pending(self.put(&target.kind, Some(Arc::clone(old)), value))
    }

    /// What an object looks like once it is deleted.
    fn marked(&self, target: &Target, old: &Object, options: &DeleteOptions) -> Value {
        let mut value = target.thaw(old);
        let known: Vec<_> = admit::finalizers(&value).collect();
        let mut finalizers = gc::with_propagation(&known, options.propagation);
        let grace = grace(target, &value, options.grace);
        if target.kind.is_crd() {
            self.hold_for_objects(&old.key.name, &mut finalizers);
        }
        let metadata = meta_mut(&mut value);
        if finalizers.is_empty() {
            metadata.remove("finalizers");
        } else {
            metadata.insert("finalizers".into(), finalizers.into());
        }
        let given = metadata.get("deletionGracePeriodSeconds").and_then(Value::as_i64);
        if old.deleting {
            // A second delete may shorten the time of the first.
            if let Some(grace) = grace.filter(|grace| given.is_some_and(|given| *grace < given)) {
                metadata.insert("deletionTimestamp".into(), after(grace).into());
                metadata.insert("deletionGracePeriodSeconds".into(), grace.into());
            }
            return value;
        }
        let grace = grace.unwrap_or_default();
        metadata.insert("deletionTimestamp".into(), after(grace).into());
        if target.kind.is_namespace() {
            object_mut(field_mut(&mut value, "status")).insert("phase".into(), "Terminating".into());
            return value;
        }
        metadata.insert("deletionGracePeriodSeconds".into(), grace.into());
        if let Some(generation) = metadata.get("generation").and_then(Value::as_u64) {
            metadata.insert("generation".into(), (generation + 1).into());
        }
        value
    }
}

/// The seconds that a pod gets to end: none where nothing runs it. Nothing if that is the server's choice and was
/// made before.
fn grace(target: &Target, pod: &Value, asked: Option<i64>) -> Option<i64> {
    if &*target.kind.id != "pods" {
        return None;
    }
    let placed = pod["spec"]["nodeName"]
        .as_str()
        .is_some_and(|node| !node.is_empty());
    let ended = matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    if !placed || ended {
        return Some(0);
    }
    let first = pod["metadata"]["deletionTimestamp"].is_null();
    let own = || {
        pod["spec"]["terminationGracePeriodSeconds"]
            .as_i64()
            .unwrap_or(30)
    };
    let grace = asked.or_else(|| first.then(own))?;
    Some(if grace < 0 { 1 } else { grace })
}

/// The conflict names the kind where others name the resource; a real server does that, too.
fn check_preconditions(target: &Target, old: &Object, options: &DeleteOptions) -> Result<(), Status> {
    let conflict = |why: &str| Status::conflict(&target.kind.group, &target.kind.kind, &old.key.name, why);
    if let Some(uid) = options.uid.as_deref().filter(|uid| *uid != &*old.uid) {
        return Err(conflict(&format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have \
             been deleted and then recreated",
            old.uid
        )));
    }
    let current = old.version.to_string();
    if let Some(version) = options.version.as_deref().filter(|version| *version != current) {
        return Err(conflict(&format!(
            "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record \
             ({current}). The object might have been modified"
        )));
    }
    Ok(())
}
