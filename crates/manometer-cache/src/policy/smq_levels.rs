//! The queues of dm-cache's `smq`: levels of equal size, so that a level is a rank.

use super::lists::WeightedLists;
use crate::arena::Slot;
use crate::key_id::KeyId;
use crate::weight::Weight;

/// The number of levels of a queue.
pub(super) const LEVELS: usize = 64;

const NO_PERIOD: u32 = u32::MAX;

pub(super) struct SmqLevels<W> {
    /// Objects with the last period in which each was requested.
    lists: WeightedLists<u32, W, LEVELS>,
    /// The number of top levels, and the objects that they share.
    top: (usize, u64),
    len: u64,
}

impl<W: Weight> SmqLevels<W> {
    /// For key IDs below `keys`: `in_top` objects share the `top_levels` highest levels, the rest the others.
    pub(super) fn new(keys: usize, top_levels: usize, in_top: u64) -> Self {
        Self { lists: WeightedLists::new(keys), top: (top_levels, in_top), len: 0 }
    }

    pub(super) fn find(&self, id: KeyId) -> Option<Slot> {
        self.lists.find(id)
    }

    pub(super) fn level(&self, slot: Slot) -> usize {
        self.lists.list(slot)
    }

    /// Changes the weight of an object. Returns its old weight.
    pub(super) fn reweigh(&mut self, slot: Slot, weight: W) -> u64 {
        let before = self.lists.weight_of(slot).get();
        self.lists.reweigh(slot, weight);
        before
    }

    /// Whether an object is requested for the first time in this period.
    pub(super) fn is_first_in(&mut self, slot: Slot, period: u32) -> bool {
        std::mem::replace(self.lists.value_mut(slot), period) != period
    }

    /// Adds an object as the youngest of a level.
    pub(super) fn insert(&mut self, level: usize, id: KeyId, weight: W) -> Slot {
        self.len += 1;
        self.lists.insert(level, id, NO_PERIOD, weight)
    }

    /// Moves an object up by `levels`, as the youngest there; the oldest object there takes its level.
    pub(super) fn lift(&mut self, slot: Slot, levels: usize) {
        let from = self.level(slot);
        let to = (from + levels).min(LEVELS - 1);
        if to != from
            && let Some(other) = self.lists.oldest(to)
        {
            self.lists.move_to(other, from);
        }
        self.lists.move_to(slot, to);
    }

    /// Removes an object. Returns its ID and weight.
    pub(super) fn remove(&mut self, slot: Slot) -> (KeyId, u64) {
        self.len -= 1;
        let object = (self.lists.id(slot), self.lists.weight_of(slot).get());
        self.lists.remove(slot);
        object
    }

    /// The oldest object of the lowest level below `level`, other than `other_than`.
    pub(super) fn oldest_below(&self, level: usize, other_than: Option<KeyId>) -> Option<Slot> {
        let oldest = |level| {
            let oldest = self.lists.oldest(level)?;
            if Some(self.lists.id(oldest)) == other_than { self.lists.newer(oldest) } else { Some(oldest) }
        };
        (0..level).find_map(oldest)
    }

    /// The target size of a level.
    fn target(&self, level: usize) -> u64 {
        let (top_levels, in_top) = self.top;
        let below = LEVELS - top_levels;
        let (objects, levels, at) = if level < below {
            (self.len.saturating_sub(in_top), below, level)
        } else {
            (in_top, top_levels, level - below)
        };
        objects / levels as u64 + u64::from((at as u64) < objects % levels as u64)
    }

    /// Rebalances the levels from the lowest up: each takes the oldest objects of the next level if it lacks some, or
    /// passes its youngest up if it has too many.
    pub(super) fn balance(&mut self) {
        for level in 0..LEVELS - 1 {
            let target = self.target(level);
            while self.lists.len(level) < target {
                let Some(slot) = (level + 1..LEVELS).find_map(|above| self.lists.oldest(above)) else { break };
                self.lists.move_to(slot, level);
            }
            while self.lists.len(level) > target {
                let Some(slot) = self.lists.newest(level) else { break };
                self.lists.move_to(slot, level + 1);
            }
        }
    }
}
