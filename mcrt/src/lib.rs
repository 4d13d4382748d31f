//! Kubernetes controllers that work across a fleet of clusters, declared.
pub mod cluster;
pub mod connect;
pub mod provider;
