//! What the attributes expand to, and what their leaves accept.

mod expansions;
mod half_typed;
mod hygiene;
mod leaves;
mod support;
