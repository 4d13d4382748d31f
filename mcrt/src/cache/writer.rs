//! The one task of a cache that changes its table and runs the user's code.
use super::{
    delta::{Delta, Origin},
    failure::Failure,
    fed::Fed,
    index::{Indexer, Values},
    kept::{Kept, Seen},
    scope::{Cacheable, WatchState},
    shared::Shared,
    source::Source,
    status::{self, StreamStatus},
    subscribers::Subscriber,
};
use futures::{
    StreamExt,
    stream::{BoxStream, SelectAll},
};
use std::{
    ops::ControlFlow,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, atomic::Ordering},
};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// What the handles of a cache ask of its writer.
pub(super) enum Command<K> {
    /// Start the watch.
    Start,
    /// Attach a sink and replay what exists.
    Subscribe(Subscriber<K>, oneshot::Sender<()>),
    /// Add an index and answer with its number.
    Index(Box<dyn Indexer<K>>, oneshot::Sender<usize>),
    /// Remove the index of that number.
    Unindex(usize),
    /// Drop the subscribers that detached.
    Sweep,
    /// Nobody uses the cache any more: end the watch.
    End,
}

pub(super) struct Writer<K: Cacheable> {
    shared: Arc<Shared<K>>,
    source: Source<K>,
    subscribers: Vec<Subscriber<K>>,
    /// In the order of the table's indexes.
    indexers: Vec<Box<dyn Indexer<K>>>,
    /// By slot: which stream named the object last, and in which of its lists.
    stamps: Vec<Stamp>,
    streams: Vec<StreamStatus>,
}

#[derive(Clone, Copy, Default, PartialEq)]
struct Stamp {
    stream: u32,
    list: u32,
}

type Feeds<K> = SelectAll<BoxStream<'static, (usize, Fed<K>)>>;

impl<K: Cacheable> Writer<K> {
    pub(super) fn new(shared: Arc<Shared<K>>, source: Source<K>) -> Self {
        Self {
            shared,
            source,
            subscribers: Vec::new(),
            indexers: Vec::new(),
            stamps: Vec::new(),
            streams: Vec::new(),
        }
    }

    pub(super) async fn run(
        mut self,
        mut commands: mpsc::UnboundedReceiver<Command<K>>,
        token: CancellationToken,
    ) {
        let mut feeds = Feeds::new();
        let mut cancelled = std::pin::pin!(token.cancelled());
        loop {
            tokio::select! {
                biased;
                () = &mut cancelled => break,
                Some(command) = commands.recv() => if self.obey(command, &mut feeds).is_break() { break },
                Some((stream, fed)) = feeds.next(), if !feeds.is_empty() => self.take(stream, fed),
            }
            // A page of objects is ready all at once: others of this thread get their turn.
            tokio::task::consume_budget().await;
        }
    }

    fn obey(&mut self, command: Command<K>, feeds: &mut Feeds<K>) -> ControlFlow<()> {
        match command {
            Command::Start => self.start(feeds),
            Command::Subscribe(subscriber, done) => {
                self.replay(&subscriber);
                self.subscribers.push(subscriber);
                // Whoever asked may have gone.
                let _ = done.send(());
            }
            Command::Index(indexer, done) => {
                let _ = done.send(self.add_index(indexer));
            }
            Command::Unindex(number) => self.remove_index(number),
            Command::Sweep => self.subscribers.retain(Subscriber::is_live),
            Command::End => return ControlFlow::Break(()),
        }
        ControlFlow::Continue(())
    }

    fn start(&mut self, feeds: &mut Feeds<K>) {
        if !self.streams.is_empty() {
            return;
        }
        for (index, feed) in self
            .source
            .streams(&self.shared.scope, &self.shared.pulses)
            .into_iter()
            .enumerate()
        {
            feeds.push(feed.map(move |fed| (index, fed)).boxed());
            self.streams.push(StreamStatus::new());
        }
        self.publish();
    }

    fn replay(&self, subscriber: &Subscriber<K>) {
        let objects: Vec<_> = self
            .shared
            .table
            .read()
            .iter()
            .map(|(_, kept)| kept.clone())
            .collect();
        for kept in objects {
            self.tell_one(subscriber, Delta::Added(&Seen::new(kept)), Origin::List);
        }
        if self.shared.current() == WatchState::Synced {
            self.tell_one(subscriber, Delta::Synced, Origin::List);
        }
    }

    fn add_index(&mut self, indexer: Box<dyn Indexer<K>>) -> usize {
        let held = |(slot, kept): (u32, &Kept<K>)| (slot, kept.clone());
        let objects: Vec<_> = self.shared.table.read().iter().map(held).collect();
        let mut postings = indexer.postings();
        for (slot, kept) in objects {
            postings.set(slot, self.values_of(&*indexer, &Seen::new(kept)));
        }
        postings.shrink();
        self.indexers.push(indexer);
        self.shared.table.write().add_index(postings)
    }

    fn remove_index(&mut self, number: usize) {
        let removed = self.shared.table.write().remove_index(number);
        if let Some((place, _)) = removed {
            self.indexers.remove(place);
        }
    }

    fn take(&mut self, stream: usize, fed: Fed<K>) {
        match fed {
            Fed::ListBegins => self.streams[stream].list += 1,
            Fed::Listed(object) => {
                if self.streams[stream].lists() {
                    self.publish();
                }
                self.put(stream, object, Origin::List);
            }
            Fed::ListEnds => self.list_ends(stream),
            Fed::Changed(object) => self.put(stream, object, Origin::Watch),
            Fed::Gone(object, origin) => self.delete(&object, origin),
            Fed::Relisted => {
                self.recovers(stream, StreamStatus::listed);
                self.tell(Delta::Relisted, Origin::List);
            }
            Fed::Opened => self.recovers(stream, StreamStatus::opened),
            Fed::Failed(failure) => self.failed(stream, &failure),
        }
    }

    fn put(&mut self, stream: usize, object: Kept<K>, origin: Origin) {
        let new = Seen::new(object);
        let stamp = self.stamp(stream);
        let known = self.find(&new.kept);
        if let Some((slot, old)) = known {
            self.stamps[slot as usize] = stamp;
            if old.is_same_version(&new.kept) {
                return;
            }
            let values = self.values(&new);
            let replaced = self.shared.table.write().replace(slot, new.kept.clone(), values);
            drop(replaced);
            let old = Seen::new(old);
            self.tell(Delta::Updated { old: &old, new: &new }, origin);
        } else {
            let values = self.values(&new);
            let slot = self.shared.table.write().add(new.kept.clone(), values) as usize;
            self.stamps
                .resize(self.stamps.len().max(slot + 1), Stamp::default());
            self.stamps[slot] = stamp;
            self.tell(Delta::Added(&new), origin);
        }
    }

    /// Tells of the object as the cache held it: its labels and owners are those that subscribers and indexes know.
    fn delete(&self, object: &Kept<K>, origin: Origin) {
        let Some((slot, _)) = self.find(object) else {
            return;
        };
        let removed = self.shared.table.write().remove(slot);
        if let Some(last) = removed {
            self.tell(Delta::Deleted(&Seen::new(last)), origin);
        }
    }

    /// Removes what the list that ends did not name: it went while nobody watched.
    fn list_ends(&mut self, stream: usize) {
        let current = self.stamp(stream);
        let is_stale = |slot: u32| {
            let stamp = self.stamps[slot as usize];
            stamp.stream == current.stream && stamp.list != current.list
        };
        let stale: Vec<u32> = self
            .shared
            .table
            .read()
            .iter()
            .map(|(slot, _)| slot)
            .filter(|slot| is_stale(*slot))
            .collect();
        let removed: Vec<_> = {
            let mut table = self.shared.table.write();
            let removed = stale.into_iter().filter_map(|slot| table.remove(slot)).collect();
            table.shrink();
            removed
        };
        self.stamps.shrink_to_fit();
        for last in removed {
            self.tell(Delta::Deleted(&Seen::new(last)), Origin::List);
        }
        let again = self.streams[stream].complete;
        self.recovers(stream, StreamStatus::listed);
        if again {
            self.tell(Delta::Relisted, Origin::List);
        }
    }

    fn recovers(&mut self, stream: usize, how: fn(&mut StreamStatus) -> bool) {
        if how(&mut self.streams[stream]) && !self.source.is_shared() {
            self.shared.say_recovered();
        }
        self.publish();
    }

    fn failed(&mut self, stream: usize, failure: &Failure) {
        let same_within = self.source.retry_after().saturating_mul(3);
        let again = self.streams[stream].fails(failure, same_within);
        // Of a watch that many share it is said once, where they share it.
        self.shared.say_failure(failure, again || self.source.is_shared());
        self.publish();
    }

    /// Publishes the state of all streams together.
    fn publish(&self) {
        let state = status::together(&self.streams);
        if state == WatchState::Synced {
            // Before anybody is told.
            self.shared.was_synced.store(true, Ordering::Release);
        }
        let changed = self
            .shared
            .state
            .send_if_modified(|known| std::mem::replace(known, state) != state);
        if changed && state == WatchState::Synced {
            self.tell(Delta::Synced, Origin::List);
        }
    }

    fn stamp(&self, stream: usize) -> Stamp {
        Stamp {
            stream: u32::try_from(stream).expect("a cache cannot name four billion namespaces"),
            list: self.streams[stream].list,
        }
    }

    fn find(&self, object: &Kept<K>) -> Option<(u32, Kept<K>)> {
        let table = self.shared.table.read();
        table.find(object.key()).map(|(slot, kept)| (slot, kept.clone()))
    }

    fn values(&self, object: &Seen<K>) -> Vec<Values> {
        self.indexers
            .iter()
            .map(|indexer| self.values_of(&**indexer, object))
            .collect()
    }

    fn values_of(&self, indexer: &dyn Indexer<K>, object: &Seen<K>) -> Values {
        // The function is the user's; the cache keeps nothing that it could leave half done.
        catch_unwind(AssertUnwindSafe(|| indexer.values(object.object()))).unwrap_or_else(|_| {
            self.shared
                .say_panic("an index function panicked", indexer.name(), Some(&object.key()));
            indexer.none()
        })
    }

    fn tell(&self, delta: Delta<'_, K>, origin: Origin) {
        for subscriber in &self.subscribers {
            self.tell_one(subscriber, delta, origin);
        }
    }

    fn tell_one(&self, subscriber: &Subscriber<K>, delta: Delta<'_, K>, origin: Origin) {
        if !subscriber.tell(delta, origin) {
            let key = delta.object().map(Seen::key);
            self.shared
                .say_panic("a subscriber panicked", delta.as_str(), key.as_ref());
        }
    }
}

/// However the writer ends, its readers learn that nothing follows the server any more.
impl<K: Cacheable> Drop for Writer<K> {
    fn drop(&mut self) {
        self.shared.state.send_replace(WatchState::Closed);
    }
}
