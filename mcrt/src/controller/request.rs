//! What is asked of a reconciler: one object of one cluster, to be worked on in one cluster.
use crate::cluster::{ClusterName, ObjectKey};
use kube::{Resource, runtime::reflector::ObjectRef};
use std::{
    fmt,
    hash::{Hash, Hasher},
    marker::PhantomData,
};

/// An object with its *home* cluster, and the *target* cluster where the work goes: the same one, unless said.
pub struct Request<K> {
    home: ClusterName,
    target: ClusterName,
    object: ObjectKey,
    kind: PhantomData<fn() -> K>,
}

impl<K> Request<K> {
    /// An object of a cluster, worked on where it lives.
    pub fn new(cluster: ClusterName, object: ObjectKey) -> Self {
        Self {
            target: cluster.clone(),
            home: cluster,
            object,
            kind: PhantomData,
        }
    }

    /// The same object, worked on in another cluster.
    #[must_use]
    pub fn targeting(mut self, cluster: ClusterName) -> Self {
        self.target = cluster;
        self
    }

    /// The cluster where the object lives.
    pub fn home(&self) -> &ClusterName {
        &self.home
    }

    /// The cluster where the work goes.
    pub fn target(&self) -> &ClusterName {
        &self.target
    }

    /// Namespace and name of the object.
    pub fn object(&self) -> &ObjectKey {
        &self.object
    }

    pub(crate) fn into_parts(self) -> (ClusterName, ClusterName, ObjectKey) {
        (self.home, self.target, self.object)
    }
}

impl<K: Resource> Request<K> {
    /// An object as a watch of `cluster` returned it.
    pub fn of(cluster: ClusterName, object: &K) -> Self {
        Self::new(cluster, ObjectKey::of(object))
    }
}

impl<K> Clone for Request<K> {
    fn clone(&self) -> Self {
        Self::new(self.home.clone(), self.object.clone()).targeting(self.target.clone())
    }
}

impl<K> PartialEq for Request<K> {
    fn eq(&self, other: &Self) -> bool {
        (&self.home, &self.target, &self.object) == (&other.home, &other.target, &other.object)
    }
}

impl<K> Eq for Request<K> {}

impl<K> Hash for Request<K> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.home, &self.target, &self.object).hash(state);
    }
}

impl<K> fmt::Debug for Request<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Request({self})")
    }
}

/// `cluster://name/namespace/object`, with ` -> target` where the work goes elsewhere.
impl<K> fmt::Display for Request<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cluster://{}/{}", Encoded(self.home.as_str()), self.object)?;
        if self.home != self.target {
            write!(f, " -> cluster://{}", Encoded(self.target.as_str()))?;
        }
        Ok(())
    }
}

/// A name, percent-encoded: names may hold `/`, `#` and anything else.
struct Encoded<'a>(&'a str);

impl fmt::Display for Encoded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'@' => {
                    write!(f, "{}", byte as char)?;
                }
                _ => write!(f, "%{byte:02X}")?,
            }
        }
        Ok(())
    }
}

/// What a map function asks for: objects of the event's cluster, and requests for any cluster.
pub struct Requests<C> {
    pub(crate) wanted: Vec<Wanted>,
    controller: PhantomData<fn() -> C>,
}

pub(crate) enum Wanted {
    /// An object in the cluster where the event came from.
    Here(ObjectKey),
    There {
        home: ClusterName,
        target: ClusterName,
        object: ObjectKey,
    },
}

impl<C> Requests<C> {
    pub(crate) fn new(wanted: Vec<Wanted>) -> Self {
        Self {
            wanted,
            controller: PhantomData,
        }
    }

    /// Asks for nothing.
    pub fn none() -> Self {
        Self::new(Vec::new())
    }
}

impl<C> fmt::Debug for Requests<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Requests({})", self.wanted.len())
    }
}

impl<K> From<Request<K>> for Wanted {
    fn from(request: Request<K>) -> Self {
        let (home, target, object) = request.into_parts();
        Self::There { home, target, object }
    }
}

impl<K: Resource> From<ObjectRef<K>> for Wanted {
    fn from(object: ObjectRef<K>) -> Self {
        Self::Here(ObjectKey {
            namespace: object.namespace.as_deref().map(Into::into),
            name: object.name.as_str().into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ConfigMap;

    #[test]
    fn a_request_prints_as_a_uri_with_its_cluster_encoded() {
        let home = ClusterName::new("team/a#1").unwrap();
        let request = Request::<ConfigMap>::new(home, ObjectKey::namespaced("ns", "name"));
        assert_eq!(request.to_string(), "cluster://team%2Fa%231/ns/name");
        let elsewhere = request.targeting(ClusterName::host());
        assert_eq!(
            elsewhere.to_string(),
            "cluster://team%2Fa%231/ns/name -> cluster://host"
        );
    }
}
