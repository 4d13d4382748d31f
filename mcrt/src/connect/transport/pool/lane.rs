//! Connections that carry requests of one kind: as few as may be, dialled once however many wait.
use super::{
    Inner,
    http2::{Http2, Slot},
};
use crate::connect::transport::dial::{DialError, Reason};
use parking_lot::Mutex;
use std::{sync::Arc, time::Duration};
use tokio::sync::watch;

/// A connection beyond the first is dropped when it has carried nothing and is this old.
const SPARE: Duration = Duration::from_mins(1);
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
            let outcome = match task.open().await {
                Ok(Some(connection)) => Ok(connection),
                Ok(None) => Err(Outcome::Http1),
                Err(error) => Err(Outcome::Failed(error)),
            };
            let mut state = task.lane(kind).0.lock();
            state.dialing = None;
            let outcome = match outcome {
                Ok(connection) => {
                    let made = Arc::new(connection);
                    state.connections.push(Arc::clone(&made));
                    Outcome::Http2(made)
                }
                Err(outcome) => outcome,
            };
            drop(state);
            done.send_replace(Some(outcome));
        });
        Err(dialing)
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
