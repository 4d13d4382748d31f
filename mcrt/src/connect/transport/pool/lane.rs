//! Connections that carry requests of one kind: as few as may be, dialled once however many wait.
use super::{
    Inner,
    http2::{Http2, Slot},
};
use crate::connect::transport::dial::{DialError, Reason};
use parking_lot::Mutex;
use std::{
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::sync::watch;

/// A connection beyond the first is dropped when it has carried nothing and is this old.
const SPARE: Duration = Duration::from_mins(1);
/// No look at an idle connection comes sooner after another, whatever is set.
const SHORTEST: Duration = Duration::from_millis(10);
/// How many dials a request waits for whose connections take nothing: a server that closes each at once gets no more.
const ATTEMPTS: usize = 4;

/// Which lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Watches and logs: their number on a connection is bounded, because each holds a stream.
    Lasting,
    /// All others: what is too much for the server waits its turn.
    Passing,
}

#[derive(Default)]
pub(super) struct Lane(Mutex<State>);

#[derive(Default)]
struct State {
    connections: Vec<Arc<Http2>>,
    dialing: Option<watch::Receiver<Option<Outcome>>>,
}

/// What came of a dial, for all who wait for it.
#[derive(Clone)]
pub(super) enum Outcome {
    Http2(Arc<Http2>),
    Http1,
    Failed(DialError),
}

/// Where a request goes.
pub(super) enum Way {
    Http2(Slot),
    /// The server does not speak HTTP/2.
    Http1,
}

impl Lane {
    /// Finds a place for a request, on a new connection if there is none. A request that does not count takes a place
    /// wherever there is a connection.
    pub(super) async fn way(pool: &Arc<Inner>, kind: Kind, counts: bool) -> Result<Way, DialError> {
        let mut attempts = 0;
        while attempts < ATTEMPTS {
            let mut dialing = match pool.lane(kind).find_or_dial(pool, kind, counts) {
                Ok(slot) => return Ok(Way::Http2(slot)),
                Err(dialing) => dialing,
            };
            let outcome = dialing.wait_for(Option::is_some).await;
            match outcome.ok().and_then(|outcome| outcome.clone()) {
                // Others have filled it: there were more of us than it takes.
                Some(Outcome::Http2(made)) if made.takes(pool.dialer.generation()) => {}
                Some(Outcome::Http2(_)) => attempts += 1,
                Some(Outcome::Http1) => return Ok(Way::Http1),
                Some(Outcome::Failed(error)) => return Err(error),
                None => return Err(pool.dialer.failed(Reason::Ended)),
            }
        }
        let reason = "it closes every connection at once".into();
        Err(pool.dialer.failed(Reason::Tcp(reason)))
    }

    /// Whether there is a connection, or will be one at once.
    pub(super) fn is_in_use(&self) -> bool {
        let state = self.0.lock();
        state.dialing.is_some() || !state.connections.is_empty()
    }

    /// Whether a connection takes one more request that counts.
    pub(super) fn has_room(&self, share: usize, generation: u64) -> bool {
        let state = self.0.lock();
        let mut connections = state.connections.iter();
        connections.any(|connection| connection.takes(generation) && connection.has_room(share))
    }

    fn find_or_dial(
        &self,
        pool: &Arc<Inner>,
        kind: Kind,
        counts: bool,
    ) -> Result<Slot, watch::Receiver<Option<Outcome>>> {
        let mut state = self.0.lock();
        let share = match kind {
            Kind::Lasting if counts => pool.settings.watches_per_connection.get(),
            Kind::Lasting | Kind::Passing => usize::MAX,
        };
        state.tidy(pool.dialer.generation());
        let free = |connection: &&Arc<Http2>| share == usize::MAX || connection.has_room(share);
        if let Some(connection) = state.connections.iter().find(free) {
            return Ok(Slot::take(connection, counts));
        }
        if let Some(dialing) = &state.dialing {
            return Err(dialing.clone());
        }
        let (done, dialing) = watch::channel(None);
        state.dialing = Some(dialing.clone());
        let task = Arc::clone(pool);
        pool.ward.spawn(async move {
            let opened = task.open().await;
            let (outcome, made) = task.lane(kind).dialled(opened);
            done.send_replace(Some(outcome));
            // It holds the connection.
            drop(done);
            if let (Kind::Passing, Some(made)) = (kind, made) {
                let (pool, every) = (Arc::downgrade(&task), task.settings.idle_timeout);
                drop(task);
                drop_idle(&pool, &made, every.max(SHORTEST)).await;
            }
        });
        Err(dialing)
    }

    /// Ends a dial: its connection takes requests from now on.
    fn dialled(&self, opened: Result<Option<Http2>, DialError>) -> (Outcome, Option<Weak<Http2>>) {
        let mut state = self.0.lock();
        state.dialing = None;
        match opened {
            Ok(Some(connection)) => {
                let connection = Arc::new(connection);
                let made = Arc::downgrade(&connection);
                state.connections.push(Arc::clone(&connection));
                (Outcome::Http2(connection), Some(made))
            }
            Ok(None) => (Outcome::Http1, None),
            Err(error) => (Outcome::Failed(error), None),
        }
    }
}

/// Drops a connection of passing requests from its lane once it has carried nothing from one look to the next.
async fn drop_idle(pool: &Weak<Inner>, made: &Weak<Http2>, every: Duration) {
    loop {
        tokio::time::sleep(every).await;
        let Some(pool) = pool.upgrade() else { return };
        let mut state = pool.passing.0.lock();
        let Some(connection) = made.upgrade() else { return };
        // Whatever is under way holds it too, and places are given under this lock.
        let (ours, unused) = (2, !connection.was_used());
        if unused && Arc::strong_count(&connection) == ours {
            state.connections.retain(|other| !Arc::ptr_eq(other, &connection));
            return;
        }
    }
}

impl State {
    /// Lets go of connections that take nothing more; what is under way on them goes on.
    fn tidy(&mut self, generation: u64) {
        let mut first = true;
        self.connections.retain(|connection| {
            let spare = !first && connection.open() == 0 && connection.made().elapsed() > SPARE;
            let keep = connection.takes(generation) && !spare;
            first &= !keep;
            keep
        });
    }
}
