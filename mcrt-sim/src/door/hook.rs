//! What a hook may decide about a request before the server answers it.

use std::time::Duration;

use crate::faults::fault::{Fault, Refusal, What};
use crate::refusal::status::{TOO_OLD, reason_of};

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
    /// Let all of these happen to it.
    Faults(Vec<Fault>),
}

impl From<Fault> for Verdict {
    fn from(fault: Fault) -> Self {
        Self::Faults(vec![fault])
    }
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
        let reason = reason_of(code);
        Self::Fail {
            code,
            reason,
            message: format!("refused by a hook with {code}"),
        }
    }

    /// The same in faults.
    pub(crate) fn into_faults(self) -> Vec<Fault> {
        let refusal = |code, reason: &'static str, message| Refusal {
            code,
            reason: reason.into(),
            message,
            retry_after: None,
        };
        let what = match self {
            Self::Pass => return Vec::new(),
            Self::Faults(faults) => return faults,
            Self::Delay(delay) => What::Delay(delay),
            Self::Hang => What::Hang,
            Self::HangBody => What::HangBody,
            Self::Reset => What::Reset,
            Self::Fail {
                code,
                reason,
                message,
            } => What::Status(refusal(code, reason, message)),
            Self::WatchError {
                code,
                reason,
                message,
            } => What::WatchError(refusal(code, reason, message)),
        };
        vec![Fault(what)]
    }
}
