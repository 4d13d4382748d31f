//! Keys that back off, found without looking at the others: a lane that is back after an outage tries them at once.
use super::slab::{Chain, State};
use super::{Core, Lane};

impl<O> Core<O> {
    /// Puts a record that begins to back off at the front of the members of its lanes: those that do are found from
    /// there, and nobody has to look at all of a lane's keys.
    pub(super) fn begin_backoff(&mut self, i: u32) {
        let (home, target) = (self.slab[i].home, self.slab[i].target);
        let lane = self.lanes.at_mut(target);
        self.slab.move_to_front(&mut lane.targets, Chain::Target, i);
        lane.failing_targets += 1;
        if home != target {
            let lane = self.lanes.at_mut(home);
            self.slab.move_to_front(&mut lane.homes, Chain::Home, i);
            lane.failing_homes += 1;
        }
    }

    /// Keeps the numbers right for a record that does not back off any more.
    pub(super) fn end_backoff(&mut self, i: u32) {
        let (home, target) = (self.slab[i].home, self.slab[i].target);
        self.lanes.at_mut(target).failing_targets -= 1;
        if home != target {
            self.lanes.at_mut(home).failing_homes -= 1;
        }
    }

    /// How many keys of the lane, as target or home, back off.
    pub(in super::super) fn failing(&self, lane: Lane) -> usize {
        self.lanes.get(lane).map_or(0, |state| {
            state.failing_targets as usize + state.failing_homes as usize
        })
    }

    /// Makes keys of the lane ready that back off, as target or home: looks at up to `limit` records, and makes up to
    /// `left` ready. False when there is no more to do.
    ///
    /// Whatever was looked at goes to the end of the members, so that no call looks at it again.
    pub(in super::super) fn wake_some(
        &mut self,
        now: u64,
        lane: Lane,
        limit: usize,
        left: &mut usize,
    ) -> bool {
        self.tell(now);
        let mut looked = 0;
        for chain in [Chain::Target, Chain::Home] {
            while looked < limit && *left > 0 {
                let Some(state) = self.lanes.get(lane).filter(|state| !state.ended) else {
                    return false;
                };
                let (failing, list) = match chain {
                    Chain::Home => (state.failing_homes, state.homes),
                    Chain::Queue | Chain::Target => (state.failing_targets, state.targets),
                };
                if failing == 0 || list.is_empty() {
                    break;
                }
                looked += 1;
                let i = list.head;
                self.move_to_back(lane, chain, i);
                if self.slab[i].state == State::Waiting && self.slab[i].failures > 0 {
                    *left -= 1;
                    self.wheel.remove(&mut self.slab, i);
                    self.left_waiting(i);
                    self.slab[i].due = self.clock;
                    self.make_ready(i);
                }
            }
        }
        looked >= limit && *left > 0
    }

    fn move_to_back(&mut self, lane: Lane, chain: Chain, i: u32) {
        let lane = self.lanes.at_mut(lane.slot);
        let list = match chain {
            Chain::Home => &mut lane.homes,
            Chain::Queue | Chain::Target => &mut lane.targets,
        };
        self.slab.unlink(list, chain, i);
        self.slab.push_back(list, chain, i);
    }
}
