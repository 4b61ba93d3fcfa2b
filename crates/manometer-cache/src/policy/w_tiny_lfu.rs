//! W-TinyLFU: an object leaving the small LRU window enters the main cache only if it was requested more often recently
//! than its victims; the main cache is a segmented LRU of two segments.

use super::lists::WeightedLists;
use super::{CacheConfig, EvictionLog, Policy, PolicyKind, PolicyParameter, share};
use crate::arena::Slot;
use crate::count_min_sketch::CountMinSketch;
use crate::key_id::KeyId;
use crate::request::{CacheRequest, RequestFields};
use crate::weight::Weight;

pub(super) const KIND: PolicyKind = PolicyKind {
    name: "w-tinylfu",
    about: "an LRU window; objects leaving it enter the main cache only if requested more often recently than their victims",
    source: "Einziger, Friedman and Manes, ACM Transactions on Storage 2017",
    parameters: &[
        PolicyParameter {
            name: "window",
            meaning: "share of the capacity for the window; at least 1 unit",
            default: 0.01,
            min: 0.0,
            max: 1.0,
            is_whole: false,
        },
        PolicyParameter {
            name: "protected",
            meaning: "share of the main cache for the protected segment",
            default: 0.8,
            min: 0.0,
            max: 1.0,
            is_whole: false,
        },
    ],
    details: RequestFields::NONE,
    create: by_weight!(WTinyLfu),
};

const WINDOW: usize = 0;
const PROBATION: usize = 1;
const PROTECTED: usize = 2;

struct WTinyLfu<W> {
    capacity: u64,
    window_max: u64,
    protected_max: u64,
    sketch: CountMinSketch,
    lists: WeightedLists<(), W, 3>,
    eviction_log: EvictionLog,
}

impl<W: Weight> WTinyLfu<W> {
    fn new(setting: &CacheConfig<'_>) -> Self {
        let (capacity, keys) = (setting.capacity, setting.requests.keys());
        let window_max = share(capacity, setting.parameters[0]).max(1).min(capacity);
        Self {
            capacity,
            window_max,
            protected_max: share(capacity - window_max, setting.parameters[1]),
            sketch: CountMinSketch::new(setting.objects()),
            lists: WeightedLists::new(keys),
            eviction_log: EvictionLog::default(),
        }
    }

    fn main(&self) -> u64 {
        self.lists.weight(PROBATION) + self.lists.weight(PROTECTED)
    }

    fn victim(&self) -> Option<Slot> {
        self.lists.oldest(PROBATION).or_else(|| self.lists.oldest(PROTECTED))
    }

    /// Moves the overflow of the window on, and evicts the overflow of the main cache.
    fn settle(&mut self, newcomer: Option<KeyId>) {
        let main_max = self.capacity - self.window_max;
        while self.lists.weight(PROTECTED) > self.protected_max {
            let Some(slot) = self.lists.oldest(PROTECTED) else { break };
            self.lists.move_to(slot, PROBATION);
        }
        while self.main() > main_max {
            let Some(victim) = self.victim() else { break };
            self.evict(victim);
        }
        while self.lists.weight(WINDOW) > self.window_max {
            let Some(candidate) = self.lists.oldest(WINDOW) else { break };
            if !self.contest(candidate, main_max) {
                // An object rejected by the request that inserted it was never evicted.
                if newcomer == Some(self.lists.id(candidate)) {
                    self.lists.remove(candidate);
                } else {
                    self.evict(candidate);
                }
            }
        }
    }

    #[inline]
    fn evict(&mut self, slot: Slot) {
        self.eviction_log.record(self.lists.id(slot));
        self.lists.remove(slot);
    }

    /// Admits a candidate to the main cache if it was requested more often than each of its victims. Returns whether it
    /// was admitted.
    #[inline]
    fn contest(&mut self, candidate: Slot, main_max: u64) -> bool {
        let weight = self.lists.weight_of(candidate).get();
        if weight > main_max {
            return false;
        }
        let count = self.sketch.count(self.lists.id(candidate));
        while self.main() + weight > main_max {
            match self.victim() {
                Some(victim) if count > self.sketch.count(self.lists.id(victim)) => self.evict(victim),
                _ => return false,
            }
        }
        self.lists.move_to(candidate, PROBATION);
        true
    }
}

impl<W: Weight> Policy for WTinyLfu<W> {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn used(&self) -> u64 {
        self.lists.weight(WINDOW) + self.main()
    }

    fn holds(&self, id: KeyId) -> bool {
        self.lists.find(id).is_some()
    }

    fn eviction_log(&mut self) -> &mut EvictionLog {
        &mut self.eviction_log
    }

    fn remove(&mut self, id: KeyId) {
        if let Some(slot) = self.lists.find(id) {
            self.lists.remove(slot);
        }
    }

    #[inline]
    fn request(&mut self, request: &CacheRequest) -> bool {
        let weight = W::of(request.size);
        self.sketch.add(request.id);
        let known = self.lists.find(request.id);
        match known {
            Some(slot) => {
                self.lists.reweigh(slot, weight);
                let to = if self.lists.list(slot) == WINDOW { WINDOW } else { PROTECTED };
                self.lists.move_to(slot, to);
            }
            None => _ = self.lists.insert(WINDOW, request.id, (), weight),
        }
        self.settle(known.is_none().then_some(request.id));
        known.is_some()
    }
}
