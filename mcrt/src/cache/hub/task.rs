//! The one task of a shared watch.
use super::{
    super::{
        delta::Origin,
        failure::{Failure, Kind},
        fed::Fed,
        kept::Kept,
        pulse::Pulse,
        report,
        scope::{Cacheable, WatchScope},
        source::Feeds,
        status::StreamStatus,
    },
    group::{Group, Stamp},
    mailbox::Mailbox,
    stats::Counts,
};
use crate::connect::Division;
use ahash::RandomState;
use futures::{
    FutureExt, StreamExt,
    stream::{BoxStream, SelectAll},
};
use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Instant,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// What the seats of a shared watch ask of its hub.
pub(super) enum Command<K> {
    /// Tell this mailbox what belongs to the member: all that there is, then every change.
    Sit {
        member: Arc<str>,
        mailbox: Arc<Mailbox<K>>,
    },
    /// Tell it everything again: it was left behind.
    Repeat {
        member: Arc<str>,
        mailbox: Arc<Mailbox<K>>,
    },
    /// Tell it nothing more.
    Rise {
        member: Arc<str>,
        mailbox: Arc<Mailbox<K>>,
    },
}

pub(super) struct Hub<K: Cacheable> {
    division: Division,
    scope: WatchScope,
    feeds: Feeds<K>,
    pulses: Arc<[Arc<Pulse>]>,
    counts: Arc<Counts>,
    groups: HashMap<Arc<str>, Group<K>, RandomState>,
    /// None before the watch has started.
    streams: Vec<StreamStatus>,
    /// Whether every stream has been listed once.
    complete: bool,
    /// Why the watch cannot be had now, as all members were told.
    barred: Option<Failure>,
    /// Who was told something and is not woken yet.
    asleep: Vec<Arc<Mailbox<K>>>,
    /// Whether namespaces are clusters and the kind has objects that live in none: then it is barred for good.
    clustered: bool,
}

/// So many events are sorted out before anybody is woken.
const AT_ONCE: usize = 128;

type Merged<K> = SelectAll<BoxStream<'static, (usize, Fed<K>)>>;

impl<K: Cacheable> Hub<K> {
    pub(super) fn new(
        division: Division,
        scope: WatchScope,
        feeds: Feeds<K>,
        pulses: Arc<[Arc<Pulse>]>,
        counts: Arc<Counts>,
    ) -> Self {
        Self {
            division,
            scope,
            feeds,
            pulses,
            counts,
            groups: HashMap::default(),
            streams: Vec::new(),
            complete: false,
            barred: None,
            asleep: Vec::new(),
            clustered: false,
        }
    }

    pub(super) async fn run(
        mut self,
        mut commands: mpsc::UnboundedReceiver<Command<K>>,
        token: CancellationToken,
    ) {
        let mut merged = Merged::new();
        let mut cancelled = std::pin::pin!(token.cancelled());
        loop {
            tokio::select! {
                biased;
                () = &mut cancelled => break,
                Some(command) = commands.recv() => self.obey(command, &mut merged),
                Some((stream, fed)) = merged.next(), if !merged.is_empty() => self.sort_all(stream, fed, &mut merged),
            }
            // A page of objects is ready all at once: others of this thread get their turn.
            tokio::task::consume_budget().await;
        }
    }

    fn obey(&mut self, command: Command<K>, merged: &mut Merged<K>) {
        match command {
            Command::Sit { member, mailbox } => {
                self.start(merged);
                self.repeat(&member, &mailbox);
                let group = self.groups.entry(member).or_insert_with(Group::new);
                group.add_reader(mailbox);
            }
            Command::Repeat { member, mailbox } => self.repeat(&member, &mailbox),
            Command::Rise { member, mailbox } => {
                if let Some(group) = self.groups.get_mut(&member) {
                    group.remove_reader(&mailbox);
                    if group.is_idle() {
                        self.groups.remove(&member);
                    }
                }
            }
        }
    }

    fn start(&mut self, merged: &mut Merged<K>) {
        if !self.streams.is_empty() {
            return;
        }
        for (index, stream) in self.feeds.streams(&self.scope, &self.pulses).enumerate() {
            merged.push(stream.map(move |fed| (index, fed)).boxed());
            self.streams.push(StreamStatus::new());
        }
    }

    fn repeat(&self, member: &Arc<str>, mailbox: &Mailbox<K>) {
        let group = self.groups.get(member);
        let mut all = group.map_or_else(|| [Fed::ListBegins].into(), Group::listed);
        if self.complete && !self.clustered {
            all.push_back(Fed::ListEnds);
        }
        if let Some(failure) = &self.barred {
            all.push_back(Fed::failed(failure.clone()));
        }
        mailbox.begin(all);
    }

    /// Sorts out what has come, and only then wakes those whom it is for: to wake each for itself may take longer than
    /// everything else.
    fn sort_all(&mut self, stream: usize, fed: Fed<K>, merged: &mut Merged<K>) {
        let mut began = Instant::now();
        self.sort(stream, fed);
        self.took(began);
        for _ in 1..AT_ONCE {
            let Some(Some((stream, fed))) = merged.next().now_or_never() else {
                break;
            };
            began = Instant::now();
            self.sort(stream, fed);
            self.took(began);
        }
        began = Instant::now();
        for mailbox in self.asleep.drain(..) {
            mailbox.wake();
        }
        self.asleep.shrink_to(AT_ONCE);
        self.took(began);
    }

    fn took(&self, began: Instant) {
        let took = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.counts.nanos.fetch_add(took, Relaxed);
    }

    fn sort(&mut self, stream: usize, fed: Fed<K>) {
        match fed {
            Fed::ListBegins => self.streams[stream].list += 1,
            Fed::Listed(object) => {
                self.streams[stream].lists();
                self.put(stream, &object, Origin::List);
            }
            Fed::ListEnds => self.list_ends(stream),
            Fed::Changed(object) => self.put(stream, &object, Origin::Watch),
            Fed::Gone(object, _) => self.remove(&object),
            Fed::Opened => self.recovers(stream, StreamStatus::opened),
            Fed::Failed(failure) => self.failed(stream, *failure),
            // Of shared watches alone, and this is the one that is shared.
            Fed::Relisted => {}
        }
    }

    fn put(&mut self, stream: usize, object: &Kept<K>, origin: Origin) {
        self.counts.events.fetch_add(1, Relaxed);
        let stamp = self.stamp(stream);
        let Some(owner) = owner(self.division, object) else {
            return self.unowned();
        };
        if !self.groups.contains_key(&*owner) {
            self.groups.insert(Arc::from(&*owner), Group::new());
        }
        let told = self.groups.get_mut(&*owner).map_or(0, |group| {
            let before = group.len();
            let told = group.put(object, stamp, origin);
            self.counts.objects.fetch_add(group.len() - before, Relaxed);
            if told > 0 {
                self.asleep.extend(group.readers().iter().cloned());
            }
            told
        });
        self.told(told);
    }

    fn remove(&mut self, object: &Kept<K>) {
        self.counts.events.fetch_add(1, Relaxed);
        let Some(owner) = owner(self.division, object) else {
            return;
        };
        let Some(group) = self.groups.get_mut(&*owner) else {
            return;
        };
        let before = group.len();
        let told = group.remove(object);
        self.counts.objects.fetch_sub(before - group.len(), Relaxed);
        self.asleep.extend(group.readers().iter().cloned());
        if group.is_idle() {
            self.groups.remove(&*owner);
        }
        self.told(told);
    }

    fn told(&self, told: usize) {
        self.counts.told.fetch_add(told as u64, Relaxed);
    }

    /// Where namespaces are clusters, a kind whose objects have none cannot be watched in any.
    fn unowned(&mut self) {
        if self.counts.unowned.fetch_add(1, Relaxed) > 0 {
            return;
        }
        match self.division {
            Division::Namespaces => {
                let failure = Failure::clustered(&self.scope.resource);
                report::say_failure(&self.division, &self.scope, &failure, false);
                self.clustered = true;
                self.bar(failure);
            }
            Division::Workspaces => tracing::warn!(
                scope = %self.scope,
                "an object says of no logical cluster that it belongs to it: objects like it are left out",
            ),
        }
    }

    /// Lets go of what the list that ends did not name: it went while nobody watched.
    fn list_ends(&mut self, stream: usize) {
        let current = self.stamp(stream);
        let (mut objects, mut told) = (0, 0);
        self.groups.retain(|_, group| {
            let here = group.sweep(current);
            if here > 0 {
                self.asleep.extend(group.readers().iter().cloned());
            }
            told += here;
            objects += group.len();
            !group.is_idle()
        });
        self.counts.objects.store(objects, Relaxed);
        self.told(told);
        let first = !self.streams[stream].complete;
        self.recovers(stream, StreamStatus::listed);
        if first {
            self.complete = self.streams.iter().all(|stream| stream.complete);
        }
        if self.clustered {
            // Whoever has nothing in it is not in sync with it either.
            return;
        }
        if first && self.complete {
            self.tell_all(|| Fed::ListEnds);
        } else if !first && self.barred.is_none() {
            self.tell_all(|| Fed::Relisted);
        }
        if let Some(failure) = self.barred.clone() {
            // Still so for another reason than this stream, whose objects made a member look as if it were listed.
            self.tell_all(|| Fed::failed(failure.clone()));
        }
    }

    fn recovers(&mut self, stream: usize, how: fn(&mut StreamStatus) -> bool) {
        if how(&mut self.streams[stream]) {
            report::say_recovered(&self.division, &self.scope);
        }
        if self.barred.is_some() && !self.clustered && !self.streams.iter().any(StreamStatus::is_barred) {
            self.barred = None;
            self.tell_all(|| Fed::Opened);
        }
    }

    fn failed(&mut self, stream: usize, failure: Failure) {
        let same_within = self.feeds.shares.settings.retry_after.saturating_mul(3);
        let again = self.streams[stream].fails(&failure, same_within);
        report::say_failure(&self.division, &self.scope, &failure, again);
        // Other failures change nothing that a member shows; its age grows by itself.
        if matches!(failure.kind, Kind::Absent | Kind::Forbidden) {
            let told = self.barred.as_ref().is_some_and(|known| known.repeats(&failure));
            if !told {
                self.bar(failure);
            }
        }
    }

    fn bar(&mut self, failure: Failure) {
        self.tell_all(|| Fed::failed(failure.clone()));
        self.barred = Some(failure);
    }

    fn tell_all(&mut self, fed: impl Fn() -> Fed<K>) {
        for group in self.groups.values() {
            group.tell(&fed);
            self.asleep.extend(group.readers().iter().cloned());
        }
    }

    fn stamp(&self, stream: usize) -> Stamp {
        Stamp {
            stream: u32::try_from(stream).expect("a cache cannot name four billion namespaces"),
            list: self.streams[stream].list,
        }
    }
}

/// Which cluster an object belongs to.
fn owner<K: Cacheable>(division: Division, object: &Kept<K>) -> Option<Cow<'_, str>> {
    match division {
        Division::Namespaces => object.key().namespace.map(Cow::Borrowed),
        Division::Workspaces => object.logical_cluster(),
    }
}
