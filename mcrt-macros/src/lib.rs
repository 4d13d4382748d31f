//! The attributes of mcrt.
