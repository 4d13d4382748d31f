//! Harness of the tests: real control planes as child processes, managers in the background, and waiting on
//! conditions with deadlines.

pub mod control_plane;
pub mod proxy;
pub mod running;
pub mod waiting;

pub use running::Running;
pub use waiting::eventually;
