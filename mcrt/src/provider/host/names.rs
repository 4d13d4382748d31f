//! How clusters are called that objects of the host describe.
use crate::cluster::{ClusterName, ObjectKey};

/// How clusters are called that objects of the host describe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// Like the object. Of objects of one name in several namespaces one alone becomes a cluster: see
    /// [`changes`](super::changes).
    Short,
    /// `namespace/name`; like the object where it has no namespace.
    Namespaced,
}

impl Names {
    /// What a cluster is called that the object of this key describes.
    ///
    /// # Errors
    /// If that is no name for a cluster: a namespace and a name may be too long together. The text is one for
    /// [`Described::Nameless`](super::Described::Nameless).
    pub fn of(self, object: &ObjectKey) -> Result<ClusterName, String> {
        let name = match self {
            Self::Short => ClusterName::new(&object.name),
            Self::Namespaced => ClusterName::new(object.to_string()),
        };
        name.map_err(|error| format!("`{object}`: {error}"))
    }
}
