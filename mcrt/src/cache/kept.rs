//! The form in which an object is kept, which readers do not see.
use super::{
    packed::{LOGICAL_CLUSTER, Packed},
    scope::Cacheable,
    table::KeyRef,
};
use crate::cluster::ObjectKey;
use std::{borrow::Cow, cell::OnceCell, fmt, sync::Arc};

/// An object in a cache. Clones share it.
pub(super) enum Kept<K> {
    /// A whole object, decoded for whoever reads it.
    Packed(Packed),
    /// The metadata of an object: small, and read by every change of what it belongs to.
    Decoded(Arc<K>),
}

impl<K: Cacheable> Kept<K> {
    /// The object, as it can be read.
    pub(super) fn object(&self) -> Arc<K> {
        match self {
            Self::Decoded(object) => Arc::clone(object),
            Self::Packed(packed) => {
                let object = packed.decode();
                Arc::new(object.expect("it was decoded once when it came in"))
            }
        }
    }

    pub(super) fn key(&self) -> KeyRef<'_> {
        match self {
            Self::Decoded(object) => KeyRef::of(&**object),
            Self::Packed(packed) => packed.key(),
        }
    }

    pub(super) fn uid(&self) -> Option<&str> {
        match self {
            Self::Decoded(object) => object.meta().uid.as_deref(),
            Self::Packed(packed) => packed.uid(),
        }
    }

    /// The logical cluster of kcp that it belongs to.
    pub(super) fn logical_cluster(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Decoded(object) => {
                let annotations = object.meta().annotations.as_ref()?;
                annotations
                    .get(LOGICAL_CLUSTER)
                    .map(|name| Cow::Borrowed(&**name))
            }
            Self::Packed(packed) => packed.logical_cluster(),
        }
    }

    fn version(&self) -> Option<&str> {
        match self {
            Self::Decoded(object) => object.meta().resource_version.as_deref(),
            Self::Packed(packed) => packed.version(),
        }
    }

    pub(super) fn is_same_version(&self, other: &Self) -> bool {
        self.version().is_some() && self.version() == other.version() && self.uid() == other.uid()
    }
}

impl<K> Clone for Kept<K> {
    fn clone(&self) -> Self {
        match self {
            Self::Packed(packed) => Self::Packed(packed.clone()),
            Self::Decoded(object) => Self::Decoded(Arc::clone(object)),
        }
    }
}

/// An object as a change shows it: decoded for the first who looks inside, and not at all if nobody does.
pub struct Seen<K> {
    pub(super) kept: Kept<K>,
    object: OnceCell<Arc<K>>,
}

impl<K: Cacheable> Seen<K> {
    pub(super) fn new(kept: Kept<K>) -> Self {
        Self {
            kept,
            object: OnceCell::new(),
        }
    }

    /// The object.
    pub fn object(&self) -> &Arc<K> {
        self.object.get_or_init(|| self.kept.object())
    }

    /// Its namespace and name.
    pub fn key(&self) -> ObjectKey {
        self.kept.key().into()
    }

    /// Its UID.
    pub fn uid(&self) -> Option<&str> {
        self.kept.uid()
    }
}

/// Says which object it is and never prints what is in it.
impl<K: Cacheable> fmt::Debug for Seen<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Seen({})", self.key())
    }
}
