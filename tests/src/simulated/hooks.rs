//! Faults of a server, by name.

use mcrt_sim::{Server, Verdict};

/// The server accepts everything and answers nothing.
pub fn hang(server: &Server) {
    server.hook(|_| Verdict::Hang);
}

/// Requests about one kind get no answer.
pub fn hang_kind(server: &Server, plural: &'static str) {
    server.hook(move |request| {
        if request.plural() == plural {
            Verdict::Hang
        } else {
            Verdict::Pass
        }
    });
}

/// Requests about one kind are refused.
pub fn fail_kind(server: &Server, plural: &'static str, code: u16) {
    server.hook(move |request| {
        if request.plural() == plural {
            Verdict::fail(code)
        } else {
            Verdict::Pass
        }
    });
}
