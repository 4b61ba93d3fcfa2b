//! Segmented LRU: a hit moves an object a segment up; overflow of a segment moves a segment down. The lowest segment
//! has the room that the others leave.

use super::lists::WeightedLists;
use super::{CacheConfig, EvictionLog, Policy, PolicyKind, PolicyParameter, SWITCH};
use crate::arena::Slot;
use crate::key_id::KeyId;
use crate::request::{CacheRequest, RequestFields};
use crate::weight::Weight;

pub(super) const KIND: PolicyKind = PolicyKind {
    name: "slru",
    about: "segmented LRU: a hit moves an object up a segment",
    source: "Karedla, Love and Wherry, IEEE Computer 1994",
    parameters: &[
        PolicyParameter {
            name: "segments",
            meaning: "number of segments, of equal size",
            default: 4.0,
            min: 1.0,
            max: SEGMENTS_MAX as f64,
            is_whole: true,
        },
        PolicyParameter {
            name: "fill",
            meaning: "1: a new object enters the lowest segment with room, as in libCacheSim; 0: the lowest",
            ..SWITCH
        },
    ],
    details: RequestFields::NONE,
    create: by_weight!(Slru),
};

const SEGMENTS_MAX: usize = 16;

struct Slru<W> {
    capacity: u64,
    used: u64,
    segments: usize,
    fills: bool,
    lists: WeightedLists<(), W, SEGMENTS_MAX>,
    eviction_log: EvictionLog,
}

impl<W: Weight> Slru<W> {
    fn new(setting: &CacheConfig<'_>) -> Self {
        Self {
            capacity: setting.capacity,
            used: 0,
            segments: setting.parameters[0] as usize,
            fills: setting.parameters[1] == 1.0,
            lists: WeightedLists::new(setting.requests.keys()),
            eviction_log: EvictionLog::default(),
        }
    }

    fn evict_above(&mut self, limit: u64) {
        while self.used > limit {
            let Some(slot) = (0..self.segments).find_map(|segment| self.lists.oldest(segment)) else { break };
            self.eviction_log.record(self.lists.id(slot));
            self.drop(slot);
        }
    }

    fn drop(&mut self, slot: Slot) {
        self.used -= self.lists.weight_of(slot).get();
        self.lists.remove(slot);
    }

    fn segment_max(&self) -> u64 {
        self.capacity / self.segments as u64
    }

    /// The segment that a new object enters.
    fn entry(&self, size: u64) -> usize {
        let segments = if self.fills { self.segments } else { 0 };
        (0..segments).find(|segment| self.lists.weight(*segment) + size <= self.segment_max()).unwrap_or(0)
    }

    /// Moves the overflow of segments down, from the highest on.
    fn cascade(&mut self) {
        let segment_max = self.segment_max();
        for segment in (1..self.segments).rev() {
            while self.lists.weight(segment) > segment_max {
                let Some(slot) = self.lists.oldest(segment) else { break };
                self.lists.move_to(slot, segment - 1);
            }
        }
    }
}

impl<W: Weight> Policy for Slru<W> {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn used(&self) -> u64 {
        self.used
    }

    fn holds(&self, id: KeyId) -> bool {
        self.lists.find(id).is_some()
    }

    fn eviction_log(&mut self) -> &mut EvictionLog {
        &mut self.eviction_log
    }

    fn remove(&mut self, id: KeyId) {
        if let Some(slot) = self.lists.find(id) {
            self.drop(slot);
        }
    }

    #[inline]
    fn request(&mut self, request: &CacheRequest) -> bool {
        let weight = W::of(request.size);
        if let Some(slot) = self.lists.find(request.id) {
            self.used = self.used - self.lists.weight_of(slot).get() + weight.get();
            self.lists.reweigh(slot, weight);
            self.lists.move_to(slot, (self.lists.list(slot) + 1).min(self.segments - 1));
            self.cascade();
            self.evict_above(self.capacity);
            return true;
        }
        self.evict_above(self.capacity - weight.get());
        self.used += weight.get();
        self.lists.insert(self.entry(weight.get()), request.id, (), weight);
        false
    }
}
