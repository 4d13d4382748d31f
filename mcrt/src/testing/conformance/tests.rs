//! The kit on the providers of this crate that need no files, and what it says of those that are wrong.
mod clusters;
mod sim;
mod wrong;
