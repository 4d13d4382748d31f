//! Whose turn it is: in each priority two lists, of the lanes that newly have work and of those served in turn.
use super::config::PRIORITIES;
use super::lane::Place;
use super::lanes::Lanes;
use super::slab::{List, NIL};

/// The lanes to be served in one priority, linked through their places.
#[derive(Clone, Copy)]
pub(super) struct Ring {
    new: List,
    old: List,
}

impl Ring {
    pub(super) const EMPTY: Self = Self {
        new: List::EMPTY,
        old: List::EMPTY,
    };
}

impl Lanes {
    /// The lane whose turn it is in `ring`; it has something ready and may run it.
    pub(super) fn turn(&mut self, ring: usize) -> Option<u32> {
        loop {
            let Ring { new, old } = self.rings[ring];
            let slot = if new.is_empty() { old.head } else { new.head };
            if slot == NIL {
                return None;
            }
            let lane = self.at(slot);
            let fifo = &lane.fifos[ring];
            if lane.blocked(self.cap()) {
                self.relink(slot, ring, Place::Parked);
            } else if fifo.len > 0 {
                return Some(slot);
            } else if fifo.place == Place::New {
                self.relink(slot, ring, Place::Old);
            } else {
                self.relink(slot, ring, Place::Out);
            }
        }
    }

    /// Charges the lane for one key; with its credit used up it goes to the end.
    pub(super) fn charge(&mut self, slot: u32, ring: usize) {
        let lane = self.at_mut(slot);
        let weight = lane.weight;
        let fifo = &mut lane.fifos[ring];
        fifo.credit -= 1;
        if fifo.credit == 0 {
            fifo.credit = weight;
            self.relink(slot, ring, Place::Old);
        }
    }

    /// Whether a ring has something that could be served.
    pub(super) fn backlogged(&self, ring: usize) -> bool {
        let lists = &self.rings[ring];
        self.ready[ring] > 0 && !(lists.new.is_empty() && lists.old.is_empty())
    }

    /// Gives a lane that may be served again its place in the rings.
    pub(super) fn unpark(&mut self, slot: u32, to: Place) {
        if self.at(slot).blocked(self.cap()) {
            return;
        }
        for ring in 0..PRIORITIES {
            let lane = self.at_mut(slot);
            let weight = lane.weight;
            let fifo = &mut lane.fifos[ring];
            if fifo.place != Place::Parked {
                continue;
            }
            if fifo.len == 0 {
                fifo.place = Place::Out;
            } else {
                if to == Place::New || fifo.credit == 0 {
                    fifo.credit = weight;
                }
                self.link(slot, ring, to);
            }
        }
    }

    /// Takes a lane that may not be served any more out of the rings.
    pub(super) fn leave_rings(&mut self, slot: u32) {
        for ring in 0..PRIORITIES {
            if matches!(self.at(slot).fifos[ring].place, Place::New | Place::Old) {
                self.relink(slot, ring, Place::Parked);
            }
        }
    }

    fn relink(&mut self, slot: u32, ring: usize, to: Place) {
        let (prev, next, from) = {
            let fifo = &self.at(slot).fifos[ring];
            (fifo.prev, fifo.next, fifo.place)
        };
        if prev == NIL {
            self.list(ring, from).head = next;
        } else {
            self.at_mut(prev).fifos[ring].next = next;
        }
        if next == NIL {
            self.list(ring, from).tail = prev;
        } else {
            self.at_mut(next).fifos[ring].prev = prev;
        }
        if matches!(to, Place::New | Place::Old) {
            self.link(slot, ring, to);
        } else {
            self.at_mut(slot).fifos[ring].place = to;
        }
    }

    pub(super) fn link(&mut self, slot: u32, ring: usize, to: Place) {
        let tail = std::mem::replace(&mut self.list(ring, to).tail, slot);
        let fifo = &mut self.at_mut(slot).fifos[ring];
        fifo.place = to;
        fifo.prev = tail;
        fifo.next = NIL;
        if tail == NIL {
            self.list(ring, to).head = slot;
        } else {
            self.at_mut(tail).fifos[ring].next = slot;
        }
    }

    fn list(&mut self, ring: usize, place: Place) -> &mut List {
        let lists = &mut self.rings[ring];
        if place == Place::New {
            &mut lists.new
        } else {
            &mut lists.old
        }
    }
}
