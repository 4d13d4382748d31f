//! Deleting: preconditions, marking, and removal once nothing holds an object.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::api::status::Status;
use crate::state::object::{Object, ObjectKey, field_mut, meta_mut, now, object_mut};
use crate::state::store::Store;
use crate::write::admit;
use crate::write::gc;
use crate::write::operation::Target;

/// What a delete asks for.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) uid: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) propagation: Propagation,
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
            let value = self.marked(target, &old, options.propagation);
            return Ok(if admit::is_held(target, &value) {
                Deleted::Pending(Arc::new(Object::freeze(value, old.version)))
            } else {
                Deleted::Gone(old)
            });
        }
        Ok(self.mark_deleted(target, &old, options.propagation))
    }

    /// Marks an object as deleted; removes it at once if nothing holds it. What follows from it is left to the
    /// cluster's controllers.
    pub(crate) fn mark_deleted(
        &mut self,
        target: &Target,
        old: &Arc<Object>,
        propagation: Propagation,
    ) -> Deleted {
        let value = self.marked(target, old, propagation);
        if !admit::is_held(target, &value) {
            return Deleted::Gone(self.remove(&target.kind, old, None));
        }
        if value == target.thaw(old) {
            return Deleted::Pending(Arc::clone(old));
        }
        Deleted::Pending(self.put(&target.kind, Some(Arc::clone(old)), value))
    }

    /// What an object looks like once it is deleted.
    fn marked(&self, target: &Target, old: &Object, propagation: Propagation) -> Value {
        let mut value = target.thaw(old);
        let known: Vec<_> = admit::finalizers(&value).collect();
        let mut finalizers = gc::with_propagation(&known, propagation);
        if target.kind.is_crd() {
            self.hold_for_objects(&old.key.name, &mut finalizers);
        }
        let metadata = meta_mut(&mut value);
        if finalizers.is_empty() {
            metadata.remove("finalizers");
        } else {
            metadata.insert("finalizers".into(), finalizers.into());
        }
        if old.deleting {
            return value;
        }
        metadata.insert("deletionTimestamp".into(), now().into());
        if target.kind.is_namespace() {
            object_mut(field_mut(&mut value, "status")).insert("phase".into(), "Terminating".into());
            return value;
        }
        metadata.insert("deletionGracePeriodSeconds".into(), 0.into());
        if let Some(generation) = metadata.get("generation").and_then(Value::as_u64) {
            metadata.insert("generation".into(), (generation + 1).into());
        }
        value
    }
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
