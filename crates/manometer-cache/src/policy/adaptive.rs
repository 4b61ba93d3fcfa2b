//! The common part of ARC and CAR: two lists, of objects requested once and more often, the ghosts of each, and a
//! target size of the first list that adapts to requests for ghosts.
//!
//! The target is a real number, as in the papers: integers give other hit ratios. With sizes all lengths are in bytes,
//! and a request for a ghost moves the target by a multiple of its size.

use std::marker::PhantomData;

use super::lists::WeightedLists;
use super::{CacheConfig, EvictionLog, Policy};
use crate::arena::Slot;
use crate::key_id::KeyId;
use crate::request::CacheRequest;
use crate::weight::Weight;

pub(super) const T1: usize = 0;
pub(super) const T2: usize = 1;
pub(super) const B1: usize = 2;
pub(super) const B2: usize = 3;

/// The reaction to requests.
pub(super) trait AdaptiveRule: Sized + Send {
    /// The value kept with each object.
    type Mark: Copy + Send;

    /// Handles a hit.
    fn on_hit<W: Weight>(cache: &mut AdaptivePolicy<W, Self>, slot: Slot, weight: W);

    /// Handles a miss, possibly for a ghost.
    fn on_miss<W: Weight>(cache: &mut AdaptivePolicy<W, Self>, id: KeyId, ghost: Option<Slot>, weight: W);
}

pub(super) struct AdaptivePolicy<W, R: AdaptiveRule> {
    pub(super) capacity: u64,
    /// The target size of the first list.
    pub(super) target: f64,
    pub(super) lists: WeightedLists<R::Mark, W, 4>,
    eviction_log: EvictionLog,
    replacement: PhantomData<R>,
}

impl<W: Weight, R: AdaptiveRule> AdaptivePolicy<W, R> {
    pub(super) fn new(setting: &CacheConfig<'_>) -> Self {
        let lists = WeightedLists::new(setting.requests.keys());
        let eviction_log = EvictionLog::default();
        Self { capacity: setting.capacity, target: 0.0, lists, eviction_log, replacement: PhantomData }
    }

    fn is_held(&self, slot: Slot) -> bool {
        self.lists.list(slot) < B1
    }

    /// Adapts the target after a request for a ghost.
    pub(super) fn adapt_target(&mut self, ghost: Slot, weight: W) {
        let in_second = self.lists.list(ghost) == B2;
        let (this, other) = if in_second { (B2, B1) } else { (B1, B2) };
        let ratio = self.lists.weight(other) as f64 / self.lists.weight(this) as f64;
        let step = ratio.max(1.0) * weight.get() as f64;
        self.target += if in_second { -step } else { step };
        self.target = self.target.clamp(0.0, self.capacity as f64);
    }

    /// Turns an object into a ghost.
    #[inline]
    pub(super) fn evict(&mut self, slot: Slot) {
        self.eviction_log.record(self.lists.id(slot));
        self.lists.move_to(slot, self.lists.list(slot) + B1);
    }

    /// Drops the oldest objects of the first list, without ghosts, until its weight is at most `limit`.
    pub(super) fn drop_above(&mut self, limit: u64) {
        while self.lists.weight(T1) > limit {
            let Some(slot) = self.lists.oldest(T1) else { break };
            self.eviction_log.record(self.lists.id(slot));
            self.lists.remove(slot);
        }
    }
}

impl<W: Weight, R: AdaptiveRule> Policy for AdaptivePolicy<W, R> {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn used(&self) -> u64 {
        self.lists.weight(T1) + self.lists.weight(T2)
    }

    fn holds(&self, id: KeyId) -> bool {
        self.lists.find(id).is_some_and(|slot| self.is_held(slot))
    }

    fn eviction_log(&mut self) -> &mut EvictionLog {
        &mut self.eviction_log
    }

    fn remove(&mut self, id: KeyId) {
        if let Some(slot) = self.lists.find(id).filter(|slot| self.is_held(*slot)) {
            self.lists.remove(slot);
        }
    }

    #[inline]
    fn request(&mut self, request: &CacheRequest) -> bool {
        let weight = W::of(request.size);
        let known = self.lists.find(request.id);
        if let Some(slot) = known.filter(|slot| self.is_held(*slot)) {
            R::on_hit(self, slot, weight);
            return true;
        }
        R::on_miss(self, request.id, known, weight);
        false
    }
}
