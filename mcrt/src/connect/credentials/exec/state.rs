//! What a credential program last gave, and when it is to run again.
use super::{
    super::certificate,
    answer::Credential,
    failure::Failure,
    schedule::{again_after, refresh_after},
};
use http::HeaderValue;
use rustls::sign::CertifiedKey;
use std::sync::Arc;
use tokio::time::Instant;

#[derive(Default)]
pub(super) struct State {
    held: Option<Held>,
    failed: Option<Failed>,
    pub(super) runs: u64,
    /// Counts changes of the certificate.
    pub(super) generation: u64,
}

struct Held {
    credential: Credential,
    until: Option<Instant>,
    refresh: Option<Instant>,
}

struct Failed {
    why: Failure,
    in_a_row: u32,
    /// When it may run again.
    again: Instant,
}

impl State {
    /// What was given, unless it has expired.
    pub(super) fn valid(&self) -> Option<&Credential> {
        let held = self.held.as_ref()?;
        let valid = held.until.is_none_or(|until| Instant::now() < until);
        valid.then_some(&held.credential)
    }

    /// When the program is to run without having been asked: while something is valid, to refresh it.
    pub(super) fn due(&self) -> Option<Instant> {
        self.valid()?;
        let refresh = self.held.as_ref()?.refresh;
        match (&self.failed, refresh) {
            (Some(failed), Some(refresh)) => Some(failed.again.max(refresh)),
            (_, refresh) => refresh,
        }
    }

    /// Why it failed, while it is left alone for that.
    pub(super) fn left_alone(&self) -> Option<&Failure> {
        let failed = self.failed.as_ref()?;
        (Instant::now() < failed.again).then_some(&failed.why)
    }

    /// The certificate that was given last.
    pub(super) fn certificate(&self) -> Option<&Arc<CertifiedKey>> {
        self.held.as_ref()?.credential.certificate.as_ref()
    }

    /// Goes on with what a run gave.
    pub(super) fn take(&mut self, given: Result<Credential, Failure>) {
        self.runs += 1;
        match given {
            Ok(credential) => {
                if !certificate::same(self.certificate(), credential.certificate.as_ref()) {
                    self.generation += 1;
                }
                self.failed = None;
                self.held = Some(Held::new(credential));
            }
            Err(why) => {
                let in_a_row = self.failed.as_ref().map_or(0, |failed| failed.in_a_row) + 1;
                self.failed = Some(Failed {
                    why,
                    in_a_row,
                    again: Instant::now() + again_after(in_a_row),
                });
            }
        }
    }

    /// Whether what is shown now differs from what was sent.
    pub(super) fn differs(&self, sent: Option<&HeaderValue>, generation: u64) -> bool {
        let shown = self.valid().map(|credential| credential.header.as_ref());
        self.generation != generation || shown.is_some_and(|shown| shown != sent)
    }
}

impl Held {
    fn new(credential: Credential) -> Self {
        let now = Instant::now();
        Self {
            // Nothing is that far away, if it cannot be added.
            until: credential.lasts.and_then(|lasts| now.checked_add(lasts)),
            refresh: credential.lasts.map(|lasts| now + refresh_after(lasts)),
            credential,
        }
    }
}
