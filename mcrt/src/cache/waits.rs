//! What a feed waits for: the end of a pause, a breaker, a server that falls silent, a list that takes too long.
use super::{
    limits::ListPermit,
    pulse::{Pulse, SILENCE},
    served::Awaited,
};
use crate::connect::Circuit;
use std::{convert::Infallible, time::Duration};
use tokio::{sync::watch, time::Instant};

/// What a feed waits for before it goes on.
pub(super) enum Pause {
    Until(Instant),
    /// The kind to be served.
    Absent(Awaited),
}

impl Pause {
    pub(super) fn of(pause: Duration) -> Self {
        Self::Until(Instant::now() + pause)
    }

    pub(super) async fn over(&mut self) {
        match self {
            Self::Until(at) => tokio::time::sleep_until(*at).await,
            Self::Absent(awaited) => awaited.served().await,
        }
    }
}

pub(super) async fn opens(circuit: &mut watch::Receiver<Circuit>) {
    if circuit.wait_for(|circuit| !circuit.is_closed()).await.is_err() {
        // The breaker is held by the feed itself.
        std::future::pending::<()>().await;
    }
}

pub(super) async fn closes(circuit: &mut watch::Receiver<Circuit>) {
    if circuit.wait_for(|circuit| circuit.is_closed()).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Waits until the server has said nothing for too long. A list may take its time while bytes arrive.
pub(super) async fn silence(pulse: &Pulse) {
    let begin = Instant::now();
    loop {
        let due = pulse.last_message().map_or(begin, |last| last.max(begin)) + SILENCE;
        if Instant::now() >= due {
            return;
        }
        tokio::time::sleep_until(due).await;
    }
}

/// Lets a list that takes too long yield to the fleet.
pub(super) async fn overdue(permit: Option<&mut ListPermit>) -> Infallible {
    match permit {
        Some(permit) => permit.yield_when_overdue().await,
        None => std::future::pending().await,
    }
}
