//! The provider against command lines that print what those of kind, docker, podman and nerdctl print.
#[cfg(feature = "sim-tls")]
mod conformance;
mod failures;
mod following;
mod machine;
mod real;
mod shapes;
