//! What belongs to one cluster: its objects, and the caches that are told of them.
use super::{
    super::{delta::Origin, fed::Fed, kept::Kept, scope::Cacheable, table::Table},
    mailbox::Mailbox,
};
use std::{collections::VecDeque, sync::Arc};

/// Which stream named an object last, and in which of its lists.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct Stamp {
    pub(super) stream: u32,
    pub(super) list: u32,
}

/// One cluster's part of a shared watch.
pub(super) struct Group<K> {
    table: Table<K>,
    /// By slot.
    stamps: Vec<Stamp>,
    /// One for each life of the member: an earlier one may not have ended yet.
    readers: Vec<Arc<Mailbox<K>>>,
}

impl<K: Cacheable> Group<K> {
    pub(super) fn new() -> Self {
        Self {
            table: Table::new(),
            stamps: Vec::new(),
            readers: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether nobody would miss it.
    pub(super) fn is_idle(&self) -> bool {
        self.readers.is_empty() && self.table.len() == 0
    }

    pub(super) fn add_reader(&mut self, reader: Arc<Mailbox<K>>) {
        self.readers.push(reader);
    }

    pub(super) fn remove_reader(&mut self, reader: &Arc<Mailbox<K>>) {
        self.readers.retain(|known| !Arc::ptr_eq(known, reader));
        self.readers.shrink_to_fit();
    }

    /// All that there is, as a list would tell it.
    pub(super) fn listed(&self) -> VecDeque<Fed<K>> {
        let mut all = VecDeque::with_capacity(self.table.len() + 3);
        all.push_back(Fed::ListBegins);
        all.extend(self.table.iter().map(|(_, kept)| Fed::Listed(kept.clone())));
        all
    }

    /// Those that are told of it.
    pub(super) fn readers(&self) -> &[Arc<Mailbox<K>>] {
        &self.readers
    }

    /// Takes an object in. Gives how often it was told of; an object that did not change is no news.
    pub(super) fn put(&mut self, object: &Kept<K>, stamp: Stamp, origin: Origin) -> usize {
        let known = self.table.find(object.key());
        let known = known.map(|(slot, old)| (slot, old.is_same_version(object)));
        let slot = match known {
            Some((slot, true)) => {
                self.stamps[slot as usize] = stamp;
                return 0;
            }
            Some((slot, false)) => {
                let replaced = self.table.replace(slot, object.clone(), Vec::new());
                drop(replaced);
                slot
            }
            None => self.table.add(object.clone(), Vec::new()),
        } as usize;
        self.stamps
            .resize(self.stamps.len().max(slot + 1), Stamp::default());
        self.stamps[slot] = stamp;
        match origin {
            Origin::List => self.tell(|| Fed::Listed(object.clone())),
            Origin::Watch => self.tell(|| Fed::Changed(object.clone())),
        }
    }

    /// Lets an object go. Gives how often it was told of.
    pub(super) fn remove(&mut self, object: &Kept<K>) -> usize {
        let found = self.table.find(object.key()).map(|(slot, _)| slot);
        let removed = found.and_then(|slot| self.table.remove(slot));
        removed.map_or(0, |last| self.tell(|| Fed::Gone(last.clone(), Origin::Watch)))
    }

    /// Lets go of what a list did not name that is complete now. Gives how often it was told of.
    pub(super) fn sweep(&mut self, current: Stamp) -> usize {
        let is_stale = |slot: u32| {
            let stamp = self.stamps[slot as usize];
            stamp.stream == current.stream && stamp.list != current.list
        };
        let slots = self.table.iter().map(|(slot, _)| slot);
        let stale: Vec<u32> = slots.filter(|slot| is_stale(*slot)).collect();
        let mut told = 0;
        for slot in stale {
            if let Some(last) = self.table.remove(slot) {
                told += self.tell(|| Fed::Gone(last.clone(), Origin::List));
            }
        }
        self.table.shrink();
        self.stamps.shrink_to_fit();
        told
    }

    pub(super) fn tell(&self, fed: impl Fn() -> Fed<K>) -> usize {
        for reader in &self.readers {
            reader.push(fed(), self.table.len());
        }
        self.readers.len()
    }
}
