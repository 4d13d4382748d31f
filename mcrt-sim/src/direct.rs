//! Direct access to a server's objects, for tests: no hook, no token, nothing counted.

use std::sync::Arc;

use serde_json::Value;

use crate::refusal::status::Status;
use crate::server::Server;
use crate::state::object::{Object, ObjectKey, add_type};
use crate::state::store::Store;
use crate::state::target::Target;
use crate::write::admit::admit;
use crate::write::delete::DeleteOptions;
use crate::write::operation::WriteOptions;
use crate::write::patch::PatchType;

/// # Errors
///
/// All of these fail with the [`Status`] that a client would get: of a kind that is not served, of an object that is
/// not there, or that breaks the rules of its kind.
impl Server {
    /// Creates an object, in namespace `default` if it names none.
    pub fn create(&self, object: Value) -> Result<Value, Status> {
        self.write(object, |store, target, _, object| {
            store.create_in_place(target, object, &WriteOptions::by(DIRECT))
        })
    }

    /// Replaces an object; a resource version in it has to be the current one.
    pub fn replace(&self, object: Value) -> Result<Value, Status> {
        self.write(object, |store, target, key, object| {
            let old = store
                .find(&target.kind, key)
                .ok_or_else(|| target.not_found(&key.name))?;
            store.replace_in_place(target, &old, object, &WriteOptions::by(DIRECT))
        })
    }

    /// Replaces the status of an object.
    pub fn replace_status(&self, object: Value) -> Result<Value, Status> {
        self.write(object, |store, target, key, object| {
            let old = store
                .find(&target.kind, key)
                .ok_or_else(|| target.not_found(&key.name))?;
            let options = WriteOptions {
                status: target.version.status,
                ..WriteOptions::by(DIRECT)
            };
            store.replace_in_place(target, &old, object, &options)
        })
    }

    /// Applies an object for a field manager, taking fields from others where they conflict.
    pub fn apply(&self, manager: &str, object: Value) -> Result<Value, Status> {
        self.write(object, |store, target, key, object| {
            store
                .apply(target, key, object.take(), &WriteOptions::by(manager), true)
                .map(|(object, _)| object)
        })
    }

    /// Merges a change into an object (RFC 7386); the change names the object by type, namespace and name.
    pub fn merge(&self, change: Value) -> Result<Value, Status> {
        self.write(change, |store, target, key, change| {
            store.patch(
                target,
                key,
                PatchType::Merge,
                &change.take(),
                &WriteOptions::by(DIRECT),
            )
        })
    }

    /// Reads an object; the namespace is ignored for cluster-scoped kinds.
    pub fn get(
        &self,
        api_version: &str,
        kind: &str,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Value, Status> {
        let store = self.0.store();
        let target = find_target(&store, api_version, kind)?;
        let key = key(&target, namespace, name);
        let found = store
            .find(&target.kind, &key)
            .ok_or_else(|| target.not_found(name))?;
        Ok(target.thaw(&found))
    }

    /// Reads the objects of a kind, in one namespace or in all, sorted by namespace and name.
    pub fn list(&self, api_version: &str, kind: &str, namespace: Option<&str>) -> Result<Vec<Value>, Status> {
        let store = self.0.store();
        let target = find_target(&store, api_version, kind)?;
        let objects = store.in_namespace(&target.kind.id, namespace);
        Ok(objects.iter().map(|object| target.thaw(object)).collect())
    }

    /// Deletes an object; finalizers hold it as they do for any client.
    pub fn delete(
        &self,
        api_version: &str,
        kind: &str,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<(), Status> {
        let mut store = self.0.store();
        let target = find_target(&store, api_version, kind)?;
        let key = key(&target, namespace, name);
        store.delete(&target, &key, &DeleteOptions::default())?;
        store.settle();
        Ok(())
    }

    /// Does at once what the cluster's controllers do a moment later: garbage collection, the end of namespaces.
    ///
    /// Requests leave that to a task; the direct operations here do it before they return.
    pub fn settle(&self) {
        self.0.store().settle();
    }

    fn write(
        &self,
        mut object: Value,
        write: impl FnOnce(&mut Store, &Target, &ObjectKey, &mut Value) -> Result<Arc<Object>, Status>,
    ) -> Result<Value, Status> {
        let mut store = self.0.store();
        let text = |field: &str| object[field].as_str().unwrap_or_default();
        let target = find_target(&store, text("apiVersion"), text("kind"))?;
        let metadata = |field: &str| object["metadata"][field].as_str().filter(|text| !text.is_empty());
        let key = key(
            &target,
            metadata("namespace"),
            metadata("name").unwrap_or_default(),
        );
        let namespace = key.namespace.to_string();
        let namespace = target.kind.namespaced.then_some(namespace.as_str());
        admit(&target, namespace, None, &mut object)?;
        let written = write(&mut store, &target, &key, &mut object)?;
        store.settle();
        if object.is_null() {
            return Ok(target.thaw(&written));
        }
        add_type(&mut object, &target.kind.kind, &target.version);
        Ok(object)
    }
}

/// The field manager of direct writes.
const DIRECT: &str = "mcrt-sim";

fn find_target(store: &Store, api_version: &str, kind: &str) -> Result<Target, Status> {
    let found = store.registry.by_type(api_version, kind);
    let (kind, version) = found.ok_or_else(|| {
        Status::new(
            404,
            "NotFound",
            format!("no matches for kind \"{kind}\" in version \"{api_version}\""),
        )
    })?;
    Ok(Target {
        kind: Arc::clone(kind),
        version: Arc::clone(version),
    })
}

fn key(target: &Target, namespace: Option<&str>, name: &str) -> ObjectKey {
    let namespace = if target.kind.namespaced {
        namespace.unwrap_or("default")
    } else {
        ""
    };
    ObjectKey::new(namespace, name)
}
