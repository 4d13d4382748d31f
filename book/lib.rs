//! Compiles the snippets of the book.
