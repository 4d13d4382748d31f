//! One stream: describes what has changed, and says what follows.
use super::{HostReader, HostSource, claims::Objects};
use crate::{
    cache::{WatchScope, WatchState},
    provider::{Change, ProviderContext},
};
use std::{collections::VecDeque, sync::Arc};

pub(super) struct Following<S: HostSource> {
    source: Arc<S>,
    view: S::View,
    reader: HostReader,
    objects: Objects,
    pending: VecDeque<Change>,
    synced: bool,
    /// The watches that fail, as told.
    told: Vec<(WatchScope, WatchState)>,
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
            pending: VecDeque::new(),
            synced: false,
            told: Vec::new(),
        })
    }

    pub(super) async fn next(&mut self) -> Change {
        loop {
            if let Some(change) = self.pending.pop_front() {
                return change;
            }
            self.look();
            if self.pending.is_empty() {
                self.reader.news().await;
            }
        }
    }

    fn look(&mut self) {
        let states = self.reader.states();
        self.tell_failures(&states);
        if !self.synced && !states.iter().all(|(_, state)| *state == WatchState::Synced) {
            return;
        }
        for object in self.reader.take() {
            let described = self.source.describe(&self.view, &object);
            self.pending.extend(self.objects.update(&object, described));
        }
        if !std::mem::replace(&mut self.synced, true) {
            self.pending.push_back(Change::Synced);
        }
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
