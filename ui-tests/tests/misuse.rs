//! One mistake per file, with what the compiler says of it.
//!
//! `TRYBUILD=overwrite cargo test -p mcrt-ui-tests --test misuse` rewrites what is expected; read the difference.
//! Notes of the compiler are part of it, so the toolchain is pinned.

#[test]
fn mistakes_are_reported_where_they_are_made() {
    let cases = trybuild::TestCases::new();
    // A mistake in the arguments, in the block, between the two halves, in the user's own types.
    for folder in ["arguments", "block", "link", "types"] {
        cases.compile_fail(format!("cases/{folder}/*.rs"));
    }
}
