//! What generated code names, beside the builder. No part of the public interface: it changes with the macros.
use crate::provider::Provider;

pub use crate::controller::{
    outputs::{GoneOutcome, IndexKeys, IntoRequests, MapOutput, Outcome},
    relations::{
        BrokenController, BrokenHandlers, CachedBy, DeclaredBy, HasHost, Homed, IndexableBy, Kind, MappedBy,
        OwnedBy, OwnerScope, SameKind, Unresolved, WatchedBy,
    },
};
pub use core::primitive::{bool, str};
pub use kube::core::PartialObjectMeta;
pub use std::{
    convert::Into,
    future::Future,
    marker::{Send, Sync},
    option::Option,
    result::Result,
    sync::Arc,
    time::Duration,
    vec::Vec,
};

/// The metadata of a kind alone.
pub type Metadata<K> = PartialObjectMeta<K>;

/// A value that says which clusters exist.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a cluster provider",
    label = "does not implement `mcrt::Provider`",
    note = "built-in providers are in `mcrt::providers`"
)]
pub trait IsProvider {
    /// As the manager takes it.
    fn into_provider(self) -> Arc<dyn Provider>;
}
#[diagnostic::do_not_recommend]
impl<P: Provider> IsProvider for P {
    fn into_provider(self) -> Arc<dyn Provider> {
        Arc::new(self)
    }
}

/// Takes the value of `provider = ...`.
pub fn provider<P: IsProvider>(provider: P) -> Arc<dyn Provider> {
    provider.into_provider()
}

/// Lets rustc say why a future cannot be sent.
pub fn send<F: Future + Send>(future: F) -> F {
    future
}
