//! One stream of a merge: follows every provider of the set, and the set.
use super::{Merge, Sources, merged::Merged};
use crate::provider::{Change, Event, ProviderContext, restarting};
use futures::{
    StreamExt,
    stream::{self, BoxStream, SelectAll},
};
use std::{collections::VecDeque, sync::Arc};
use tokio::sync::watch;

/// What one source did; nothing more once it was removed.
type Heard = (u64, Option<Event>);

pub(super) struct Following {
    sources: watch::Receiver<Sources>,
    /// The newest source that is followed.
    newest: u64,
    /// Polls those alone that have something to say, however many there are.
    heard: SelectAll<BoxStream<'static, Heard>>,
    merged: Merged,
    pending: VecDeque<Change>,
    cx: ProviderContext,
    /// Keeps the set alive when every other handle is gone.
    _merge: Arc<Merge>,
}

impl Following {
    pub(super) fn begin(merge: Arc<Merge>, cx: ProviderContext) -> Self {
        let mut following = Self {
            sources: merge.sources.subscribe(),
            newest: 0,
            heard: SelectAll::new(),
            merged: Merged::default(),
            pending: VecDeque::new(),
            cx,
            _merge: merge,
        };
        following.follow_new();
        let refused = following.sources.borrow().refused.clone();
        let refused = refused.iter().map(|taken| Change::Failed(taken.to_string()));
        following.pending.extend(refused);
        following.pending.extend(following.merged.begin());
        following
    }

    pub(super) async fn next(&mut self) -> Change {
        loop {
            if let Some(change) = self.pending.pop_front() {
                return change;
            }
            tokio::select! {
                Some((source, event)) = self.heard.next() => self.pending.extend(self.merged.take(source, event)),
                // Never an error: the sender is kept alive here.
                Ok(()) = self.sources.changed() => self.follow_new(),
            }
        }
    }

    fn follow_new(&mut self) {
        let sources = self.sources.borrow_and_update();
        let new = sources.all.range(self.newest + 1..);
        let new: Vec<_> = new.map(|(number, source)| (*number, source.clone())).collect();
        drop(sources);
        for (number, source) in new {
            self.newest = number;
            self.pending.extend(self.merged.add(number, source.name));
            let events = restarting(source.provider, self.cx.clone()).map(move |event| (number, Some(event)));
            let removed = stream::iter([(number, None)]);
            let heard = events.take_until(source.removed.cancelled_owned()).chain(removed);
            self.heard.push(heard.boxed());
        }
    }
}
