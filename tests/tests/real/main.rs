//! What only real servers show: kube-apiservers, their certificates, sockets and child processes. One program, so that
//! tests wait side by side.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the helpers of tests fail as tests do"
)]

mod api_server;
mod asymmetric;
mod black_hole;
mod cluster_profiles;
mod plugins;
mod replicas;
mod rotation;
mod team_tokens;
mod transport;
mod turned_bad;
