//! What the attributes expand to.
