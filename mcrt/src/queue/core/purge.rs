//! The end of a lane: its keys go, in pieces, so that the lock is held briefly.
use super::slab::{Chain, NIL, State};
use super::{Core, Lane, Purged};

impl<O> Core<O> {
    /// Ends a lane: none of its keys is handed out from now on, and adds that name it are ignored.
    ///
    /// Its keys are still there: [`purge_some`](Core::purge_some) is to follow until it returns none.
    pub(in super::super) fn end(&mut self, lane: Lane) -> bool {
        let live = self.lanes.is_live(lane);
        if live {
            self.lanes.end(lane.slot);
            self.lanes.reap(lane.slot);
        }
        live
    }

    /// Removes up to `limit` keys of an ended lane, as target or home, into `freed`; false when none was left.
    pub(in super::super) fn purge_some(&mut self, lane: Lane, limit: usize, freed: &mut Vec<O>) -> bool {
        for chain in [Chain::Target, Chain::Home] {
            let Some(state) = self.lanes.get(lane).filter(|state| state.ended) else {
                return false;
            };
            let mut next = if matches!(chain, Chain::Target) {
                state.targets.head
            } else {
                state.homes.head
            };
            while next != NIL && freed.len() < limit {
                let i = next;
                next = self.slab.next(i, chain);
                if self.withdraw(i) {
                    self.totals.purged += 1;
                    freed.extend(self.release(i));
                }
            }
        }
        freed.len() >= limit
    }

    /// The keys between this lane and others, as home or target, those that run included.
    pub(in super::super) fn crossing(&self, lane: Lane) -> Vec<(Lane, Lane, O)>
    where
        O: Clone,
    {
        let mut found = Vec::new();
        let Some(state) = self.lanes.get(lane) else {
            return found;
        };
        for (chain, head) in [
            (Chain::Target, state.targets.head),
            (Chain::Home, state.homes.head),
        ] {
            let mut next = head;
            while next != NIL {
                let record = &self.slab[next];
                if record.home != record.target {
                    let (home, target) = (self.lanes.lane(record.home), self.lanes.lane(record.target));
                    found.push((home, target, record.object().clone()));
                }
                next = self.slab.next(next, chain);
            }
        }
        found
    }

    /// What [`Purged`] says once nothing is left to remove.
    pub(in super::super) fn purged(&self, lane: Lane, removed: usize) -> Purged {
        Purged {
            removed,
            running: self.busy(lane),
        }
    }

    /// Takes a record out of its list; false if it runs, which leaves it to `finish`.
    fn withdraw(&mut self, i: u32) -> bool {
        match self.slab[i].state {
            State::Ready => self.lanes.dequeue(&mut self.slab, i),
            State::Waiting => {
                self.wheel.remove(&mut self.slab, i);
                self.left_waiting(i);
            }
            State::Condemned => {}
            State::Running | State::RunningDirty | State::RunningWaiting => return false,
        }
        true
    }
}
