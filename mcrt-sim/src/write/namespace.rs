//! Namespaces: what every one of them has, and how they end.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::refusal::status::Status;
use crate::state::object::{Object, ObjectKey, field_mut, meta_mut, new_uid, now, object_mut};
use crate::state::store::{ROOT_CA, Store};
use crate::state::target::Target;
use crate::state::work::Work;
use crate::write::admit::{check_preconditions, is_held};
use crate::write::conform;
use crate::write::delete::Propagation;
use crate::write::operation::WriteOptions;

const ROOT_CA_DATA: &str = "-----BEGIN CERTIFICATE-----\nc2ltdWxhdGVk\n-----END CERTIFICATE-----\n";
const ROOT_CA_USE: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such \
     as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of \
     Kubernetes clusters.";
/// How many objects of an ending namespace are deleted at once, before others get their turn.
const AT_ONCE: usize = 256;

impl Store {
    /// The namespaces that every cluster has; the UID of `kube-system` stands for the cluster.
    pub(crate) fn seed(&mut self, uid: &str) {
        self.seeded = true;
        let Some(target) = self.target("namespaces") else {
            return;
        };
        for name in ["default", "kube-system", "kube-public"] {
            let mut value = json!({
                "metadata": {
                    "name": name, "uid": new_uid(), "creationTimestamp": now(),
                    "labels": {"kubernetes.io/metadata.name": name},
                },
                "spec": {"finalizers": ["kubernetes"]},
                "status": {"phase": "Active"},
            });
            if name == "kube-system" {
                meta_mut(&mut value).insert("uid".into(), uid.into());
            }
            self.put(&target.kind, None, value);
        }
        self.settle();
    }

    /// Gives a namespace the certificate that pods trust the API server by, also after somebody deleted it.
    pub(crate) fn publish_root_ca(&mut self, namespace: &str) {
        let Some(target) = self.target("configmaps") else {
            return;
        };
        if self
            .find(&target.kind, &ObjectKey::new(namespace, ROOT_CA))
            .is_none()
        {
            let value = json!({
                "metadata": {
                    "name": ROOT_CA, "namespace": namespace,
                    "annotations": {"kubernetes.io/description": ROOT_CA_USE},
                },
                "data": {"ca.crt": ROOT_CA_DATA},
            });
            // It can only be refused where the namespace is gone or going, and then nobody misses it.
            let _ = self.create(&target, value, &WriteOptions::by("root-ca-cert-publisher"));
        }
    }

    /// Empties an ending namespace, says how far that is, and lets it go when it is empty.
    pub(crate) fn end_namespace(&mut self, target: &Target, namespace: &Arc<Object>) {
        let name = &*namespace.key.name;
        if self.delete_some(name) {
            self.work.push(Work::Held(namespace.uid.clone()));
            return;
        }
        let remaining = self.remaining(name);
        let before = target.thaw(namespace);
        let mut value = before.clone();
        report(&mut value, &remaining);
        let empty = remaining.kinds.is_empty();
        let told = if value == before {
            Arc::clone(namespace)
        } else {
            self.put(&target.kind, Some(Arc::clone(namespace)), value.clone())
        };
        if !empty {
            return;
        }
        if let Some(holds) = value["spec"]["finalizers"].as_array_mut() {
            holds.retain(|hold| hold != "kubernetes");
            if holds.is_empty() {
                object_mut(field_mut(&mut value, "spec")).remove("finalizers");
            }
        }
        if !is_held(target, &value) {
            self.remove(&target.kind, &told, Some(value));
        } else if value != target.thaw(&told) {
            self.put(&target.kind, Some(told), value);
        }
    }

    /// Replaces what holds a namespace, as only its subresource can; lets it go if that was the last.
    pub(crate) fn finalize_namespace(
        &mut self,
        target: &Target,
        old: &Arc<Object>,
        change: &Value,
        options: &WriteOptions,
    ) -> Result<Arc<Object>, Status> {
        check_preconditions(target, old, change)?;
        let before = target.thaw(old);
        let mut value = before.clone();
        let holds = change["spec"]["finalizers"]
            .as_array()
            .filter(|holds| !holds.is_empty());
        let spec = holds.map_or_else(|| json!({}), |holds| json!({"finalizers": holds}));
        object_mut(&mut value).insert("spec".into(), spec);
        conform::check_fields(target, &value, options)?;
        if options.dry_run {
            return Ok(Arc::new(Object::freeze(value, old.version)));
        }
        if old.deleting && !is_held(target, &value) {
            return Ok(self.remove(&target.kind, old, Some(value)));
        }
        if value == before {
            return Ok(Arc::clone(old));
        }
        Ok(self.put(&target.kind, Some(Arc::clone(old)), value))
    }

    /// Deletes a batch of a namespace's objects; says whether there were any left to delete.
    fn delete_some(&mut self, namespace: &str) -> bool {
        let kinds: Vec<_> = self.resources().map(|(id, _)| Arc::clone(id)).collect();
        let mut left = AT_ONCE;
        for kind in kinds {
            let Some(target) = self.target(&kind) else {
                continue;
            };
            let objects = self.in_namespace(&kind, Some(namespace));
            for object in objects.iter().filter(|object| !object.deleting).take(left) {
                self.mark_deleted(&target, object, Propagation::Background);
                left -= 1;
            }
        }
        left < AT_ONCE
    }

    fn remaining(&self, namespace: &str) -> Remaining {
        let mut remaining = Remaining::default();
        for (id, _) in self.resources() {
            // Objects of a kind that is no longer served cannot be reached and hold nothing.
            let Some(target) = self.target(id) else { continue };
            let objects = self.in_namespace(id, Some(namespace));
            if objects.is_empty() {
                continue;
            }
            let shown = format!("{}.{}", target.kind.plural, target.kind.group);
            remaining.kinds.insert(shown, objects.len());
            for object in objects {
                for finalizer in object.finalizers() {
                    *remaining.finalizers.entry(finalizer.to_owned()).or_default() += 1;
                }
            }
        }
        remaining
    }
}

/// What a new namespace is held by: what its maker asks for, and its content.
pub(crate) fn initial_spec(namespace: &Value) -> Value {
    let asked = namespace["spec"]["finalizers"].as_array().into_iter().flatten();
    let mut holds: Vec<_> = asked.filter(|hold| *hold != "kubernetes").cloned().collect();
    holds.push("kubernetes".into());
    json!({"finalizers": holds})
}

/// What is still in an ending namespace.
#[derive(Default)]
struct Remaining {
    kinds: BTreeMap<String, usize>,
    finalizers: BTreeMap<String, usize>,
}

/// Writes the conditions of an ending namespace; those that stay as they are keep their time.
fn report(namespace: &mut Value, remaining: &Remaining) {
    let content = listed(&remaining.kinds, |kind, count| {
        format!("{kind} has {count} resource instances")
    });
    let held = listed(&remaining.finalizers, |finalizer, count| {
        format!("{finalizer} in {count} resource instances")
    });
    let fine = |kind, reason, message: &str| (kind, "False", reason, message.to_owned());
    let conditions = [
        fine(
            "NamespaceDeletionDiscoveryFailure",
            "ResourcesDiscovered",
            "All resources successfully discovered",
        ),
        fine(
            "NamespaceDeletionGroupVersionParsingFailure",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        fine(
            "NamespaceDeletionContentFailure",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        content.map_or_else(
            || {
                fine(
                    "NamespaceContentRemaining",
                    "ContentRemoved",
                    "All content successfully removed",
                )
            },
            |list| {
                (
                    "NamespaceContentRemaining",
                    "True",
                    "SomeResourcesRemain",
                    format!("Some resources are remaining: {list}"),
                )
            },
        ),
        held.map_or_else(
            || {
                fine(
                    "NamespaceFinalizersRemaining",
                    "ContentHasNoFinalizers",
                    "All content-preserving finalizers finished",
                )
            },
            |list| {
                (
                    "NamespaceFinalizersRemaining",
                    "True",
                    "SomeFinalizersRemain",
                    format!("Some content in the namespace has finalizers remaining: {list}"),
                )
            },
        ),
    ];
    let status = field_mut(namespace, "status");
    let known = status["conditions"].as_array().cloned().unwrap_or_default();
    let conditions: Vec<_> = conditions
        .into_iter()
        .map(|(kind, state, reason, message)| {
            let before = known.iter().find(|one| one["type"] == kind && one["status"] == state);
            let since = before.map_or_else(|| now().into(), |before| before["lastTransitionTime"].clone());
            json!({"type": kind, "status": state, "reason": reason, "message": message, "lastTransitionTime": since})
        })
        .collect();
    object_mut(status).insert("conditions".into(), conditions.into());
}

fn listed(counts: &BTreeMap<String, usize>, show: impl Fn(&str, usize) -> String) -> Option<String> {
    let parts: Vec<_> = counts.iter().map(|(name, count)| show(name, *count)).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}
