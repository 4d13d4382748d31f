//! What generated code names: relations between a controller and its kinds, as traits that explain themselves.
//!
//! No part of the public interface; it changes with the macros.
use crate::{
    Action, Error, MapContext, Reconciler, Request, Requests,
    cache::Cacheable,
    controller::{Wanted, place},
    provider::Provider,
};
use kube::{
    Resource,
    core::{ClusterResourceScope, DynamicResourceScope, NamespaceResourceScope},
    runtime::reflector::ObjectRef,
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

/// Stands in for a kind that could not be read.
#[derive(Debug)]
pub struct Unresolved;

/// Marks the stub of a rejected struct attribute.
pub trait BrokenController {}
/// Marks the stub of a rejected impl block.
pub trait BrokenHandlers {}

/// Marks a reconciler whose declarations are made by a builder: what it uses is not checked at compile time.
///
/// Using a kind that the builder does not watch is then found out at run time.
pub trait HandWired {}

/// Whether kinds of a scope live in namespaces, as far as the type says.
pub trait Scoped {
    /// `None` for a dynamic kind.
    const NAMESPACED: Option<bool>;
}
impl Scoped for NamespaceResourceScope {
    const NAMESPACED: Option<bool> = Some(true);
}
impl Scoped for ClusterResourceScope {
    const NAMESPACED: Option<bool> = Some(false);
}
impl Scoped for DynamicResourceScope {
    const NAMESPACED: Option<bool> = None;
}

/// A type that can be watched without saying more.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be watched",
    label = "not a Kubernetes kind",
    note = "a kind implements `kube::Resource`: derive `kube::CustomResource`, or name a type of `k8s_openapi`"
)]
pub trait Kind {
    /// Whether it lives in namespaces.
    type Scope;
}
#[diagnostic::do_not_recommend]
impl<K: Cacheable + Resource<DynamicType = ()>> Kind for K {
    type Scope = <K as Resource>::Scope;
}

/// The parameter of `#[reconcile]` is of the declared kind.
#[diagnostic::on_unimplemented(
    message = "`#[reconcile]` takes `Arc<{Self}>`, but the controller is declared `for = {K}`",
    label = "expected `{K}`"
)]
pub trait SameKind<K> {}
#[diagnostic::do_not_recommend]
impl<K: Kind> SameKind<K> for K {}
#[diagnostic::do_not_recommend]
impl<K> SameKind<Unresolved> for K {}

/// Which scopes may own which.
pub trait OwnerScope {}
impl OwnerScope for (NamespaceResourceScope, NamespaceResourceScope) {}
impl OwnerScope for (ClusterResourceScope, NamespaceResourceScope) {}
impl OwnerScope for (ClusterResourceScope, ClusterResourceScope) {}

/// A kind that objects of `O` can own.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be owned by `{O}`",
    label = "not a kind that `{O}` can own",
    note = "an owned kind implements `kube::Resource`",
    note = "a namespaced owner owns namespaced kinds only: for a cluster-scoped kind, use `watches` and a `#[map]` function"
)]
pub trait OwnedBy<O> {}
#[diagnostic::do_not_recommend]
impl<O: Kind, K: Kind> OwnedBy<O> for K where (O::Scope, K::Scope): OwnerScope {}

/// A kind that the controller `C` declares on the place `S`.
#[diagnostic::on_unimplemented(
    message = "`{C}` does not declare `{Self}` on `{S}`",
    label = "undeclared kind",
    note = "add `owns`, `watches` or `uses` of `{Self}` to `#[multicluster_controller(...)]`: caches and permissions come from these declarations"
)]
pub trait DeclaredBy<C, S> {}
#[diagnostic::do_not_recommend]
impl<K, C: HandWired, S> DeclaredBy<C, S> for K {}

/// A kind that the controller `C` watches on the place `S`.
#[diagnostic::on_unimplemented(
    message = "`{C}` does not watch `{Self}` on `{S}`",
    label = "no store of this kind",
    note = "add `owns` or `watches` of `{Self}` to `#[multicluster_controller(...)]`, or read live with `get`"
)]
pub trait CachedBy<C, S> {
    /// What the store keeps of each object.
    type Stored;
}
#[diagnostic::do_not_recommend]
impl<K: Cacheable, C: HandWired, S> CachedBy<C, S> for K {
    type Stored = K;
}

/// What is kept of a kind that the controller `C` declares with `watches`.
#[diagnostic::on_unimplemented(
    message = "`{C}` does not watch `{Self}`",
    label = "this map never runs",
    note = "add `watches = {Self}` to `#[multicluster_controller(...)]`"
)]
pub trait WatchedBy<C> {
    /// Where.
    type Place;
}

/// What is kept of a kind that the controller `C` watches in any role.
#[diagnostic::on_unimplemented(
    message = "`{C}` keeps no store of `{Self}`",
    label = "nothing to index",
    note = "declare the kind with `for`, `owns` or `watches`; of a metadata watch an index takes `&PartialObjectMeta<Kind>`"
)]
pub trait IndexableBy<C> {}
#[diagnostic::do_not_recommend]
impl<T, C: HandWired> IndexableBy<C> for T {}

/// What a `#[map]` function of the controller `C` takes.
#[diagnostic::on_unimplemented(
    message = "`{C}` watches `{Self}`, but no `#[map]` function takes `&{Self}`",
    label = "nothing says which objects to reconcile",
    note = "add one to the `#[reconciler]` block, or write `owns = {Self}` if owner references say it"
)]
pub trait MappedBy<C> {
    /// Calls it.
    fn map(controller: &C, object: &Self, cx: MapContext<C>) -> Requests<C>;
}

// A rejected half declares nothing, so everything counts as declared: one mistake, one error.
#[diagnostic::do_not_recommend]
impl<K, C: BrokenController> WatchedBy<C> for K {
    type Place = place::Fleet;
}
#[diagnostic::do_not_recommend]
impl<K, C: BrokenHandlers> MappedBy<C> for K {
    fn map(_: &C, _: &Self, _: MapContext<C>) -> Requests<C> {
        Requests::none()
    }
}

/// What a `#[map]` function may return.
#[diagnostic::on_unimplemented(
    message = "a `#[map]` function of a `{S}` watch cannot return `{Self}`",
    label = "expected requests for `{K}`",
    note = "return `Vec` or `Option` of `Request<{K}>`, which names a cluster; a fleet watch may also return `ObjectRef<{K}>`, for the cluster of the event"
)]
pub trait MapOutput<S, K> {}
#[diagnostic::do_not_recommend]
impl<S, K> MapOutput<S, K> for Vec<Request<K>> {}
#[diagnostic::do_not_recommend]
impl<S, K> MapOutput<S, K> for Option<Request<K>> {}
macro_rules! here {
    ($($place:ident)*) => { $(
        #[diagnostic::do_not_recommend]
        impl<K: Resource> MapOutput<place::$place, K> for Vec<ObjectRef<K>> {}
        #[diagnostic::do_not_recommend]
        impl<K: Resource> MapOutput<place::$place, K> for Option<ObjectRef<K>> {}
    )* };
}
here! { Fleet All }

/// Turns what a map function returns into requests.
#[diagnostic::on_unimplemented(
    message = "a map function cannot return `{Self}`",
    label = "expected requests",
    note = "return `Vec` or `Option` of `Request` or of `ObjectRef` of the reconciled kind"
)]
pub trait IntoRequests<C> {
    /// The requests.
    fn into_requests(self) -> Requests<C>;
}
impl<C> IntoRequests<C> for Requests<C> {
    fn into_requests(self) -> Requests<C> {
        self
    }
}
macro_rules! requests {
    ($($of:ident)*) => { $(
        impl<C: Reconciler> IntoRequests<C> for $of<Request<C::Object>> {
            fn into_requests(self) -> Requests<C> {
                Requests::new(self.into_iter().map(Wanted::from).collect())
            }
        }
        impl<C: Reconciler<Object: Resource>> IntoRequests<C> for $of<ObjectRef<C::Object>> {
            fn into_requests(self) -> Requests<C> {
                Requests::new(self.into_iter().map(Wanted::from).collect())
            }
        }
    )* };
}
requests! { Vec Option }

/// What an `#[index]` function may return.
#[diagnostic::on_unimplemented(
    message = "an `#[index]` function cannot return `{Self}`",
    label = "expected `Option<Key>` or `Vec<Key>`",
    note = "a key is `Clone + Eq + Hash`"
)]
pub trait IndexKeys {
    /// One key.
    type Key;
    /// The keys.
    fn into_keys(self) -> Vec<Self::Key>;
}
macro_rules! keys {
    ($($of:ident)*) => { $(
        #[diagnostic::do_not_recommend]
        impl<V: crate::IndexKey> IndexKeys for $of<V> {
            type Key = V;
            fn into_keys(self) -> Vec<V> {
                self.into_iter().collect()
            }
        }
    )* };
}
keys! { Vec Option }

/// What `#[reconcile]` may return.
#[diagnostic::on_unimplemented(
    message = "`#[reconcile]` cannot return `{Self}`",
    label = "expected `Result<Action, E>`",
    note = "`E` is any `std::error::Error`, or `mcrt::Error`"
)]
pub trait Outcome {
    /// As the runner takes it.
    fn outcome(self) -> crate::Result<Action>;
}
#[diagnostic::do_not_recommend]
impl<E: Into<Error>> Outcome for Result<Action, E> {
    fn outcome(self) -> crate::Result<Action> {
        self.map_err(Into::into)
    }
}

/// What `#[gone]` may return.
#[diagnostic::on_unimplemented(
    message = "`#[gone]` cannot return `{Self}`",
    label = "expected `Result<(), E>`",
    note = "`E` is any `std::error::Error`, or `mcrt::Error`"
)]
pub trait GoneOutcome {
    /// As the runner takes it.
    fn outcome(self) -> crate::Result<()>;
}
#[diagnostic::do_not_recommend]
impl<E: Into<Error>> GoneOutcome for Result<(), E> {
    fn outcome(self) -> crate::Result<()> {
        self.map_err(Into::into)
    }
}

/// The place of a controller's reconciled kind.
pub trait Homed {
    /// `Fleet` or `Host`; a kind reconciled on both counts as the fleet's.
    type Place;
}
impl<C: HandWired> Homed for C {
    type Place = place::Fleet;
}

/// A controller that declares something on the host.
#[diagnostic::on_unimplemented(
    message = "`{Self}` declares nothing on the host",
    label = "no host to reach",
    note = "add a kind with `on = host` to `#[multicluster_controller(...)]`"
)]
pub trait HasHost {}
#[diagnostic::do_not_recommend]
impl<C: HandWired> HasHost for C {}

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
