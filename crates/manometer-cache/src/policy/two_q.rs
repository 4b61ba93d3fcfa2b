//! 2Q, full version: new objects wait in a FIFO queue; only objects requested again after they left it are kept by
//! recency.

use super::lists::WeightedLists;
use super::{CacheConfig, EvictionLog, Policy, PolicyKind, PolicyParameter, share};
use crate::key_id::KeyId;
use crate::request::{CacheRequest, RequestFields};
use crate::weight::Weight;

pub(super) const KIND: PolicyKind = PolicyKind {
    name: "2q",
    about: "keeps by recency only objects that are requested again after they passed a FIFO queue",
    source: "Johnson and Shasha, VLDB 1994",
    parameters: &[
        PolicyParameter {
            name: "in",
            meaning: "share of the capacity above which the queue is evicted from",
            default: 0.25,
            min: 0.0,
            max: 1.0,
            is_whole: false,
        },
        PolicyParameter {
            name: "out",
            meaning: "size of the ghost queue of objects evicted from the queue, in capacities",
            default: 0.5,
            min: 0.0,
            max: 1000.0,
            is_whole: false,
        },
    ],
    details: RequestFields::NONE,
    create: by_weight!(TwoQ),
};

const IN: usize = 0;
const MAIN: usize = 1;
const OUT: usize = 2;

struct TwoQ<W> {
    capacity: u64,
    in_max: u64,
    out_max: u64,
    lists: WeightedLists<(), W, 3>,
    eviction_log: EvictionLog,
}

impl<W: Weight> TwoQ<W> {
    fn new(setting: &CacheConfig<'_>) -> Self {
        Self {
            capacity: setting.capacity,
            in_max: share(setting.capacity, setting.parameters[0]),
            out_max: share(setting.capacity, setting.parameters[1]),
            lists: WeightedLists::new(setting.requests.keys()),
            eviction_log: EvictionLog::default(),
        }
    }

    fn evict_above(&mut self, limit: u64) {
        while self.used() > limit {
            if self.lists.weight(IN) > self.in_max || self.lists.is_empty(MAIN) {
                let Some(slot) = self.lists.oldest(IN) else { break };
                self.eviction_log.record(self.lists.id(slot));
                self.lists.move_to(slot, OUT);
                self.lists.trim(OUT, self.out_max);
            } else if let Some(slot) = self.lists.oldest(MAIN) {
                self.eviction_log.record(self.lists.id(slot));
                self.lists.remove(slot);
            }
        }
    }
}

impl<W: Weight> Policy for TwoQ<W> {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn used(&self) -> u64 {
        self.lists.weight(IN) + self.lists.weight(MAIN)
    }

    fn holds(&self, id: KeyId) -> bool {
        self.lists.find(id).is_some_and(|slot| self.lists.list(slot) != OUT)
    }

    fn eviction_log(&mut self) -> &mut EvictionLog {
        &mut self.eviction_log
    }

    fn remove(&mut self, id: KeyId) {
        if let Some(slot) = self.lists.find(id).filter(|slot| self.lists.list(*slot) != OUT) {
            self.lists.remove(slot);
        }
    }

    #[inline]
    fn request(&mut self, request: &CacheRequest) -> bool {
        let weight = W::of(request.size);
        let known = self.lists.find(request.id).map(|slot| (slot, self.lists.list(slot)));
        if let Some((slot, list)) = known.filter(|(_, list)| *list != OUT) {
            self.lists.reweigh(slot, weight);
            if list == MAIN {
                self.lists.move_to(slot, MAIN);
            }
            self.evict_above(self.capacity);
            return true;
        }
        if let Some((ghost, _)) = known {
            self.lists.remove(ghost);
        }
        self.evict_above(self.capacity - weight.get());
        self.lists.insert(if known.is_some() { MAIN } else { IN }, request.id, (), weight);
        false
    }
}
