//! What every provider has to do right (`mcrt::testing::conformance`), shown of each provider of mcrt: on the simulated
//! fleet, and on real API servers that all of them share.
#![expect(clippy::unwrap_used, reason = "adapters fail as tests do")]

mod cluster_api;
mod cluster_profile;
mod described;
mod file;
mod kubeconfig;
mod namespace;
mod sites;
mod vcluster;
