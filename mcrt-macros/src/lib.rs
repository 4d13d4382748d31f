//! The attributes of mcrt, re-exported by it.
//!
//! ```text
//! arguments --parse--> as written --check--> model --expand--> tokens
//!                          \________\______________________/
//!                                    \-> errors, and a stand-in
//! ```
//!
//! The two halves of a controller, its struct and its impl block, do not see each other here: each is expanded
//! alone, and they meet in the traits of `mcrt::__private`, where the type checker compares them. A half with
//! mistakes keeps its item and gets a stand-in, so that the other half adds no errors of its own.
mod controller;
mod markers;
mod names;
mod parse;
mod reconciler;
mod sink;
#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

/// Declares a controller: what it reconciles, owns, watches and uses, where, and by which policy.
///
/// ```ignore
/// #[multicluster_controller(
///     for(ConfigMap, labels = "mcrt.dev/team"),
///     owns = Secret,
///     watches(Secret, on = host, labels = "mcrt.dev/signing-key"),
///     concurrency = 64,
/// )]
/// struct TeamTokens {
///     issuer: String,
/// }
/// ```
///
/// The functions are in an impl block under [`macro@reconciler`]. The struct stays as it is; beside it comes
/// `type TeamTokensRequest`, the request that names one of its objects.
///
/// | argument | meaning | default |
/// | --- | --- | --- |
/// | `for = Kind` | the kind to reconcile | required |
/// | `owns = Kind` | a kind whose objects carry an owner reference to the reconciled one; kept as metadata | |
/// | `watches = Kind` | a kind whose changes a [`macro@map`] function turns into requests | |
/// | `uses = Kind` | a kind that is called for and not watched | |
/// | `provider = EXPR` | where clusters come from; `--provider` goes before it | by Cargo feature |
/// | `name = "team-tokens"` | names the controller in logs, events and metrics | the struct's name, in kebab case |
/// | `concurrency = 64` | how many reconciles run at once | 256 |
/// | `per_cluster = 8` | how many of them in one cluster | a quarter of `concurrency` |
/// | `resync = "10h"` | reconcile everything again this often | never |
/// | `timeout = "1m"` | how long one reconcile may take | 5 minutes |
/// | `field_manager = "tokens"` | the field manager of what is applied | the controller's name |
/// | `error_policy(initial = "1s", max = "5m")` | how the delay after errors grows | from 1 second to 5 minutes |
/// | `crate = ::facade::mcrt` | where mcrt is, if it is not `::mcrt`; the block needs it too | `::mcrt` |
///
/// `owns`, `watches` and `uses` may be repeated. With options, a kind goes into parentheses:
/// `watches(Secret, on = host)`.
///
/// | option | meaning | of |
/// | --- | --- | --- |
/// | `on = fleet`, `host` or `all` | where the kind is; `owns` is always where `for` is | all four |
/// | `labels = "app in (web, api)"` | only objects that match, by the API server | `for`, `owns`, `watches` |
/// | `fields = "metadata.name=web"` | the same, by fields | `for`, `owns`, `watches` |
/// | `namespaces("a", "b")` | only these namespaces, with a watch for each | `for`, `owns`, `watches` |
/// | `predicate = generation` | which changes matter: `generation`, `generation_or_finalizers`, `resource_version`, `labels`, `annotations`, or a path to `fn(old: Option<&Kind>, new: &Kind) -> bool` | `for`, `owns`, `watches` |
/// | `metadata_only` | watch and keep the metadata alone: functions take `PartialObjectMeta<Kind>` | `for`, `watches` |
/// | `full` | keep the whole object | `owns` |
/// | `optional` | work in clusters that do not serve the kind, or refuse to show it | `owns`, `watches` |
/// | `verbs(get, create)` | what is done with the kind | `uses` |
///
/// | option of `error_policy` | meaning | default |
/// | --- | --- | --- |
/// | `initial = "1s"` | the first delay | required |
/// | `max = "5m"` | the longest delay | required |
/// | `factor = 1.5` | how much longer each delay is than the one before | 2 |
/// | `jitter = false` | whether delays are spread, so that objects which failed together do not return together | `true` |
/// | `retries = 10` | how often a failing object is tried again before it is given up | no limit |
///
/// Durations are a number and `ms`, `s`, `m` or `h`. Selectors, names, counts and durations are literals: they are
/// checked while compiling.
#[proc_macro_attribute]
pub fn multicluster_controller(args: TokenStream, item: TokenStream) -> TokenStream {
    controller::expand(args.into(), item.into()).into()
}

/// Says how a controller reconciles, by the marked functions of an impl block.
///
/// ```ignore
/// #[reconciler]
/// impl TeamTokens {
///     #[reconcile]
///     async fn reconcile(&self, config: Arc<ConfigMap>, cx: Context<Self>) -> mcrt::Result<Action> {
///         cx.apply(&self.token(&config, cx.owner_reference())).await?;
///         Ok(Action::await_change())
///     }
/// }
/// ```
///
/// | marker | signature | how many |
/// | --- | --- | --- |
/// | [`macro@reconcile`] | `async fn(&self, Arc<Kind>, Context<Self>) -> Result<Action, E>` | one |
/// | [`macro@gone`] | `async fn(&self, Arc<Kind>, Context<Self>) -> Result<(), E>` | at most one |
/// | [`macro@map`] | `fn(&self, &Watched, MapContext<Self>) -> Vec or Option of Request or ObjectRef` | one for each `watches` |
/// | [`macro@index`] | `fn(&Kind) -> Option<Key> or Vec<Key>` | any number |
/// | [`macro@error_policy`] | `fn(&self, Arc<Kind>, &mcrt::Error, Context<Self>) -> Action` | at most one |
///
/// Inside the block the markers need no import. Functions without a marker stay as they are, and so do bodies.
///
/// | argument | meaning | default |
/// | --- | --- | --- |
/// | `crate = ::facade::mcrt` | where mcrt is, as at the struct | `::mcrt` |
#[proc_macro_attribute]
pub fn reconciler(args: TokenStream, item: TokenStream) -> TokenStream {
    reconciler::expand(args.into(), item.into()).into()
}

/// Marks the function that reconciles, in a [`macro@reconciler`] block.
///
/// `async fn(&self, object: Arc<Kind>, cx: Context<Self>) -> Result<Action, E>`, where `E` is any
/// `std::error::Error`, or `mcrt::Error`. With `for(Kind, metadata_only)` it takes
/// `Arc<PartialObjectMeta<Kind>>`. The marker takes no arguments.
#[proc_macro_attribute]
pub fn reconcile(_: TokenStream, item: TokenStream) -> TokenStream {
    markers::misplaced("reconcile", &item.into()).into()
}

/// Marks the function that runs after an object is deleted, in a [`macro@reconciler`] block.
///
/// `async fn(&self, object: Arc<Kind>, cx: Context<Self>) -> Result<(), E>`, with the object as it was last seen.
/// Only deletions that happen while the controller runs are seen. The marker takes no arguments.
#[proc_macro_attribute]
pub fn gone(_: TokenStream, item: TokenStream) -> TokenStream {
    markers::misplaced("gone", &item.into()).into()
}

/// Marks a function that turns changes of a watched kind into requests, in a [`macro@reconciler`] block.
///
/// `fn(&self, object: &Watched, cx: MapContext<Self>) -> Vec<Request<Kind>>`, or `Option`. The kind of the
/// parameter says which `watches` it belongs to; of a `metadata_only` one it is `&PartialObjectMeta<Watched>`.
/// A watch on the fleet may also give `ObjectRef<Kind>`, which means the cluster of the change. The marker takes no
/// arguments.
#[proc_macro_attribute]
pub fn map(_: TokenStream, item: TokenStream) -> TokenStream {
    markers::misplaced("map", &item.into()).into()
}

/// Marks a function that computes the keys of an index, in a [`macro@reconciler`] block.
///
/// `fn(object: &Kind) -> Option<Key>`, or `Vec<Key>`, where a key is `Clone + Eq + Hash`. It takes nothing but the
/// object, so that its keys cannot go stale. `fn by_team` gives the constant `Self::BY_TEAM`, with the visibility of
/// the function, for `cx.index(Self::BY_TEAM)`. The kind is one of `for`, `owns` or `watches`, in the form that is
/// kept: of an owned kind that is `&PartialObjectMeta<Kind>`, unless `full` is said. The marker takes no arguments.
#[proc_macro_attribute]
pub fn index(_: TokenStream, item: TokenStream) -> TokenStream {
    markers::misplaced("index", &item.into()).into()
}

/// Marks the function that says how to go on after an error, in a [`macro@reconciler`] block.
///
/// `fn(&self, object: Arc<Kind>, error: &mcrt::Error, cx: Context<Self>) -> Action`. It excludes the argument of the
/// same name. The marker takes no arguments.
#[proc_macro_attribute]
pub fn error_policy(_: TokenStream, item: TokenStream) -> TokenStream {
    markers::misplaced("error_policy", &item.into()).into()
}
