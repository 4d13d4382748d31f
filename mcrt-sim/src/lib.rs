//! An API server in memory, and fleets of them.
//!
//! ```text
//! kube::Client ──> Service ──> hook, plan ──> token ──> answer ──┬─> list, watch   (read the event log)
//!      HTTP ──> Listener ──┘                                     └─> write, patch, apply ──> Store
//!                                                                        tend: what follows from a write
//! ```
//!
//! A [`Server`] behaves like a Kubernetes API server as far as controllers can see: versions and the event
//! log, watches with both forms of 410, server-side apply with owners, finalizers, garbage collection. It
//! has no socket and, while it is idle, no task of its own, so a thousand idle ones cost next to nothing and
//! tests run under paused time: what a cluster's controllers do (collect garbage, end namespaces) is done by a
//! task that starts with the write that gives rise to it and ends with its work, in the same order in every
//! run. A [`Fleet`] is a host and members that join and leave; a [`Kcp`] is workspaces behind one address, and views
//! of several at once. [`Faults`] is a plan of what goes wrong, built on a hook that returns a [`Verdict`].
//!
//! Inside, every module uses those before it and none after: `refusal` (errors), `schema` and `crd` (types),
//! `state` (objects, kinds, the log), `request`, `merge`, `read` and `write`, `access`, `api` (operations and
//! discovery), `faults`, `door` (the ways in). They meet in `server`, which holds the state that all work on. `kcp` is
//! made of servers, and finds the one that a path leads to.
//!
//! ```
//! use mcrt_sim::{Fault, Faults, Requests, Server};
//! use serde_json::json;
//!
//! let server = Server::new("east");
//! let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}});
//! let created = server.create(object)?;
//! assert_eq!(created["metadata"]["namespace"], "default");
//!
//! // From now on no watch gets an answer, and every third list fails; writes go on.
//! server.faults(
//!     Faults::none()
//!         .on(Requests::watches(), Fault::hang())
//!         .on(Requests::lists().every(3), Fault::status(503)),
//! );
//! # Ok::<(), mcrt_sim::Status>(())
//! ```

mod access;
mod api;
mod crd;
mod direct;
mod door;
mod faults;
mod fleet;
mod kcp;
mod merge;
mod read;
mod refusal;
mod request;
mod schema;
mod server;
mod state;
mod tend;
mod write;

pub use access::user::User;
#[cfg(feature = "tls")]
pub use door::authority::Authority;
pub use door::body::Body;
pub use door::counters::{Count, Counters, KindCounters};
pub use door::hook::Verdict;
pub use door::listener::{Listen, Listener, Sockets};
pub use door::service::Service;
pub use faults::fault::Fault;
pub use faults::plan::Faults;
pub use faults::requests::Requests;
pub use fleet::{Fleet, FleetChange};
pub use kcp::{Export, Initializer, Kcp, Workspace};
pub use refusal::status::Status;
pub use request::info::{RequestInfo, Verb};
pub use server::Server;
pub use state::kind::ServedKind;
