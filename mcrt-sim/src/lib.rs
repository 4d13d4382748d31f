//! An API server in memory, and fleets of them.
