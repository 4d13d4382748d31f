//! The events of one watch, for ever: permits before a list, backoff after a failure, a fresh start when it helps.
use super::{
    backoff::Backoff,
    failure::{Failure, Kind},
    fed::Fed,
    limits::{ClusterLists, ListPermit},
    observed::asking,
    pruned::Pruned,
    pulse::Pulse,
    scope::Cacheable,
    served::Served,
    settings::CacheSettings,
    streaming::{Streaming, unmarked},
    waits::{Pause, closes, opens, overdue, silence},
};
use crate::{
    connect::{Breaker, Circuit},
    jitter::{around, between},
};
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use kube::{
    Api,
    core::ApiResource,
    runtime::watcher::{self, Event, InitialListStrategy, watcher},
};
use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};
use tokio::{sync::watch, time::Instant};

/// Watches go on within this time after an outage, by chance: those of a whole cluster return at once.
const RETURN_SPREAD: Duration = Duration::from_secs(1);
/// A watch that was open for this long before it failed had recovered, though a quiet one has nothing to say.
const ESTABLISHED: Duration = Duration::from_secs(30);
/// Longest pause that a server may ask for.
const MAX_RETRY_AFTER: Duration = Duration::from_mins(1);

/// What all feeds of a cluster share.
#[derive(Clone)]
pub(super) struct Shares {
    pub(super) lists: ClusterLists,
    /// While it is open, nothing is polled.
    pub(super) breaker: Breaker,
    pub(super) served: Arc<Served>,
    /// Whether the cluster streams lists, as far as is known.
    pub(super) streaming: Streaming,
    pub(super) settings: CacheSettings,
}

/// Everything that one watch needs.
pub(super) struct Feed<K> {
    api: Api<Pruned<K>>,
    config: watcher::Config,
    kind: ApiResource,
    events: BoxStream<'static, watcher::Result<Event<Pruned<K>>>>,
    shares: Shares,
    circuit: watch::Receiver<Circuit>,
    pulse: Arc<Pulse>,
    backoff: Backoff,
    pause: Option<Pause>,
    /// Whether the list of `events` is still to be completed, and how it comes.
    fresh: bool,
    strategy: InitialListStrategy,
    /// Since when it runs.
    listing: Option<Instant>,
    permit: Option<ListPermit>,
    /// Whether the version ran out and nothing was watched since: then a list alone is no progress.
    expired: bool,
    /// Since when the server has accepted watches without a failure.
    opened: Option<Instant>,
    /// Whether it went on at once after an outage and has got nothing since.
    returned: bool,
}

impl<K: Cacheable> Feed<K> {
    pub(super) fn new(
        api: Api<Pruned<K>>,
        config: watcher::Config,
        kind: ApiResource,
        shares: Shares,
        pulse: Arc<Pulse>,
    ) -> Self {
        let mut feed = Self {
            api,
            config,
            kind,
            events: stream::empty().boxed(),
            circuit: shares.breaker.changes(),
            shares,
            pulse,
            backoff: Backoff::new(),
            pause: None,
            fresh: true,
            strategy: InitialListStrategy::ListWatch,
            listing: None,
            permit: None,
            expired: false,
            opened: None,
            returned: false,
        };
        feed.renew();
        feed
    }

    pub(super) fn into_stream(self) -> BoxStream<'static, Fed<K>> {
        stream::unfold(self, |mut feed| async move { Some((feed.next().await, feed)) }).boxed()
    }

    async fn next(&mut self) -> Fed<K> {
        loop {
            let mut circuit = self.circuit.clone();
            let came = tokio::select! {
                biased;
                () = opens(&mut circuit) => None,
                came = self.go_on() => Some(came),
            };
            let fed = match came {
                None => {
                    self.sit_out().await;
                    None
                }
                Some(Came::Opened) => self.accepted(),
                Some(Came::Event(event)) => self.progress(event),
                Some(Came::Failure(failure)) => self.fail(failure),
            };
            if let Some(fed) = fed {
                return fed;
            }
        }
    }

    /// The next thing that comes; may be dropped and called again.
    async fn go_on(&mut self) -> Came<K> {
        if let Some(pause) = &mut self.pause {
            pause.over().await;
            self.pause = None;
        }
        // kube says Init before it asks for pages, and after it asked for a stream: either waits for its turn.
        let lists = self.listing.is_some() || (self.fresh && self.streams());
        if lists && self.permit.is_none() {
            let overdue_after = self.shares.settings.list_overdue_after;
            self.permit = self.shares.lists.permit(overdue_after).await.ok();
            if self.streams() && self.listing.is_none() {
                self.pulse.lists.fetch_add(1, Relaxed);
            }
        }
        let (since, streams) = (self.listing.unwrap_or_else(Instant::now), self.streams());
        tokio::select! {
            biased;
            () = self.pulse.opened.notified() => Came::Opened,
            event = asking(Arc::clone(&self.pulse), self.events.next()) => Came::of(event),
            () = silence(&self.pulse), if self.listing.is_some() && !streams => Came::Failure(Failure::silent()),
            () = unmarked(&self.pulse, since), if self.listing.is_some() && streams => {
                Came::Failure(Failure::unmarked())
            }
            never = overdue(self.permit.as_mut()) => match never {},
        }
    }

    /// While the breaker is open nothing is polled and nothing is held. A list starts again afterwards; a watch goes
    /// on from its last version.
    async fn sit_out(&mut self) {
        self.look_back();
        self.list_ends(false);
        self.pulse.failing.store(true, Relaxed);
        self.pulse.interrupt();
        if self.fresh {
            self.renew();
        }
        closes(&mut self.circuit).await;
        if matches!(self.pause, Some(Pause::Absent(_))) {
            return;
        }
        // At once; but a cluster that only pretends to be back is not listed at each of its returns.
        let again = std::mem::replace(&mut self.returned, true);
        self.pause = Some(Pause::of(if again {
            self.backoff.pause()
        } else {
            between(Duration::ZERO, RETURN_SPREAD)
        }));
    }

    /// A stream that is still to say what exists has not recovered yet.
    fn accepted(&mut self) -> Option<Fed<K>> {
        if self.fresh {
            return None;
        }
        self.pulse.failing.store(false, Relaxed);
        self.opened.get_or_insert_with(Instant::now);
        Some(Fed::Opened)
    }

    fn progress(&mut self, event: Event<Pruned<K>>) -> Option<Fed<K>> {
        match event {
            // kube begins a stream that ended too early again, and says no more of it than this.
            Event::Init if self.streams() && self.listing.is_some() => return self.fail(Failure::cut()),
            Event::Init => {
                self.listing = Some(Instant::now());
                self.fresh = true;
                if !self.streams() {
                    self.pulse.lists.fetch_add(1, Relaxed);
                }
            }
            Event::InitDone => {
                self.list_ends(true);
                self.fresh = false;
                self.shares.streaming.listed();
                if self.streams() {
                    // Its stream is the watch.
                    self.opened = Some(Instant::now());
                }
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
        Some(event.into())
    }

    fn recovered(&mut self) {
        self.backoff.reset();
        self.returned = false;
        self.pulse.failing.store(false, Relaxed);
    }

    /// A watch that was open for long, and fails now, had recovered.
    fn look_back(&mut self) {
        if self
            .opened
            .take()
            .is_some_and(|since| since.elapsed() >= ESTABLISHED)
        {
            self.expired = false;
            self.returned = false;
            self.backoff.reset();
        }
    }

    /// The failure is told first and slept on afterwards, so that nobody waits to hear of it. What an outage broke is
    /// no failure of the watch.
    fn fail(&mut self, failure: Failure) -> Option<Fed<K>> {
        let streamed = self.fresh && self.streams();
        let failure = if streamed { failure.of_stream() } else { failure };
        self.look_back();
        self.list_ends(failure.is_answer());
        self.pulse.failing.store(true, Relaxed);
        if failure.kind == Kind::Unstreamed {
            self.shares.streaming.fails(failure.is_for_good());
        }
        self.expired |= matches!(failure.kind, Kind::Expired | Kind::Missing);
        if streamed || matches!(failure.kind, Kind::Expired | Kind::Missing | Kind::Silent) {
            self.renew();
        }
        self.pause = self.pause_after(failure.kind);
        (failure.kind != Kind::Interrupted).then(|| Fed::failed(failure))
    }

    fn pause_after(&mut self, kind: Kind) -> Option<Pause> {
        let wished = self.pulse.take_retry_after().min(MAX_RETRY_AFTER);
        match kind {
            Kind::Interrupted | Kind::Unstreamed => None,
            Kind::Absent => Some(Pause::Absent(self.shares.served.await_kind(&self.kind))),
            Kind::Forbidden => Some(Pause::of(around(self.shares.settings.retry_after))),
            Kind::Expired | Kind::Missing | Kind::Silent | Kind::Other => {
                Some(Pause::of(self.backoff.pause().max(wished)))
            }
        }
    }

    /// Begins with a list again: kube cannot be told to.
    fn renew(&mut self) {
        self.strategy = self.shares.streaming.strategy();
        let mut config = self.config.clone();
        config.initial_list_strategy = self.strategy.clone();
        (self.fresh, self.listing) = (true, None);
        self.events = watcher(self.api.clone(), config).boxed();
    }

    fn streams(&self) -> bool {
        self.strategy == InitialListStrategy::StreamingList
    }

    fn list_ends(&mut self, answered: bool) {
        self.listing = None;
        if let Some(permit) = self.permit.take().filter(|_| answered) {
            permit.answered();
        }
    }
}

/// What comes to a feed.
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
