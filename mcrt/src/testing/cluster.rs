//! One simulated cluster: its objects by type, without a client.
use crate::redaction;
use kube::Resource;
use mcrt_sim::{Faults, Server, Status};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::fmt;

/// A simulated cluster in a test's hands.
///
/// Objects are read and written behind the back of faults, tokens and counters: a test says what is so, whatever its
/// controller can reach. An object is named `NAME`, in namespace `default` if its kind has namespaces, or
/// `NAMESPACE/NAME`. Types are those of `k8s-openapi`, your own, or [`serde_json::Value`] for writing.
#[derive(Clone)]
pub struct TestCluster(Server);

impl TestCluster {
    pub(super) fn new(server: Server) -> Self {
        Self(server)
    }

    /// The cluster's name.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// The API server: faults, tokens, counters, kinds.
    pub fn server(&self) -> &Server {
        &self.0
    }

    /// Lets a plan of faults come over every request from now on; it replaces an earlier one.
    pub fn faults(&self, plan: Faults) {
        self.0.faults(plan);
    }

    /// Ends all faults but a partition.
    pub fn clear_faults(&self) {
        self.0.clear_faults();
        self.0.clear_hook();
    }

    /// Cuts the cluster off: nothing passes, neither way, and nobody is told.
    pub fn partition(&self) {
        self.0.partition();
    }

    /// Ends a partition.
    pub fn heal(&self) {
        self.0.heal();
    }

    /// A client, for what the test wants to do as any client would. Drop it before the fleet is stopped.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn client(&self) -> kube::Client {
        kube::Client::new(self.0.service(), "default")
    }

    /// Creates an object and gives it as the server has it.
    ///
    /// # Panics
    /// If the server refuses it.
    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "tests write objects in place")]
    pub fn create<K: Serialize + DeserializeOwned>(&self, object: K) -> K {
        self.written("create", self.0.create(json(&object)))
    }

    /// Reads an object, changes it and writes it back.
    ///
    /// # Panics
    /// If there is none, or the server refuses the change.
    #[track_caller]
    pub fn edit<K: Kind>(&self, object: &str, change: impl FnOnce(&mut K)) -> K {
        let Some(mut edited) = self.get::<K>(object) else {
            panic!("{}: there is no {} {object}", self.name(), K::kind(&()));
        };
        change(&mut edited);
        self.written("change", self.0.replace(json(&edited)))
    }

    /// Deletes an object, as a client would: finalizers hold it.
    ///
    /// # Panics
    /// If there is none.
    #[track_caller]
    pub fn delete<K: Kind>(&self, object: &str) {
        let (namespace, name) = place(object);
        let deleted = self
            .0
            .delete(&K::api_version(&()), &K::kind(&()), namespace, name);
        if let Err(status) = deleted {
            panic!("{}: failed to delete: {status}", self.name());
        }
    }

    /// Reads an object.
    ///
    /// # Panics
    /// If its kind is not served, or its type does not fit it.
    #[track_caller]
    pub fn get<K: Kind>(&self, object: &str) -> Option<K> {
        let (namespace, name) = place(object);
        match self.0.get(&K::api_version(&()), &K::kind(&()), namespace, name) {
            Ok(object) => Some(self.typed(object)),
            Err(status) if status.code() == 404 => None,
            Err(status) => panic!("{}: failed to read {object}: {status}", self.name()),
        }
    }

    /// Reads every object of a kind, in all namespaces.
    ///
    /// # Panics
    /// If the kind is not served, or its type does not fit.
    #[track_caller]
    pub fn list<K: Kind>(&self) -> Vec<K> {
        match self.0.list(&K::api_version(&()), &K::kind(&()), None) {
            Ok(objects) => objects.into_iter().map(|object| self.typed(object)).collect(),
            Err(status) => panic!("{}: failed to list: {status}", self.name()),
        }
    }

    #[track_caller]
    fn written<K: DeserializeOwned>(&self, what: &str, written: Result<Value, Status>) -> K {
        match written {
            Ok(object) => self.typed(object),
            Err(status) => panic!("{}: failed to {what}: {status}", self.name()),
        }
    }

    /// An error of the decoder may quote a value: only where it is is said.
    #[track_caller]
    fn typed<K: DeserializeOwned>(&self, object: Value) -> K {
        match serde_json::from_value(object) {
            Ok(object) => object,
            Err(error) => panic!("{}: {}", self.name(), redaction::undecodable(&error)),
        }
    }
}

/// A kind known at compile time, as `k8s-openapi` and `derive(CustomResource)` make them.
pub trait Kind: Resource<DynamicType = ()> + Serialize + DeserializeOwned {}

impl<K: Resource<DynamicType = ()> + Serialize + DeserializeOwned> Kind for K {}

#[track_caller]
fn json(object: &impl Serialize) -> Value {
    // The error is not shown: it may quote a value.
    serde_json::to_value(object).unwrap_or_else(|_| panic!("the object cannot be written as JSON"))
}

fn place(object: &str) -> (Option<&str>, &str) {
    match object.split_once('/') {
        Some((namespace, name)) => (Some(namespace), name),
        None => (None, object),
    }
}

impl fmt::Debug for TestCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TestCluster").field(&self.name()).finish()
    }
}
