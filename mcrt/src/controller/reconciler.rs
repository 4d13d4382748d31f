//! What a controller's author writes: a reconciler, and the declarations around it.
use super::{Action, Context, ControllerBuilder};
use crate::{Error, Result, provider::Provider};
use std::{future::Future, sync::Arc};

/// Brings one object closer to what it asks for.
///
/// `#[reconciler]` implements it from an impl block; an implementation by hand goes to a [`ControllerBuilder`]
/// and also implements [`HandWired`](crate::HandWired).
///
/// # Guarantees
/// At most one call per object and target cluster runs at a time. An object that changes while its call runs is
/// reconciled once more. A panic fails that call alone.
///
/// # Deletion
/// An object that no longer matches the selectors of its watch looks deleted to the watch: [`gone`](Self::gone) is called
/// for it too. Where it matters, read it live ([`Context::get`]): it is deleted if it is not there, or there with another
/// uid. A call succeeds at most once for an object, and may have begun more often: what it does should bear repetition.
///
/// # Cancellation
/// A call that outlives its controller's timeout, or whose cluster leaves and does not finish within the grace
/// period, is dropped at its next await.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no `#[reconciler]` block",
    label = "nothing reconciles this controller",
    note = "add `#[reconciler] impl {Self} {{ ... }}` with a function marked `#[reconcile]`"
)]
pub trait Reconciler: Sized + Send + Sync + 'static {
    /// The kind that is reconciled, as it is stored: the kind itself, or its metadata.
    type Object: Send + Sync + 'static;

    /// Whether [`gone`](Self::gone) does anything: only then are deleted objects kept for it.
    const GONE: bool = false;

    /// Whether [`error_policy`](Self::error_policy) is the author's: only then is it asked.
    const ERROR_POLICY: bool = false;

    /// Reconciles an object that exists.
    fn reconcile(
        &self,
        object: Arc<Self::Object>,
        cx: Context<Self>,
    ) -> impl Future<Output = Result<Action>> + Send;

    /// Takes leave of an object whose deletion was seen. Tried again as a reconcile is until it succeeds or gives
    /// up, or its retries are used up; after success it is not called again for the same object.
    ///
    /// A deletion that nobody sees is not told: one that happens while the controller is down, or while its cluster
    /// is away or its access is being replaced. A leave that is still to be taken when the cluster goes, or gets
    /// another life such as with rotated credentials, goes with it. Where that matters, use a finalizer.
    fn gone(&self, object: Arc<Self::Object>, cx: Context<Self>) -> impl Future<Output = Result<()>> + Send {
        let _ = (object, cx);
        async { Ok(()) }
    }

    /// Says how to go on after an error, in place of the error's class.
    fn error_policy(&self, object: Arc<Self::Object>, error: &Error, cx: Context<Self>) -> Action {
        let _ = (object, error, cx);
        Action::retry()
    }

    /// Registers the indexes, in the order of their handles.
    fn indexes(wiring: &mut ControllerBuilder<Self>) {
        let _ = wiring;
    }
}

/// A reconciler with its declarations: what `#[multicluster_controller(...)]` implements.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a multi-cluster controller",
    label = "not a controller",
    note = "add `#[multicluster_controller(for = ...)]` to the definition of `{Self}`"
)]
pub trait MulticlusterController: Reconciler {
    /// The declared kind.
    type For;

    /// The controller's name: in logs, in events, and the default field manager.
    const NAME: &'static str;

    /// The provider features of the application that the controller is part of.
    const FEATURES: &'static [&'static str];

    /// Writes the declarations down.
    fn wire(wiring: &mut ControllerBuilder<Self>);

    /// The provider named by `provider = ...`.
    fn provider() -> Option<Arc<dyn Provider>> {
        None
    }
}
