//! One stream: describes what has changed, and says what follows.
use super::{Described, HostReader, HostSource, claims::Objects};
use crate::{
    cache::{WatchScope, WatchState},
    cluster::ObjectKey,
    provider::{Change, ProviderContext},
};
use std::{
    collections::{BTreeSet, VecDeque},
    panic::AssertUnwindSafe,
    sync::Arc,
};

pub(super) struct Following<S: HostSource> {
    source: Arc<S>,
    view: S::View,
    reader: HostReader,
    objects: Objects,
    /// To be described, in the order of namespace and name.
    todo: BTreeSet<ObjectKey>,
    /// Those of them that are others than the ones described before.
    gone: BTreeSet<ObjectKey>,
    /// To be said.
    pending: VecDeque<Change>,
    stage: Stage,
    /// The watches that fail, as told.
    told: Vec<(WatchScope, WatchState)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Not every watch has synced: what is there cannot be told from what is not.
    Opening,
    /// The whole set is being described.
    Naming,
    /// `Synced` has been said.
    Following,
    /// To be started again: what is served has changed.
    Over,
}

impl<S: HostSource> Following<S> {
    pub(super) async fn begin(source: Arc<S>, cx: &ProviderContext) -> Result<Self, String> {
        let mut reader = HostReader::new(cx)?;
        let view = source.open(&mut reader).await?;
        Ok(Self {
            source,
            view,
            reader,
            objects: Objects::default(),
            todo: BTreeSet::new(),
            gone: BTreeSet::new(),
            pending: VecDeque::new(),
            stage: Stage::Opening,
            told: Vec::new(),
        })
    }

    pub(super) async fn next(&mut self) -> Option<Change> {
        loop {
            if let Some(change) = self.pending.pop_front() {
                return Some(change);
            }
            if self.stage == Stage::Over {
                return None;
            }
            self.look();
            if !self.pending.is_empty() {
                continue;
            }
            if let Some(object) = self.todo.pop_first() {
                self.describe(&object);
                // Parsing takes time: a thousand objects must not hold a thread of the runtime.
                tokio::task::yield_now().await;
            } else if self.stage == Stage::Naming {
                self.stage = Stage::Following;
                return Some(Change::Synced);
            } else {
                self.reader.news().await;
            }
        }
    }

    /// How the watches fare, and what has changed.
    fn look(&mut self) {
        let states = self.reader.states();
        self.tell_failures(&states);
        let is = |wanted| states.iter().any(|(_, state)| *state == wanted);
        match self.stage {
            Stage::Opening if states.iter().all(|(_, state)| *state == WatchState::Synced) => {
                self.stage = Stage::Naming;
            }
            Stage::Opening => return,
            // Another version may be served instead: whoever opens the watches again asks for it. What was said stays.
            Stage::Following if is(WatchState::Absent) || is(WatchState::Closed) => self.stage = Stage::Over,
            Stage::Naming | Stage::Following | Stage::Over => {}
        }
        let mut keys = self.reader.take();
        self.todo.append(&mut keys.changed);
        self.gone.append(&mut keys.gone);
    }

    fn describe(&mut self, object: &ObjectKey) {
        let described =
            std::panic::catch_unwind(AssertUnwindSafe(|| self.source.describe(&self.view, object)));
        let described = described.unwrap_or_else(|_| {
            // What the panic said is left out: it may quote the object.
            let reason = format!("`{object}`: describing it panicked, which is a fault of the provider");
            vec![Described::Nameless(reason)]
        });
        let is_good = |one: &Described| matches!(one, Described::Cluster(_));
        if self.gone.remove(object) && !described.iter().all(is_good) {
            // What cannot be used keeps what was good of the same object, and of no former one.
            self.pending.extend(self.objects.update(object, Vec::new()));
        }
        self.pending.extend(self.objects.update(object, described));
    }

    /// Each failure once, until the watch fares otherwise.
    fn tell_failures(&mut self, states: &[(WatchScope, WatchState)]) {
        let failing: Vec<_> = states
            .iter()
            .filter(|(_, state)| failure(*state).is_some())
            .cloned()
            .collect();
        for (scope, state) in &failing {
            if let Some(why) = failure(*state).filter(|_| !self.told.contains(&(scope.clone(), *state))) {
                self.pending.push_back(Change::Failed(format!(
                    "{scope} of the host: {why}; what was read before stays"
                )));
            }
        }
        self.told = failing;
    }
}

fn failure(state: WatchState) -> Option<&'static str> {
    match state {
        WatchState::Forbidden => Some("not allowed to list and watch them: grant the provider's role"),
        WatchState::Absent => Some("not served: install the definition of the kind"),
        WatchState::Closed => Some("the watch has ended"),
        WatchState::Idle | WatchState::Syncing | WatchState::Synced => None,
    }
}
