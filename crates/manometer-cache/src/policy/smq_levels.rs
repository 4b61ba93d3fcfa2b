//! The queues of dm-cache's `smq`: levels of equal size, so that a level is a rank.

use super::lists::WeightedLists;
use crate::arena::Slot;
use crate::key_id::KeyId;
use crate::weight::Weight;

/// The number of levels of a queue.
pub(super) const LEVELS: usize = 64;

/// The key ID of sentinels, which no object has.
const SENTINEL: KeyId = KeyId::MAX;

const NO_PERIOD: u32 = u32::MAX;

pub(super) struct SmqLevels<W> {
    /// Objects with the last period in which each was requested.
    lists: WeightedLists<u32, W, LEVELS>,
    /// Two sentinels per level, in front of objects that joined later.
    sentinels: [Vec<Slot>; 2],
    /// The number of top levels, and the objects that they share.
    top: (usize, u64),
    len: u64,
}

impl<W: Weight> SmqLevels<W> {
    /// Without sentinels: `in_top` objects share the `top_levels` highest levels, the rest the others.
    pub(super) fn new(keys: usize, top_levels: usize, in_top: u64) -> Self {
        Self { lists: WeightedLists::new(keys), sentinels: Default::default(), top: (top_levels, in_top), len: 0 }
    }

    /// With sentinels: all levels share evenly.
    pub(super) fn with_sentinels(keys: usize) -> Self {
        let mut levels = Self::new(keys, 0, 0);
        for sentinel in 0..2 {
            levels.sentinels[sentinel] =
                (0..LEVELS).map(|level| levels.lists.insert(level, SENTINEL, NO_PERIOD, W::of(0))).collect();
        }
        levels
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

    /// Adds an object as the youngest of the lowest level.
    pub(super) fn insert(&mut self, id: KeyId, weight: W) {
        self.len += 1;
        self.lists.insert(0, id, NO_PERIOD, weight);
    }

    /// Moves an object up by `levels`, as the youngest there; the oldest object there takes its level.
    pub(super) fn lift(&mut self, slot: Slot, levels: usize) {
        let from = self.level(slot);
        let to = (from + levels).min(LEVELS - 1);
        if to != from
            && let Some(other) = self.oldest(to, None)
        {
            self.lists.move_to(other, from);
        }
        self.lists.move_to(slot, to);
    }

    /// Moves a sentinel of each level behind all objects.
    pub(super) fn advance_sentinels(&mut self, sentinel: usize) {
        for level in 0..LEVELS {
            self.lists.move_to(self.sentinels[sentinel][level], level);
        }
    }

    fn is_sentinel(&self, slot: Slot) -> bool {
        self.lists.id(slot) == SENTINEL
    }

    fn oldest(&self, level: usize, other_than: Option<KeyId>) -> Option<Slot> {
        let mut next = self.lists.oldest(level);
        while let Some(slot) = next.filter(|slot| self.is_sentinel(*slot) || Some(self.lists.id(*slot)) == other_than) {
            next = self.lists.newer(slot);
        }
        next
    }

    fn youngest(&self, level: usize) -> Option<Slot> {
        let mut next = self.lists.newest(level);
        while let Some(slot) = next.filter(|slot| self.is_sentinel(*slot)) {
            next = self.lists.older(slot);
        }
        next
    }

    /// The number of objects.
    pub(super) fn objects(&self) -> u64 {
        self.len
    }

    /// Removes an object. Returns its ID and weight.
    pub(super) fn remove(&mut self, slot: Slot) -> (KeyId, u64) {
        self.len -= 1;
        let object = (self.lists.id(slot), self.lists.weight_of(slot).get());
        self.lists.remove(slot);
        object
    }

    /// Removes the oldest object of the lowest level, other than `other_than`. Returns its ID and weight.
    pub(super) fn evict(&mut self, other_than: Option<KeyId>) -> Option<(KeyId, u64)> {
        let slot = (0..LEVELS).find_map(|level| self.oldest(level, other_than))?;
        Some(self.remove(slot))
    }

    /// As [`Self::evict`], only for objects before the first sentinel of their level.
    pub(super) fn evict_before_sentinel(&mut self) -> Option<(KeyId, u64)> {
        let marked = |level| self.lists.oldest(level).filter(|slot| !self.is_sentinel(*slot));
        let slot = (0..LEVELS).find_map(marked)?;
        Some(self.remove(slot))
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

    fn len(&self, level: usize) -> u64 {
        let sentinels = self.sentinels.iter().filter(|sentinels| !sentinels.is_empty()).count() as u64;
        self.lists.len(level) - sentinels
    }

    /// Rebalances the levels from the lowest up: each takes the oldest objects of the next level if it lacks some, or
    /// passes its youngest up if it has too many.
    pub(super) fn balance(&mut self) {
        for level in 0..LEVELS - 1 {
            let target = self.target(level);
            while self.len(level) < target {
                let Some(slot) = (level + 1..LEVELS).find_map(|above| self.oldest(above, None)) else { break };
                self.lists.move_to(slot, level);
            }
            while self.len(level) > target {
                let Some(slot) = self.youngest(level) else { break };
                self.lists.move_to(slot, level + 1);
            }
        }
    }
}
