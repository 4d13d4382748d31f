//! Creating and replacing objects.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::merge::managed::{self, Writer};
use crate::merge::update;
use crate::refusal::status::Status;
use crate::state::object::{Object, ObjectKey, meta_mut};
use crate::state::store::Store;
use crate::state::target::Target;
use crate::write::admit;
use crate::write::conform;
use crate::write::crd_status;
use crate::write::prepare;
use crate::write::validate;
use crate::write::warnings::Warnings;

/// Who writes, to which part, and whether for real.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct WriteOptions {
    pub(crate) manager: String,
    pub(crate) dry_run: bool,
    /// Whether the write goes to the status subresource.
    pub(crate) status: bool,
    /// Whether the value is the result of a server-side apply, which has recorded its owners already.
    pub(crate) apply: bool,
    /// Whether the value is the result of a patch.
    pub(crate) patch: bool,
    pub(crate) unknown: Unknown,
    pub(crate) warnings: Warnings,
}

/// What becomes of fields that the schema does not know; none of them is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Unknown {
    Ignore,
    Warn,
    Refuse,
}

impl WriteOptions {
    pub(crate) fn by(manager: &str) -> Self {
        Self {
            manager: manager.to_owned(),
            dry_run: false,
            status: false,
            apply: false,
            patch: false,
            unknown: Unknown::Ignore,
            warnings: Warnings::default(),
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

impl Store {
    pub(crate) fn create(
        &mut self,
        target: &Target,
        mut value: Value,
        options: &WriteOptions,
    ) -> Result<Arc<Object>, Status> {
        self.create_in_place(target, &mut value, options)
    }

    /// Creates an object and leaves in the value its content, or null where that takes more than it saves.
    pub(crate) fn create_in_place(
        &mut self,
        target: &Target,
        value: &mut Value,
        options: &WriteOptions,
    ) -> Result<Arc<Object>, Status> {
        conform::check_fields(target, value, options)?;
        let name = admit::choose_name(value);
        let namespace = value["metadata"]["namespace"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        self.check_namespace(target, &namespace, &name)?;
        validate::check_new(target, value)?;
        if target.kind.is_crd() {
            admit::check_crd_name(target, value, &name)?;
        }
        if value["metadata"]["resourceVersion"]
            .as_str()
            .is_some_and(|version| !version.is_empty())
        {
            // A real server answers 500 here, without a reason.
            let why = "resourceVersion should not be set on objects to be created";
            return Err(Status::new(500, "", why));
        }
        let key = ObjectKey::new(&namespace, &name);
        if let Some(there) = self.find(&target.kind, &key) {
            let exists = Status::already_exists(&target.kind.group, &target.kind.plural, &name);
            return Err(if there.deleting {
                exists.with_prefix("object is being deleted: ")
            } else {
                exists
            });
        }
        prepare::prepare_new(target, value);
        conform::check(target, None, value, false)?;
        if !options.apply {
            update::record_update(None, value, &options.writer(target));
        }
        prepare::complete_new(target, value);
        if target.kind.is_crd() {
            crd_status::settle(&self.registry, value);
        }
        target.check_depth(value)?;
        if options.dry_run {
            return Ok(Arc::new(Object::freeze_in_place(value, 0)));
        }
        let object = self.put_in_place(&target.kind, None, value);
        if target.kind.is_crd() {
            self.registry.serve_crd(&target.thaw(&object));
        }
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
        self.replace_in_place(target, old, &mut value, options)
    }

    /// Replaces an object and leaves in the value its content, or null where that takes more than it saves.
    pub(crate) fn replace_in_place(
        &mut self,
        target: &Target,
        old: &Arc<Object>,
        value: &mut Value,
        options: &WriteOptions,
    ) -> Result<Arc<Object>, Status> {
        conform::check_fields(target, value, options)?;
        admit::check_preconditions(target, old, value)?;
        let mut before = target.thaw(old);
        prepare::keep_server_fields(target, &before, value, options);
        prepare::normalise(target, value);
        self.mark(value);
        validate::check_change(target, &before, value)?;
        conform::check(target, Some(&before), value, options.status)?;
        if target.kind.is_crd() && !options.status {
            crd_status::settle(&self.registry, value);
        }
        let same_owners = if options.apply {
            managed::same_owners(&before, value)
        } else {
            update::record_update(Some(&mut before), value, &options.writer(target))
        };
        target.check_depth(value)?;
        if same_owners && prepare::same_content(&before, value) {
            *value = Value::Null;
            return Ok(Arc::clone(old));
        }
        if target.kind.generation && !options.status && prepare::desired_differs(target, &before, value) {
            let generation = before["metadata"]["generation"].as_u64().unwrap_or_default() + 1;
            meta_mut(value).insert("generation".into(), generation.into());
        }
        if options.dry_run {
            return Ok(Arc::new(Object::freeze_in_place(value, old.version)));
        }
        if old.deleting && !admit::is_held(target, value) {
            return Ok(self.remove(&target.kind, old, Some(value.take())));
        }
        let object = self.put_in_place(&target.kind, Some(Arc::clone(old)), value);
        if target.kind.is_crd() {
            self.registry.serve_crd(&target.thaw(&object));
        }
        Ok(object)
    }
}
