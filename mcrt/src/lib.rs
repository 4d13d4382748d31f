//! Kubernetes controllers that work across a fleet of clusters, declared.
pub mod cache;
pub mod cluster;
