//! What comes in and what goes out: requests, answers, errors, discovery.

pub(crate) mod accept;
pub(crate) mod answer;
pub(crate) mod body;
pub(crate) mod cause;
pub(crate) mod discovery;
pub(crate) mod names;
pub(crate) mod openapi;
pub(crate) mod options;
pub(crate) mod path;
pub(crate) mod request;
pub(crate) mod status;
pub(crate) mod table;
pub(crate) mod writes;
