//! Harness of the tests: real control planes as child processes, and waiting on conditions with deadlines.

pub mod control_plane;
pub mod waiting;

pub use waiting::eventually;
