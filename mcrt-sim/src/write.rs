//! Creating, replacing and deleting objects: what the server fills in, keeps and refuses.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::kinds::{Kind, Version};
use crate::lifecycle::{self, Work};
use crate::managed::{self, Writer};
use crate::object::{Object, ObjectKey, field_mut, meta_mut, name_suffix, new_uid, now, object_mut};
use crate::secret;
use crate::status::Status;
use crate::store::Store;

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
            api_version: &target.version.api_version,
            builtin: target.kind.builtin,
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
    /// Checks the type and place of a body against the path and completes both.
    pub(crate) fn admit(
        target: &Target,
        namespace: Option<&str>,
        name: Option<&str>,
        value: &mut Value,
    ) -> Result<(), Status> {
        let Some(fields) = value.as_object_mut() else {
            return Err(Status::bad_request(
                "the body of the request is not a JSON object",
            ));
        };
        for (field, expected) in [
            ("apiVersion", &target.version.api_version),
            ("kind", &target.kind.kind),
        ] {
            match fields
                .get(field)
                .and_then(Value::as_str)
                .filter(|given| !given.is_empty())
            {
                Some(given) if given != expected => {
                    return Err(Status::bad_request(format!(
                        "{field} in the object ({given}) does not match the expected {field} ({expected})"
                    )));
                }
                Some(_) => {}
                None if target.kind.builtin => {
                    fields.insert(field.into(), expected.clone().into());
                }
                None => return Err(Status::bad_request(format!("Object '{field}' is missing"))),
            }
        }
        let metadata = meta_mut(value);
        if let Some(name) = name {
            match metadata.get("name").and_then(Value::as_str) {
                Some(given) if given != name => {
                    return Err(Status::bad_request(format!(
                        "the name of the object ({given}) does not match the name on the URL ({name})"
                    )));
                }
                _ => metadata.insert("name".into(), name.into()),
            };
        }
        let Some(namespace) = namespace else {
            metadata.remove("namespace");
            return Ok(());
        };
        match metadata
            .get("namespace")
            .and_then(Value::as_str)
            .filter(|given| !given.is_empty())
        {
            Some(given) if given != namespace => Err(Status::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            )),
            _ => {
                metadata.insert("namespace".into(), namespace.into());
                Ok(())
            }
        }
    }

    pub(crate) fn create(
        &mut self,
        target: &Target,
        mut value: Value,
        options: &WriteOptions,
    ) -> Result<Arc<Object>, Status> {
        let name = choose_name(target, &mut value)?;
        let namespace = value["metadata"]["namespace"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        self.check_namespace(target, &namespace, &name)?;
        if value["metadata"]["resourceVersion"]
            .as_str()
            .is_some_and(|version| !version.is_empty())
        {
            return Err(Status::bad_request(
                "resourceVersion should not be set on objects to be created",
            ));
        }
        let key = ObjectKey::new(&namespace, &name);
        if self.find(&target.kind, &key).is_some() {
            return Err(Status::already_exists(
                &target.kind.group,
                &target.kind.plural,
                &name,
            ));
        }
        prepare_new(target, &mut value);
        if !options.apply {
            meta_mut(&mut value).remove("managedFields");
            managed::record_update(None, &mut value, &options.writer(target));
        }
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
                let cause =
                    json!({"reason": "NamespaceTerminating", "message": why, "field": "metadata.namespace"});
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
        check_preconditions(target, old, &value)?;
        let before = target.thaw(old);
        keep_server_fields(target, &before, &mut value, options);
        normalise(target, &mut value);
        if old.deleting && adds_finalizers(&before, &value) {
            let why = "Forbidden: no new finalizers can be added if the object is being deleted";
            return Err(target.invalid(name, "metadata.finalizers", why));
        }
        if same_content(&before, &value, options.apply) {
            return Ok(Arc::clone(old));
        }
        if !options.apply {
            managed::record_update(Some(&before), &mut value, &options.writer(target));
        }
        if target.kind.generation && !options.status && desired_differs(target, &before, &value) {
            let generation = before["metadata"]["generation"].as_u64().unwrap_or_default() + 1;
            meta_mut(&mut value).insert("generation".into(), generation.into());
        }
        if options.dry_run {
            return Ok(Arc::new(Object::freeze(value, old.version)));
        }
        if old.deleting && !is_held(target, &value) {
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
            return Err(target.forbidden(&key.name, "this namespace may not be deleted"));
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
        if !is_held(target, &value) {
            let last = self.remove(&target.kind, old, None);
            self.work
                .push_back(Work::Removed(Arc::clone(&target.kind.id), last));
            return;
        }
        if !old.deleting {
            let generation = value["metadata"]["generation"].as_u64();
            let metadata = meta_mut(&mut value);
            metadata.insert("deletionTimestamp".into(), now().into());
            metadata.insert("deletionGracePeriodSeconds".into(), 0.into());
            if let Some(generation) = generation {
                metadata.insert("generation".into(), (generation + 1).into());
            }
            self.put(&target.kind, Some(Arc::clone(old)), value);
        }
        self.work.push_back(Work::Clean(old.uid.clone()));
    }
}

fn choose_name(target: &Target, value: &mut Value) -> Result<String, Status> {
    let metadata = meta_mut(value);
    let text = |field: &str| {
        metadata
            .get(field)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
    };
    let name = match (text("name"), text("generateName")) {
        (Some(name), _) => name.to_owned(),
        (None, Some(prefix)) => format!("{prefix}{}", name_suffix()),
        (None, None) => {
            return Err(target.invalid(
                "",
                "metadata.name",
                "Required value: name or generateName is required",
            ));
        }
    };
    // RBAC names are path segments; all others are at most subdomains.
    let loose = target.kind.group == "rbac.authorization.k8s.io";
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
    let valid = if loose {
        !name.contains(['/', '%'])
    } else {
        name.bytes().all(letter)
    };
    if !valid || name.len() > 253 || (!loose && name.starts_with(['-', '.'])) || name.ends_with('/') {
        let why = "Invalid value: a lowercase RFC 1123 subdomain is required";
        return Err(target.invalid(&name, "metadata.name", why));
    }
    metadata.insert("name".into(), name.clone().into());
    Ok(name)
}

fn prepare_new(target: &Target, value: &mut Value) {
    let metadata = meta_mut(value);
    for field in [
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
        "generation",
    ] {
        metadata.remove(field);
    }
    metadata.insert("uid".into(), new_uid().into());
    metadata.insert("creationTimestamp".into(), now().into());
    if target.kind.generation {
        metadata.insert("generation".into(), 1.into());
    }
    if target.version.status {
        object_mut(value).remove("status");
    }
    normalise(target, value);
    default_new(target, value);
}

/// Defaults that other parts of a cluster rely on.
fn default_new(target: &Target, value: &mut Value) {
    match &*target.kind.id {
        "namespaces" => {
            let name = value["metadata"]["name"].clone();
            let labels = object_mut(field_mut(field_mut(value, "metadata"), "labels"));
            labels.insert("kubernetes.io/metadata.name".into(), name);
            object_mut(value).insert("spec".into(), json!({"finalizers": ["kubernetes"]}));
            object_mut(value).insert("status".into(), json!({"phase": "Active"}));
        }
        "secrets" => {
            object_mut(value).entry("type").or_insert_with(|| "Opaque".into());
        }
        _ if target.kind.is_crd() => {
            let status = lifecycle::established(value);
            object_mut(value).insert("status".into(), status);
        }
        _ => {}
    }
}

/// Brings an object into the form in which it is stored.
fn normalise(target: &Target, value: &mut Value) {
    if &*target.kind.id == "secrets" {
        secret::fold_string_data(value);
    }
    let metadata = meta_mut(value);
    for field in ["labels", "annotations"] {
        if metadata
            .get(field)
            .is_some_and(|map| map.as_object().is_none_or(serde_json::Map::is_empty))
        {
            metadata.remove(field);
        }
    }
    for field in ["finalizers", "ownerReferences"] {
        if metadata
            .get(field)
            .is_some_and(|list| list.as_array().is_none_or(Vec::is_empty))
        {
            metadata.remove(field);
        }
    }
    if metadata.get("creationTimestamp") == Some(&Value::Null) {
        metadata.remove("creationTimestamp");
    }
}

fn check_preconditions(target: &Target, old: &Object, value: &Value) -> Result<(), Status> {
    let metadata = &value["metadata"];
    let given = metadata["resourceVersion"]
        .as_str()
        .filter(|version| !version.is_empty());
    if given.is_some_and(|given| *given != old.version.to_string()) {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        return Err(target.conflict(&old.key.name, why));
    }
    if let Some(uid) = metadata["uid"]
        .as_str()
        .filter(|uid| !uid.is_empty() && *uid != &*old.uid)
    {
        let why = format!(
            "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
            old.uid
        );
        return Err(target.conflict(&old.key.name, &why));
    }
    Ok(())
}

/// Puts back what a client cannot change: identity, lifecycle, and the half it did not address.
fn keep_server_fields(target: &Target, before: &Value, value: &mut Value, options: &WriteOptions) {
    if options.status {
        let status = value.get("status").cloned();
        let managed = value["metadata"].get("managedFields").cloned();
        *value = before.clone();
        match status {
            Some(status) => object_mut(value).insert("status".into(), status),
            None => object_mut(value).remove("status"),
        };
        if let (true, Some(managed)) = (options.apply, managed) {
            meta_mut(value).insert("managedFields".into(), managed);
        }
        return;
    }
    if target.version.status {
        match before.get("status") {
            Some(status) => object_mut(value).insert("status".into(), status.clone()),
            None => object_mut(value).remove("status"),
        };
    }
    const KEPT: [&str; 9] = [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "generateName",
        "resourceVersion",
    ];
    let reset = value["metadata"]["managedFields"] == json!([{}]);
    let metadata = meta_mut(value);
    let kept = KEPT
        .iter()
        .copied()
        .chain((!options.apply && !reset).then_some("managedFields"));
    for field in kept {
        match before["metadata"].get(field) {
            Some(known) => metadata.insert(field.into(), known.clone()),
            None => metadata.remove(field),
        };
    }
    if reset {
        metadata.remove("managedFields");
    }
    metadata.remove("selfLink");
}

/// Whether two versions differ in nothing that makes a write. An apply that changes owners only is a write.
fn same_content(before: &Value, after: &Value, applied: bool) -> bool {
    if applied {
        return before == after;
    }
    let stripped = |value: &Value| {
        let mut value = value.clone();
        meta_mut(&mut value).remove("managedFields");
        value
    };
    before == after || stripped(before) == stripped(after)
}

/// Whether anything but metadata and, where it is a part of its own, status differs.
fn desired_differs(target: &Target, before: &Value, after: &Value) -> bool {
    let desired = |value: &Value| {
        let mut value = value.clone();
        let fields = object_mut(&mut value);
        fields.remove("metadata");
        if target.version.status || target.kind.builtin {
            fields.remove("status");
        }
        value
    };
    desired(before) != desired(after)
}

pub(crate) fn finalizers(value: &Value) -> impl Iterator<Item = &str> {
    value["metadata"]["finalizers"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

/// Whether anything keeps a deleted object from going.
pub(crate) fn is_held(target: &Target, value: &Value) -> bool {
    let content = value["spec"]["finalizers"].as_array();
    finalizers(value).next().is_some()
        || (target.kind.is_namespace() && content.is_some_and(|content| !content.is_empty()))
}

fn adds_finalizers(before: &Value, after: &Value) -> bool {
    finalizers(after).any(|new| finalizers(before).all(|known| known != new))
}
