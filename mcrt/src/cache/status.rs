//! How the streams of a cache fare, one by one and together.
use super::{
    failure::{Failure, Kind},
    scope::WatchState,
};
use std::time::Duration;
use tokio::time::Instant;

/// A failure that comes again within this time is the same one, said already.
const SAME_FAILURE: Duration = Duration::from_mins(2);

/// How one stream fares; a cache has one per namespace it names, or one.
pub(super) struct StreamStatus {
    /// Counts its lists.
    pub(super) list: u32,
    /// Whether one of them was complete.
    pub(super) complete: bool,
    state: WatchState,
    failure: Option<(Failure, Instant)>,
}

impl StreamStatus {
    pub(super) fn new() -> Self {
        Self {
            list: 0,
            complete: false,
            state: WatchState::Syncing,
            failure: None,
        }
    }

    /// An object was listed. Says whether that changes the state: the kind was absent or forbidden before.
    pub(super) fn lists(&mut self) -> bool {
        let barred = self.is_barred();
        if barred {
            self.state = WatchState::Syncing;
        }
        barred
    }

    /// A list is complete. Says whether that ends a failure.
    pub(super) fn listed(&mut self) -> bool {
        self.complete = true;
        self.synced()
    }

    /// The server accepted the watch. Says whether that ends a failure: one that could list, but not watch.
    pub(super) fn opened(&mut self) -> bool {
        self.complete && self.is_barred() && self.synced()
    }

    /// Notes a failure. Says whether an operator was told of it already.
    pub(super) fn fails(&mut self, failure: &Failure, same_within: Duration) -> bool {
        let same_within = same_within.max(SAME_FAILURE);
        let is_same = |(told, at): &(Failure, Instant)| told.repeats(failure) && at.elapsed() < same_within;
        let again = self.failure.as_ref().is_some_and(is_same);
        self.failure = Some((failure.clone(), Instant::now()));
        match failure.kind {
            Kind::Absent => self.state = WatchState::Absent,
            Kind::Forbidden => self.state = WatchState::Forbidden,
            // What was synced stays readable and catches up; what never was is still on its way.
            Kind::Expired
            | Kind::Missing
            | Kind::Silent
            | Kind::Unstreamed
            | Kind::Interrupted
            | Kind::Other => {}
        }
        again
    }

    /// Whether the kind is absent or forbidden.
    pub(super) fn is_barred(&self) -> bool {
        matches!(self.state, WatchState::Absent | WatchState::Forbidden)
    }

    /// A stream that was synced all along keeps its failure in mind: it may come again and would be no news.
    fn synced(&mut self) -> bool {
        let before = std::mem::replace(&mut self.state, WatchState::Synced);
        before != WatchState::Synced && self.failure.take().is_some()
    }
}

/// The state of a cache: that of its worst stream.
pub(super) fn together(streams: &[StreamStatus]) -> WatchState {
    [WatchState::Forbidden, WatchState::Absent, WatchState::Syncing]
        .into_iter()
        .find(|state| streams.iter().any(|stream| stream.state == *state))
        .unwrap_or(WatchState::Synced)
}
