//! What the faults of one request come to, taken together.

use std::time::Duration;

use crate::faults::fault::{Fault, Refusal, What};
use crate::state::view::View;

/// The sum of the faults of a request.
#[derive(Default)]
pub(crate) struct Effects {
    pub(crate) delay: Duration,
    pub(crate) instead: Option<Instead>,
    pub(crate) lost: bool,
    pub(crate) spoils: Vec<Spoil>,
    pub(crate) replay: u64,
    pub(crate) view: Option<View>,
}

/// What takes the place of an answer.
pub(crate) enum Instead {
    Hang,
    HangBody,
    Status(Refusal),
    WatchError(Refusal),
    Reset,
    Refuse,
}

/// What is done to the body of an answer.
#[derive(Clone, Copy)]
pub(crate) enum Spoil {
    Stall,
    Cut,
    SilenceAfter(Duration),
    CloseAfter(Duration),
    ResetAfter(Duration),
    ExpireAfter(Duration),
    Lag(Duration),
    WithoutBookmarks,
}

impl Effects {
    pub(crate) fn of(faults: Vec<Fault>) -> Self {
        let mut effects = Self::default();
        for fault in faults {
            effects.add(fault.0);
        }
        effects
    }

    fn add(&mut self, what: What) {
        match what {
            What::Delay(delay) => self.delay += delay,
            // Plans settle it; of a hook there is no seed.
            What::DelayBetween(least, _) => self.delay += least,
            What::Hang => self.take_place(Instead::Hang),
            What::HangBody => self.take_place(Instead::HangBody),
            What::Status(refusal) => self.take_place(Instead::Status(refusal)),
            What::WatchError(refusal) => self.take_place(Instead::WatchError(refusal)),
            What::Reset => self.take_place(Instead::Reset),
            What::Refuse => self.take_place(Instead::Refuse),
            What::LoseAnswer => self.lost = true,
            What::Stall => self.spoils.push(Spoil::Stall),
            What::Cut => self.spoils.push(Spoil::Cut),
            What::SilenceAfter(after) => self.spoils.push(Spoil::SilenceAfter(after)),
            What::CloseAfter(after) => self.spoils.push(Spoil::CloseAfter(after)),
            What::ResetAfter(after) => self.spoils.push(Spoil::ResetAfter(after)),
            What::ExpireAfter(after) => self.spoils.push(Spoil::ExpireAfter(after)),
            What::Lag(lag) => self.spoils.push(Spoil::Lag(lag)),
            What::WithoutBookmarks => self.spoils.push(Spoil::WithoutBookmarks),
            What::Replay(versions) => self.replay += versions,
            What::Behind(versions) => self.view = Some(View::Behind(versions)),
            What::AsOf(version) => self.view = Some(View::AsOf(version)),
        }
    }

    fn take_place(&mut self, instead: Instead) {
        self.instead.get_or_insert(instead);
    }
}
