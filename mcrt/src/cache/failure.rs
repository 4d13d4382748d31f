//! What went wrong in a watch, told without the content of any object.
use super::{observed::Interrupted, pulse::SILENCE};
use crate::{
    connect::ConnectError,
    redaction::{self, NO_CREDENTIALS},
};
use kube::{client::AuthError, core::ApiResource, runtime::watcher};
use std::{error::Error, fmt, iter};

/// Longest text taken over from a server or a transport.
const MAX_TEXT: usize = 240;

/// What a watch does about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The kind is not served.
    Absent,
    /// The server refuses.
    Forbidden,
    /// The version to go on from is gone: list again.
    Expired,
    /// The watch cannot start where the list could: the kind may be gone. Listing tells.
    Missing,
    /// The server began a list and went silent, or named no version to go on from: begin again.
    Silent,
    /// The list does not come as a stream: list by pages.
    Unstreamed,
    /// The breaker opened meanwhile: go on when it closes.
    Interrupted,
    /// Anything that may pass by itself.
    Other,
}

/// One failure of one watch.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) kind: Kind,
    step: &'static str,
    code: u16,
    text: String,
}

impl Failure {
    pub(super) fn of(error: &watcher::Error) -> Self {
        let (step, source) = match error {
            watcher::Error::InitialListFailed(source) => ("list", source),
            watcher::Error::WatchStartFailed(source) => ("start watching", source),
            watcher::Error::WatchFailed(source) => ("watch", source),
            watcher::Error::WatchError(status) => {
                let kind = if status.code == 410 {
                    Kind::Expired
                } else {
                    Kind::Other
                };
                return Self {
                    kind,
                    step: "watch",
                    code: status.code,
                    text: said(status),
                };
            }
            watcher::Error::NoResourceVersion => {
                let text = "the server named no resource version: does the kind support watching?".to_owned();
                return Self {
                    kind: Kind::Silent,
                    step: "watch",
                    code: 0,
                    text,
                };
            }
        };
        let (code, text) = told(source);
        let kind = if is_interruption(source) {
            Kind::Interrupted
        } else {
            kind(step, code)
        };
        Self {
            kind,
            step,
            code,
            text,
        }
    }

    /// A kind whose objects live in no namespace, in a cluster that is a namespace.
    pub(super) fn clustered(kind: &ApiResource) -> Self {
        let text = format!(
            "{} live in no namespace, and this cluster is a namespace: watch them in the cluster that it is a part of",
            kind.plural
        );
        Self {
            kind: Kind::Forbidden,
            step: "watch",
            code: 403,
            text,
        }
    }

    /// A list that got nowhere.
    pub(super) fn silent() -> Self {
        let text = format!("the server said nothing for {} s", SILENCE.as_secs());
        Self {
            kind: Kind::Silent,
            step: "list",
            code: 0,
            text,
        }
    }

    /// A stream without the mark that ends its list.
    pub(super) fn unmarked() -> Self {
        Self::unstreamed(422, "the server does not mark the end of a list that it streams")
    }

    /// A stream that ended before its list did.
    pub(super) fn cut() -> Self {
        Self::unstreamed(0, "the stream ended before the list was complete")
    }

    fn unstreamed(code: u16, text: &str) -> Self {
        Self {
            kind: Kind::Unstreamed,
            step: STREAM,
            code,
            text: text.to_owned(),
        }
    }

    /// The same, of a watch that was asked to begin with what exists. Servers that do not know how, and what lies
    /// before them, refuse it as invalid; they may also forbid it where pages are allowed.
    pub(super) fn of_stream(mut self) -> Self {
        self.kind = match (self.kind, self.code) {
            (Kind::Interrupted | Kind::Unstreamed, _) => return self,
            (_, 404) => Kind::Absent,
            (_, 410) => Kind::Expired,
            (_, 400 | 403 | 405 | 406 | 415 | 422 | 501) => Kind::Unstreamed,
            _ => Kind::Other,
        };
        self.step = STREAM;
        self
    }

    /// Whether a list that does not come as a stream never will: a right can be given, and a stream can be cut once.
    pub(super) fn is_for_good(&self) -> bool {
        self.kind == Kind::Unstreamed && !matches!(self.code, 0 | 403)
    }

    /// Whether the server said this, rather than what lies before it.
    pub(super) fn is_answer(&self) -> bool {
        self.code != 0
    }

    /// Whether an operator who read the other need not read this one.
    pub(super) fn repeats(&self, other: &Self) -> bool {
        (self.kind, self.step, self.code) == (other.kind, other.step, other.code)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed to {}: {}", self.step, self.text)
    }
}

/// The step of a list that comes as a stream.
const STREAM: &str = "stream the list";

/// Whether an outage, not the server, ended what was under way.
fn is_interruption(error: &kube::Error) -> bool {
    let first: &(dyn Error + 'static) = error;
    let mut causes = iter::successors(Some(first), |error| Error::source(*error));
    let refused = matches!(
        ConnectError::within(error),
        Some(ConnectError::BreakerOpen { .. })
    );
    refused || causes.any(<dyn Error>::is::<Interrupted>)
}

/// A watch that cannot start for want of the version or the kind lists again; the list tells which it is. kube alone
/// would try the same version for ever.
fn kind(step: &str, code: u16) -> Kind {
    match (step, code) {
        (_, 403) => Kind::Forbidden,
        ("list", 404) => Kind::Absent,
        (_, 410) => Kind::Expired,
        ("start watching", 404) => Kind::Missing,
        _ => Kind::Other,
    }
}

/// The code of an answer, or 0, and a text fit for a log.
fn told(error: &kube::Error) -> (u16, String) {
    match error {
        kube::Error::Api(status) => (status.code, said(status)),
        kube::Error::SerdeError(e) => (0, redaction::undecodable(e)),
        kube::Error::Auth(_) => (0, NO_CREDENTIALS.to_owned()),
        kube::Error::Service(e) if e.is::<AuthError>() => (0, NO_CREDENTIALS.to_owned()),
        error => (0, shortened(&deepest(error))),
    }
}

/// What a status says. A body that is no status comes from something in between: only its code counts.
fn said(status: &kube::core::Status) -> String {
    if redaction::is_foreign(status) {
        return redaction::answered(status.code);
    }
    if status.message.is_empty() {
        return format!("the server answered {} {}", status.code, status.reason)
            .trim_end()
            .to_owned();
    }
    shortened(&format!("{} ({} {})", status.message, status.code, status.reason))
}

/// The last cause: the outer ones repeat it or say only that a service failed.
fn deepest(error: &kube::Error) -> String {
    redaction::texts(error).pop().unwrap_or_default()
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::core::Status;

    fn api(code: u16, message: &str, reason: &str) -> kube::Error {
        kube::Error::Api(Status::failure(message, reason).with_code(code).boxed())
    }

    #[test]
    fn answers_are_sorted_by_what_the_watch_does_about_them() {
        let list = |code| Failure::of(&watcher::Error::InitialListFailed(api(code, "no", "No"))).kind;
        let start = |code| Failure::of(&watcher::Error::WatchStartFailed(api(code, "no", "No"))).kind;
        assert_eq!(
            [list(404), list(403), list(410), list(500)],
            [Kind::Absent, Kind::Forbidden, Kind::Expired, Kind::Other]
        );
        assert_eq!(
            [start(404), start(403), start(410), start(429)],
            [Kind::Missing, Kind::Forbidden, Kind::Expired, Kind::Other]
        );
        let stream = |code| {
            let refused = watcher::Error::WatchStartFailed(api(code, "no", "No"));
            Failure::of(&refused).of_stream()
        };
        assert_eq!(
            [404, 403, 410, 500, 422].map(|code| stream(code).kind),
            [
                Kind::Absent,
                Kind::Unstreamed,
                Kind::Expired,
                Kind::Other,
                Kind::Unstreamed
            ]
        );
        assert!(stream(422).is_for_good() && !stream(403).is_for_good());
    }

    #[test]
    fn what_an_open_breaker_ends_is_an_interruption_however_deep() {
        let since = tokio::time::Instant::now();
        let refused = ConnectError::BreakerOpen { since };
        let inner = kube::Error::Service(Box::new(refused));
        let nested = kube::Error::Service(Box::new(inner));
        let ours = kube::Error::Service(Box::new(Interrupted));
        for error in [nested, ours] {
            let failure = Failure::of(&watcher::Error::WatchFailed(error));
            assert_eq!(failure.kind, Kind::Interrupted);
        }
    }

    #[test]
    fn a_value_that_does_not_decode_is_not_quoted() {
        let error = serde_json::from_str::<u32>("\"hunter2\"").unwrap_err();
        let failure = Failure::of(&watcher::Error::InitialListFailed(kube::Error::SerdeError(error)));
        assert!(!failure.to_string().contains("hunter2"), "{failure}");
        assert!(failure.to_string().contains("line 1"), "{failure}");
    }

    #[test]
    fn a_page_of_a_proxy_is_told_by_its_code_alone() {
        let page = api(502, "<html>token=hunter2</html>", "Failed to parse error data");
        let failure = Failure::of(&watcher::Error::InitialListFailed(page));
        assert_eq!(failure.to_string(), "failed to list: the server answered 502");
    }

    #[test]
    fn a_refusal_says_what_is_missing() {
        let text = "configmaps is forbidden: User \"x\" cannot list resource \"configmaps\"";
        let failure = Failure::of(&watcher::Error::InitialListFailed(api(403, text, "Forbidden")));
        assert!(failure.to_string().contains("cannot list resource"), "{failure}");
    }
}
