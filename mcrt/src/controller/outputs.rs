//! What marked functions may return, and how the runtime takes it.
use super::{Action, IndexKey, Reconciler, Request, Requests, place, request::Wanted};
use crate::Error;
use kube::{Resource, runtime::reflector::ObjectRef};

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
        impl<V: IndexKey> IndexKeys for $of<V> {
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
