//! Harness of the tests: simulated fleets, real control planes as child processes, managers in the background, and
//! waiting on conditions with deadlines.

pub mod builtin_table;
pub mod clients;
pub mod control_plane;
mod go;
pub mod logs;
pub mod measure;
pub mod proxy;
pub mod random;
pub mod running;
pub mod seeds;
pub mod served;
pub mod simulated;

pub use mcrt::testing::{self as waiting, eventually};
pub use running::Running;
