//! Behaviour of whole caches, against a scripted server.
