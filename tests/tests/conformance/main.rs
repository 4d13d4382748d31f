//! One suite, two servers: every behaviour is shown on the simulator and on a real kube-apiserver, which is right
//! where they differ.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    reason = "behaviours fail the way tests do, and write what they send in place"
)]

#[macro_use]
mod behaviours;
#[allow(
    dead_code,
    unused_imports,
    reason = "a box of tools, of which not all are in use at all times"
)]
mod bed;

#[path = "areas"]
mod conformance {
    mod access;
    mod applying;
    mod collecting;
    mod crds;
    mod deleting;
    mod discovery;
    mod errors;
    mod forms;
    mod listing;
    mod metadata;
    mod namespaces;
    mod patching;
    mod scaling;
    mod schemas;
    mod selecting;
    mod tables;
    mod watching;
    mod writing;
}
