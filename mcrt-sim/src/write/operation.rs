//! Creating, replacing and deleting objects.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::api::status::Status;
use crate::merge::managed::{self, Writer};
use crate::state::kinds::{Kind, Version};
use crate::state::object::{Object, ObjectKey, meta_mut, now};
use crate::state::store::Store;
use crate::write::admit;
use crate::write::lifecycle::Work;
use crate::write::prepare;

/// The resource a request is about, in one of its versions.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) kind: Arc<Kind>,
    pub(crate) version: Version,
}

impl Target {
    pub(crate) fn not_found(&self, name: &str) -> Status {
        Status::not_found(&self.kind.group, &self.kind.plural, name)
    }

    pub(crate) fn invalid(&self, name: &str, field: &str, why: &str) -> Status {
        Status::invalid(&self.kind.group, &self.kind.kind, name, field, why)
    }

    pub(crate) fn conflict(&self, name: &str, why: &str) -> Status {
        Status::conflict(&self.kind.group, &self.kind.plural, name, why)
    }

    fn forbidden(&self, name: &str, why: &str) -> Status {
        Status::forbidden(format!("{} \"{name}\" is forbidden: {why}", self.kind.id))
    }

    pub(crate) fn thaw(&self, object: &Object) -> Value {
        object.thaw(&self.kind.kind, &self.version)
    }
}

/// Who writes, to which part, and whether for real.
#[derive(Clone, Debug)]
pub(crate) struct WriteOptions {
    pub(crate) manager: String,
    pub(crate) dry_run: bool,
    /// Whether the write goes to the status subresource.
    pub(crate) status: bool,
    /// Whether the value is the result of a server-side apply, which has recorded its owners already.
    pub(crate) apply: bool,
}

impl WriteOptions {
    pub(crate) fn by(manager: &str) -> Self {
        Self {
            manager: manager.to_owned(),
            dry_run: false,
            status: false,
            apply: false,
        }
    }

    pub(crate) fn writer<'a>(&'a self, target: &'a Target) -> Writer<'a> {
        Writer {
            manager: &self.manager,
            target,
            status: self.status,
        }
    }
}

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
    #[default]
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
    pub(crate) fn create(
        &mut self,
        target: &Target,
        mut value: Value,
        options: &WriteOptions,
    ) -> Result<Arc<Object>, Status> {
        let name = admit::choose_name(target, &mut value)?;
        let namespace = value["metadata"]["namespace"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        self.check_namespace(target, &namespace, &name)?;
        if value["metadata"]["resourceVersion"]
            .as_str()
            .is_some_and(|version| !version.is_empty())
        {
            // A real server answers 500 here, without a reason.
            let why = "resourceVersion should not be set on objects to be created";
            return Err(Status::new(500, "", why));
        }
        let key = ObjectKey::new(&namespace, &name);
        if self.find(&target.kind, &key).is_some() {
            return Err(Status::already_exists(
                &target.kind.group,
                &target.kind.plural,
                &name,
            ));
        }
        prepare::prepare_new(target, &mut value);
        if !options.apply {
            managed::record_update(None, &mut value, &options.writer(target));
        }
        prepare::complete_new(target, &mut value);
        if options.dry_run {
            return Ok(Arc::new(Object::freeze(value, self.version)));
        }
        let object = self.put(&target.kind, None, value);
        self.settle_after(Work::Written(object.uid.clone()));
        Ok(object)
    }

    fn check_namespace(&self, target: &Target, namespace: &str, name: &str) -> Result<(), Status> {
        if !target.kind.namespaced {
            return Ok(());
        }
        let found = self
            .registry
            .by_id("namespaces")
            .and_then(|kind| self.find(kind, &ObjectKey::new("", namespace)));
        match found {
            None => Err(Status::not_found("", "namespaces", namespace)),
            Some(found) if found.deleting => {
                let why = format!(
                    "unable to create new content in namespace {namespace} because it is being terminated"
                );
                let message = format!("namespace {namespace} is being terminated");
                let cause = json!({"reason": "NamespaceTerminating", "message": message, "field": "metadata.namespace"});
                Err(target.forbidden(name, &why).with_details(json!({
                    "name": name, "group": target.kind.group, "kind": target.kind.plural, "causes": [cause],
                })))
            }
            Some(_) => Ok(()),
        }
    }

    /// Replaces an object by a value that was made from it or sent in full.
    pub(crate) fn replace(
        &mut self,
        target: &Target,
        old: &Arc<Object>,
        mut value: Value,
        options: &WriteOptions,
    ) -> Result<Arc<Object>, Status> {
        let name = &*old.key.name;
        admit::check_preconditions(target, old, &value)?;
        let before = target.thaw(old);
        prepare::keep_server_fields(target, &before, &mut value, options);
        prepare::normalise(target, &mut value);
        if old.deleting && admit::adds_finalizers(&before, &value) {
            let why = "Forbidden: no new finalizers can be added if the object is being deleted";
            return Err(target.invalid(name, "metadata.finalizers", why));
        }
        if !options.apply {
            managed::record_update(Some(&before), &mut value, &options.writer(target));
        }
        if prepare::same_content(&before, &value) {
            return Ok(Arc::clone(old));
        }
        if target.kind.generation && !options.status && prepare::desired_differs(target, &before, &value) {
            let generation = before["metadata"]["generation"].as_u64().unwrap_or_default() + 1;
            meta_mut(&mut value).insert("generation".into(), generation.into());
        }
        if options.dry_run {
            return Ok(Arc::new(Object::freeze(value, old.version)));
        }
        if old.deleting && !admit::is_held(target, &value) {
            let last = self.remove(&target.kind, old, Some(value));
            self.settle_after(Work::Removed(Arc::clone(&target.kind.id), Arc::clone(&last)));
            return Ok(last);
        }
        let object = self.put(&target.kind, Some(Arc::clone(old)), value);
        self.settle_after(Work::Written(object.uid.clone()));
        Ok(object)
    }

    pub(crate) fn delete(
        &mut self,
        target: &Target,
        key: &ObjectKey,
        options: &DeleteOptions,
    ) -> Result<Deleted, Status> {
        let old = self
            .find(&target.kind, key)
            .ok_or_else(|| target.not_found(&key.name))?;
        if options.uid.as_deref().is_some_and(|uid| uid != &*old.uid) {
            let why = "Precondition failed: UID in precondition does not match UID in object meta";
            return Err(target.conflict(&key.name, why));
        }
        if options
            .version
            .as_ref()
            .is_some_and(|version| *version != old.version.to_string())
        {
            let why = "Precondition failed: ResourceVersion in precondition does not match ResourceVersion in object meta";
            return Err(target.conflict(&key.name, why));
        }
        if target.kind.is_namespace() && matches!(&*key.name, "default" | "kube-system" | "kube-public") {
            let details = json!({"name": &*key.name, "kind": target.kind.plural});
            return Err(target
                .forbidden(&key.name, "this namespace may not be deleted")
                .with_details(details));
        }
        if options.dry_run {
            return Ok(Deleted::Gone(old));
        }
        self.mark_deleted(target, &old, options.propagation);
        self.settle();
        Ok(
            match self.find(&target.kind, key).filter(|now| now.uid == old.uid) {
                Some(held) => Deleted::Pending(held),
                None => Deleted::Gone(old),
            },
        )
    }

    /// Marks an object as deleted; removes it at once if nothing holds it. What follows from it is left to
    /// `settle`, so that a long chain of owners does not become a deep recursion.
    pub(crate) fn mark_deleted(&mut self, target: &Target, old: &Arc<Object>, propagation: Propagation) {
        if propagation == Propagation::Orphan {
            self.orphan_dependents(&old.uid);
        }
        let mut value = target.thaw(old);
        self.hold_for_cleanup(target, old, &mut value, propagation);
        if !admit::is_held(target, &value) {
            let last = self.remove(&target.kind, old, None);
            self.work
                .push_back(Work::Removed(Arc::clone(&target.kind.id), last));
            return;
        }
        if !old.deleting {
            let generation = value["metadata"]["generation"].as_u64();
            let metadata = meta_mut(&mut value);
            metadata.insert("deletionTimestamp".into(), now().into());
            if !target.kind.is_namespace() {
                metadata.insert("deletionGracePeriodSeconds".into(), 0.into());
            }
            if let Some(generation) = generation {
                metadata.insert("generation".into(), (generation + 1).into());
            }
            self.put(&target.kind, Some(Arc::clone(old)), value);
        }
        self.work.push_back(Work::Clean(old.uid.clone()));
    }
}
