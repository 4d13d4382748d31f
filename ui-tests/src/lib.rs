//! What the compiler says of misused attributes.
