//! Harness of the tests: simulated fleets, real control planes as child processes, and waiting on conditions with
//! deadlines.

pub mod control_plane;
pub mod logs;
pub mod random;
pub mod simulated;
pub mod waiting;

pub use waiting::eventually;
