//! What can happen to a request.

use std::borrow::Cow;
use std::time::Duration;

use crate::refusal::status::{Status, TOO_OLD, reason_of};

/// What happens to a request: something takes the place of its answer, comes before it, or spoils it.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault(pub(crate) What);

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum What {
    Delay(Duration),
    DelayBetween(Duration, Duration),
    Hang,
    HangBody,
    Status(Refusal),
    WatchError(Refusal),
    Reset,
    Refuse,
    LoseAnswer,
    Stall,
    Cut,
    SilenceAfter(Duration),
    CloseAfter(Duration),
    ResetAfter(Duration),
    ExpireAfter(Duration),
    Lag(Duration),
    WithoutBookmarks,
    Replay(u64),
    Behind(u64),
    AsOf(u64),
}

/// An answer that refuses.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) code: u16,
    pub(crate) reason: Cow<'static, str>,
    pub(crate) message: String,
    pub(crate) retry_after: Option<Duration>,
}

impl Refusal {
    pub(crate) fn of(code: u16) -> Self {
        let message = match code {
            401 => "Unauthorized".to_owned(),
            410 => TOO_OLD.to_owned(),
            _ => format!("refused with {code} by a fault"),
        };
        Self {
            code,
            reason: reason_of(code).into(),
            message,
            retry_after: None,
        }
    }

    pub(crate) fn status(&self) -> Status {
        let status = Status::new(self.code, self.reason.clone(), self.message.clone());
        match self.retry_after {
            Some(after) => status.retry_after(seconds(after)),
            None => status,
        }
    }
}

/// Whole seconds, which is all that the header can say.
pub(crate) fn seconds(after: Duration) -> u64 {
    after.as_secs() + u64::from(after.subsec_nanos() > 0)
}

/// Instead of the answer.
impl Fault {
    /// A `Status` of this code, with the reason that belongs to it.
    pub fn status(code: u16) -> Self {
        Self(What::Status(Refusal::of(code)))
    }

    /// 410: the version or the page that was asked for is gone.
    pub fn gone() -> Self {
        Self::status(410)
    }

    /// A watch gets 200 and one `ERROR` event of this code, then ends; anything else gets the code itself.
    pub fn watch_error(code: u16) -> Self {
        Self(What::WatchError(Refusal::of(code)))
    }

    /// The 410 that a watch gets inside its stream.
    pub fn watch_gone() -> Self {
        Self::watch_error(410)
    }

    /// Accepted and never answered, not even with headers.
    pub fn hang() -> Self {
        Self(What::Hang)
    }

    /// The headers of a success, then nothing, and never an end.
    pub fn hang_body() -> Self {
        Self(What::HangBody)
    }

    /// The connection breaks without an answer.
    pub fn reset() -> Self {
        Self(What::Reset)
    }

    /// The connection is refused, as by a port that nobody listens on.
    pub fn refuse() -> Self {
        Self(What::Refuse)
    }

    /// Says when to come again, of a fault with a status: in the header, and in the status.
    #[must_use]
    pub fn retry_after(self, after: Duration) -> Self {
        self.with(|refusal| refusal.retry_after = Some(after))
    }

    /// Another reason than the one that belongs to the code.
    #[must_use]
    pub fn reason(self, reason: impl Into<Cow<'static, str>>) -> Self {
        let reason = reason.into();
        self.with(|refusal| refusal.reason = reason)
    }

    /// Another sentence for people.
    #[must_use]
    pub fn message(self, message: impl Into<String>) -> Self {
        let message = message.into();
        self.with(|refusal| refusal.message = message)
    }

    fn with(mut self, change: impl FnOnce(&mut Refusal)) -> Self {
        if let What::Status(refusal) | What::WatchError(refusal) = &mut self.0 {
            change(refusal);
        }
        self
    }
}

/// Before the answer.
impl Fault {
    /// It takes this long.
    pub fn delay(delay: Duration) -> Self {
        Self(What::Delay(delay))
    }

    /// It takes between this long and that long; the plan's seed says how long.
    pub fn delay_between(least: Duration, most: Duration) -> Self {
        Self(What::DelayBetween(least, most))
    }
}

/// To the answer.
impl Fault {
    /// The request is carried out, then the connection breaks: its caller cannot know.
    pub fn lose_answer() -> Self {
        Self(What::LoseAnswer)
    }

    /// Half of the body, then silence; of a watch, its first frame.
    pub fn stall() -> Self {
        Self(What::Stall)
    }

    /// Half of the body, then a broken connection; of a watch, its first frame.
    pub fn cut() -> Self {
        Self(What::Cut)
    }

    /// A watch says nothing any more after this time, and never ends.
    pub fn silence_after(after: Duration) -> Self {
        Self(What::SilenceAfter(after))
    }

    /// A watch ends after this time, without an error.
    pub fn close_after(after: Duration) -> Self {
        Self(What::CloseAfter(after))
    }

    /// A watch breaks off after this time.
    pub fn reset_after(after: Duration) -> Self {
        Self(What::ResetAfter(after))
    }

    /// A watch gets a 410 inside its stream after this time.
    pub fn expire_after(after: Duration) -> Self {
        Self(What::ExpireAfter(after))
    }

    /// Everything that a watch says comes this much later.
    pub fn lag(lag: Duration) -> Self {
        Self(What::Lag(lag))
    }

    /// A watch gets no bookmarks, not even the one at the end of its initial events.
    pub fn without_bookmarks() -> Self {
        Self(What::WithoutBookmarks)
    }

    /// A watch from a version starts this many versions earlier: what its client knows comes again.
    pub fn replay(versions: u64) -> Self {
        Self(What::Replay(versions))
    }

    /// A read sees the state of this many versions ago, as far as the event log reaches.
    pub fn behind(versions: u64) -> Self {
        Self(What::Behind(versions))
    }

    /// A read sees the state as it was at a version, as far as the event log reaches.
    pub fn as_of(version: u64) -> Self {
        Self(What::AsOf(version))
    }
}
