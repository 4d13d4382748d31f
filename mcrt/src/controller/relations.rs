//! Relations between a controller and its kinds, as traits that explain themselves where they do not hold.
use super::{MapContext, Requests, place};
use crate::cache::Cacheable;
use kube::{
    Resource,
    core::{ClusterResourceScope, NamespaceResourceScope},
};

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
    note = "add `watches = {Self}` to `#[multicluster_controller(...)]`; of a metadata watch a map takes `&PartialObjectMeta<Kind>`"
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
