//! The provider against command lines that print what those of kind, docker, podman and nerdctl print.
mod failures;
mod following;
mod machine;
mod real;
mod shapes;
