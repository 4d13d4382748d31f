//! Harness of the tests: simulated fleets, real control planes as child processes, managers in the background, and
//! waiting on conditions with deadlines.

pub mod builtin_table;
pub mod clients;
pub mod control_plane;
mod go;
pub mod logs;
pub mod proxy;
pub mod random;
pub mod running;
pub mod simulated;
pub mod waiting;

pub use running::Running;
pub use waiting::eventually;
