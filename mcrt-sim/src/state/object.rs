//! A stored object: its key, what selectors and the garbage collector need, and its serialised body.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::state::kind::Version;

/// Where an object lives; the namespace is empty for cluster-scoped objects.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ObjectKey {
    /// The logical cluster, where one server shows the objects of several.
    pub(crate) cluster: Option<Arc<str>>,
    pub(crate) namespace: Arc<str>,
    pub(crate) name: Arc<str>,
}

impl ObjectKey {
    pub(crate) fn new(namespace: &str, name: &str) -> Self {
        Self {
            cluster: None,
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// The same in a logical cluster.
    pub(crate) fn within(mut self, cluster: Option<Arc<str>>) -> Self {
        self.cluster = cluster;
        self
    }
}

/// One version of an object. The body is JSON without `kind` and `apiVersion`: the type is put in front when
/// it goes out, so the same bytes serve gets, lists, watches and every version of the kind.
///
/// No `Debug`: the body may hold a Secret's data.
#[derive(Clone)]
pub(crate) struct Object {
    pub(crate) key: ObjectKey,
    pub(crate) version: u64,
    pub(crate) uid: Box<str>,
    pub(crate) deleting: bool,
    pub(crate) cleanup: Cleanup,
    labels: Box<[(Box<str>, Box<str>)]>,
    owners: Box<[Owner]>,
    finalizers: Box<[Box<str>]>,
    body: Bytes,
}

/// What the garbage collector has to do before a deleted object may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cleanup {
    None,
    /// Delete what the object owns, and wait for it.
    Dependents,
    /// Make what the object owns forget it.
    Orphan,
}

/// The finalizer of an object whose dependents go first.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of an object whose dependents stay.
pub(crate) const ORPHAN: &str = "orphan";

/// What an object says of one of its owners.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) uid: Box<str>,
    /// Whether an owner that is deleted in the foreground waits for this object.
    pub(crate) blocks: bool,
}

impl Object {
    /// Freezes a value whose metadata is complete.
    pub(crate) fn freeze(mut value: Value, version: u64) -> Self {
        Self::freeze_in_place(&mut value, version)
    }

    /// Freezes a value, which is then the object's content.
    pub(crate) fn freeze_in_place(value: &mut Value, version: u64) -> Self {
        if let Some(fields) = value.as_object_mut() {
            fields.remove("kind");
            fields.remove("apiVersion");
        }
        // Version 0 stands for what was not written, as in a dry run.
        match version {
            0 => drop(meta_mut(value).remove("resourceVersion")),
            version => {
                drop(meta_mut(value).insert("resourceVersion".into(), version.to_string().into()));
            }
        }
        let metadata = &value["metadata"];
        let text = |field: &str| metadata[field].as_str().unwrap_or_default();
        let labels = metadata["labels"].as_object().into_iter().flatten();
        let owners = metadata["ownerReferences"].as_array().into_iter().flatten();
        let finalizers = metadata["finalizers"].as_array().into_iter().flatten();
        Self {
            key: ObjectKey::new(text("namespace"), text("name")),
            version,
            uid: text("uid").into(),
            deleting: metadata["deletionTimestamp"].is_string(),
            cleanup: cleanup(metadata),
            labels: labels
                .map(|(key, value)| (boxed(key), boxed(value.as_str().unwrap_or_default())))
                .collect(),
            owners: owners.filter_map(owner).collect(),
            finalizers: finalizers.filter_map(Value::as_str).map(boxed).collect(),
            body: body(value),
        }
    }

    pub(crate) fn label(&self, key: &str) -> Option<&str> {
        self.labels
            .iter()
            .find(|(known, _)| **known == *key)
            .map(|(_, value)| &**value)
    }

    pub(crate) fn owners(&self) -> &[Owner] {
        &self.owners
    }

    pub(crate) fn finalizers(&self) -> impl Iterator<Item = &str> {
        self.finalizers.iter().map(|finalizer| &**finalizer)
    }

    /// Whether an owner's deletion in the foreground waits for this object.
    pub(crate) fn blocks(&self, owner: &str) -> bool {
        self.owners.iter().any(|one| one.blocks && *one.uid == *owner)
    }

    pub(crate) fn size(&self) -> usize {
        self.body.len()
    }

    /// The object as a value, typed as the given version.
    pub(crate) fn thaw(&self, kind: &str, version: &Version) -> Value {
        let mut value = self.content();
        add_type(&mut value, kind, version);
        value
    }

    /// The object as a value, without a type.
    pub(crate) fn content(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The same object under another resource version, as a deletion event shows it.
    pub(crate) fn at_version(&self, version: u64) -> Self {
        Self::freeze(self.content(), version)
    }

    /// The same object as seen from outside of its logical cluster.
    pub(crate) fn in_cluster(&self, cluster: &Arc<str>) -> Self {
        let mut object = self.clone();
        object.key.cluster = Some(Arc::clone(cluster));
        object
    }

    /// Writes the object as the given version serves it.
    pub(crate) fn write(&self, version: &Version, out: &mut Vec<u8>) {
        out.extend_from_slice(version.prefix.as_bytes());
        out.extend_from_slice(&self.body[1..]);
    }

    /// Writes the object without its type, as lists of built-in kinds show their items.
    pub(crate) fn write_untyped(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.body);
    }

    /// Writes the metadata alone, as `PartialObjectMetadata`.
    pub(crate) fn write_metadata(&self, out: &mut Vec<u8>) {
        #[derive(Deserialize)]
        struct Partial<'a> {
            #[serde(borrow)]
            metadata: &'a RawValue,
        }
        let partial = serde_json::from_slice::<Partial<'_>>(&self.body);
        let metadata = partial.as_ref().map_or("{}", |partial| partial.metadata.get());
        out.extend_from_slice(METADATA_PREFIX);
        out.extend_from_slice(metadata.as_bytes());
        out.push(b'}');
    }
}

const METADATA_PREFIX: &[u8] =
    b"{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":";

/// Gives the content of an object a type.
pub(crate) fn add_type(content: &mut Value, kind: &str, version: &Version) {
    if let Some(fields) = content.as_object_mut() {
        fields.insert("kind".into(), kind.into());
        fields.insert("apiVersion".into(), version.api_version.clone().into());
    }
}

fn body(content: &Value) -> Bytes {
    let mut body = Vec::with_capacity(1024);
    // It cannot fail: a value is JSON, and a list of bytes takes whatever is written.
    serde_json::to_writer(&mut body, content).unwrap_or_default();
    // Boxed, so that no spare capacity stays with every object.
    Bytes::from(body.into_boxed_slice())
}

fn boxed(text: &str) -> Box<str> {
    text.into()
}

fn cleanup(metadata: &Value) -> Cleanup {
    let mut finalizers = metadata["finalizers"].as_array().into_iter().flatten();
    let of_the_collector = finalizers.find_map(|finalizer| match finalizer.as_str() {
        Some(FOREGROUND) => Some(Cleanup::Dependents),
        Some(ORPHAN) => Some(Cleanup::Orphan),
        _ => None,
    });
    of_the_collector.unwrap_or(Cleanup::None)
}

fn owner(reference: &Value) -> Option<Owner> {
    Some(Owner {
        uid: reference["uid"].as_str()?.into(),
        blocks: reference["blockOwnerDeletion"] == true,
    })
}

/// The metadata of a value, made an object if it is none.
pub(crate) fn meta_mut(value: &mut Value) -> &mut Map<String, Value> {
    object_mut(field_mut(value, "metadata"))
}

/// A field of a value that is made an object if it is none.
pub(crate) fn field_mut<'a>(value: &'a mut Value, field: &str) -> &'a mut Value {
    object_mut(value).entry(field).or_insert(Value::Null)
}

pub(crate) fn object_mut(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut().expect("it was just made an object")
}

/// A fresh UID in the form of a random UUID.
pub(crate) fn new_uid() -> String {
    let (high, low) = (random(), random());
    let (first, second, third) = (high >> 32, (high >> 16) & 0xffff, high & 0xfff);
    let (fourth, fifth) = ((low >> 48) & 0x3fff | 0x8000, low & 0xffff_ffff_ffff);
    format!("{first:08x}-{second:04x}-4{third:03x}-{fourth:04x}-{fifth:012x}")
}

/// The five letters that `generateName` adds.
pub(crate) fn name_suffix() -> String {
    const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut number = random();
    let mut letter = || {
        let index = number % ALPHABET.len() as u64;
        number /= ALPHABET.len() as u64;
        char::from(ALPHABET[usize::try_from(index).unwrap_or_default()])
    };
    (0..5).map(|_| letter()).collect()
}

/// Unique within the process by the counter, across processes by the keys that std draws at random.
fn random() -> u64 {
    static KEYS: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    static COUNT: AtomicU64 = AtomicU64::new(0);
    KEYS.hash_one(COUNT.fetch_add(1, Ordering::Relaxed))
}

/// The current time as metadata writes it.
pub(crate) fn now() -> String {
    after(0)
}

/// The time in some seconds as metadata writes it.
pub(crate) fn after(seconds: i64) -> String {
    let now = jiff::Timestamp::now();
    let then = now
        .checked_add(jiff::SignedDuration::from_secs(seconds))
        .unwrap_or(now);
    then.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
