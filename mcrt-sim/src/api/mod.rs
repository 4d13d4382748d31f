//! What comes in and what goes out: operations, answers, discovery.

pub(crate) mod answer;
pub(crate) mod discovery;
pub(crate) mod openapi;
pub(crate) mod options;
pub(crate) mod reviews;
pub(crate) mod table;
mod versions;
pub(crate) mod writes;
