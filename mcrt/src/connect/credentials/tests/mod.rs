//! Tests of credentials: where they come from, and how they are replaced.
mod fixed;
mod token_file;
