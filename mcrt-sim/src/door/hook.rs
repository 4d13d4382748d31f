//! What a hook may decide about a request before the server answers it.

use std::time::Duration;

/// The fate of a request.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Verdict {
    /// Answer it.
    Pass,
    /// Wait, then answer it.
    Delay(Duration),
    /// Never answer; ends when the caller gives up.
    Hang,
    /// Send the headers of a success, then nothing, and never close.
    HangBody,
    /// Answer with a `Status` object.
    Fail {
        /// HTTP status code.
        code: u16,
        /// Machine-readable reason.
        reason: &'static str,
        /// Sentence for people.
        message: String,
    },
    /// Answer a watch with 200 and one `ERROR` event, then close; answer anything else as `Fail` does.
    WatchError {
        /// Code inside the event.
        code: u16,
        /// Machine-readable reason.
        reason: &'static str,
        /// Sentence for people.
        message: String,
    },
    /// Break the connection without an answer.
    Reset,
}

impl Verdict {
    /// An HTTP answer 410: the version or the page asked for is gone.
    pub fn gone() -> Self {
        Self::Fail {
            code: 410,
            reason: "Expired",
            message: TOO_OLD.to_owned(),
        }
    }

    /// The 410 that a watch gets inside its stream.
    pub fn watch_gone() -> Self {
        Self::WatchError {
            code: 410,
            reason: "Expired",
            message: TOO_OLD.to_owned(),
        }
    }

    /// An answer of a code with the reason that belongs to it.
    pub fn fail(code: u16) -> Self {
        let reason = match code {
            400 => "BadRequest",
            401 => "Unauthorized",
            403 => "Forbidden",
            404 => "NotFound",
            409 => "Conflict",
            410 => "Expired",
            422 => "Invalid",
            429 => "TooManyRequests",
            503 => "ServiceUnavailable",
            504 => "Timeout",
            _ => "InternalError",
        };
        Self::Fail {
            code,
            reason,
            message: format!("refused by a hook with {code}"),
        }
    }
}

pub(crate) const TOO_OLD: &str = "too old resource version";
