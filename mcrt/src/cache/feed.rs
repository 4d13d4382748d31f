//! The events of one watch, for ever: permits before a list, backoff after a failure, a fresh start when it helps.
use super::{
    failure::{Failure, Kind},
    limits::{ClusterLists, ListPermit},
    pruned::Pruned,
    pulse::{Pulse, SILENCE},
    scope::Cacheable,
};
use crate::jitter::around;
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use kube::{
    Api,
    runtime::{
        utils::Backoff,
        watcher::{self, DefaultBackoff, Event, watcher},
    },
};
use std::{
    convert::Infallible,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};
use tokio::time::Instant;

/// What a feed gives to the writer.
pub(super) enum Fed<K> {
    Event(Event<Pruned<K>>),
    /// The server accepted the watch.
    Opened,
    /// The feed failed, and will go on after a pause of its own.
    Failed(Failure),
}

/// Everything that one watch needs.
pub(super) struct Feed<K> {
    api: Api<Pruned<K>>,
    config: watcher::Config,
    events: BoxStream<'static, watcher::Result<Event<Pruned<K>>>>,
    lists: ClusterLists,
    pulse: Arc<Pulse>,
    overdue_after: Duration,
    retry_after: Duration,
    backoff: DefaultBackoff,
    pause: Option<Duration>,
    listing: bool,
    permit: Option<ListPermit>,
    /// Whether the version ran out and nothing was watched since: then a list alone is no progress.
    expired: bool,
}

/// How patient a feed is.
#[derive(Clone, Copy)]
pub(super) struct Patience {
    /// From here on a list gives its permit of the fleet back.
    pub(super) overdue_after: Duration,
    /// Between attempts at what is absent or forbidden.
    pub(super) retry_after: Duration,
}

impl<K: Cacheable> Feed<K> {
    pub(super) fn new(
        api: Api<Pruned<K>>,
        config: watcher::Config,
        lists: ClusterLists,
        pulse: Arc<Pulse>,
        patience: Patience,
    ) -> Self {
        Self {
            events: watcher(api.clone(), config.clone()).boxed(),
            api,
            config,
            lists,
            pulse,
            overdue_after: patience.overdue_after,
            retry_after: patience.retry_after,
            backoff: DefaultBackoff::default(),
            pause: None,
            listing: false,
            permit: None,
            expired: false,
        }
    }

    pub(super) fn into_stream(self) -> BoxStream<'static, Fed<K>> {
        stream::unfold(self, |mut feed| async move { Some((feed.next().await, feed)) }).boxed()
    }

    async fn next(&mut self) -> Fed<K> {
        if let Some(pause) = self.pause.take() {
            tokio::time::sleep(pause).await;
        }
        // kube says Init before it lists: here the list waits for its turn.
        if self.listing && self.permit.is_none() {
            self.permit = self.lists.permit(self.overdue_after).await.ok();
        }
        let came = tokio::select! {
            biased;
            () = self.pulse.opened.notified() => Came::Opened,
            event = self.events.next() => Came::of(event),
            () = silence(&self.pulse), if self.listing => Came::Failure(Failure::silent()),
            never = overdue(self.permit.as_mut()) => match never {},
        };
        match came {
            Came::Opened => {
                self.pulse.failing.store(false, Relaxed);
                Fed::Opened
            }
            Came::Event(event) => self.progress(event),
            Came::Failure(failure) => self.fail(failure),
        }
    }

    fn progress(&mut self, event: Event<Pruned<K>>) -> Fed<K> {
        match event {
            Event::Init => {
                self.listing = true;
                self.pulse.lists.fetch_add(1, Relaxed);
            }
            Event::InitDone => {
                self.list_ends(true);
                if !self.expired {
                    self.recovered();
                }
            }
            Event::Apply(_) | Event::Delete(_) => {
                self.expired = false;
                self.recovered();
            }
            Event::InitApply(_) => {}
        }
        Fed::Event(event)
    }

    fn recovered(&mut self) {
        self.backoff.reset();
        self.pulse.failing.store(false, Relaxed);
    }

    /// The failure is told first and slept on afterwards, so that nobody waits to hear of it.
    fn fail(&mut self, failure: Failure) -> Fed<K> {
        self.list_ends(failure.is_answer());
        self.pulse.failing.store(true, Relaxed);
        self.pause = match failure.kind {
            Kind::Absent | Kind::Forbidden => Some(around(self.retry_after)),
            Kind::Expired | Kind::Silent | Kind::Other => self.backoff.next(),
        };
        if failure.kind == Kind::Expired {
            self.expired = true;
        }
        if matches!(failure.kind, Kind::Expired | Kind::Silent) {
            self.events = watcher(self.api.clone(), self.config.clone()).boxed();
        }
        Fed::Failed(failure)
    }

    fn list_ends(&mut self, answered: bool) {
        self.listing = false;
        if let Some(permit) = self.permit.take().filter(|_| answered) {
            permit.answered();
        }
    }
}

/// What a feed waits for.
enum Came<K> {
    Opened,
    Event(Event<Pruned<K>>),
    Failure(Failure),
}

impl<K> Came<K> {
    fn of(event: Option<watcher::Result<Event<Pruned<K>>>>) -> Self {
        match event {
            Some(Ok(event)) => Self::Event(event),
            Some(Err(error)) => Self::Failure(Failure::of(&error)),
            // kube's watcher never ends; should it, another takes over.
            None => Self::Failure(Failure::silent()),
        }
    }
}

/// Waits until the server has said nothing for too long. A list may take its time while bytes arrive.
async fn silence(pulse: &Pulse) {
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
async fn overdue(permit: Option<&mut ListPermit>) -> Infallible {
    match permit {
        Some(permit) => permit.yield_when_overdue().await,
        None => std::future::pending().await,
    }
}
