//! LeCaR: evicts by LRU or LFU at random. A request for a ghost lowers the weight of the policy that evicted it, the
//! less the longer ago the eviction was.
//!
//! As in the authors' program neither weight ever reaches 1, an object that both would evict leaves no ghost, and an
//! object that returns as a ghost keeps its request count.

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

use super::lists::WeightedLists;
use super::{CacheConfig, EvictionLog, Policy, PolicyKind, PolicyParameter, share};
use crate::indexed_heap::IndexedHeap;
use crate::key_id::KeyId;
use crate::request::{CacheRequest, RequestFields};
use crate::weight::Weight;

pub(super) const KIND: PolicyKind = PolicyKind {
    name: "lecar",
    about: "evicts by LRU or LFU at random; weights follow the regret of recent evictions",
    source: "Vietri et al., HotStorage 2018",
    parameters: &[
        PolicyParameter {
            name: "rate",
            meaning: "learning rate",
            default: 0.45,
            min: 0.0,
            max: 100.0,
            is_whole: false,
        },
        PolicyParameter {
            name: "discount",
            meaning: "weight left of a regret after as many requests as objects are cached",
            default: 0.005,
            min: 0.0,
            max: 1.0,
            is_whole: false,
        },
        PolicyParameter {
            name: "history",
            meaning: "size of the history of each of the two, in capacities",
            default: 0.5,
            min: 0.0,
            max: 1000.0,
            is_whole: false,
        },
    ],
    details: RequestFields::NONE,
    create: by_weight!(LeCar),
};

/// The largest weight of a policy.
const TRUST_MAX: f64 = 0.99;

const HELD: usize = 0;
const GHOSTS_OF_LRU: usize = 1;
const GHOSTS_OF_LFU: usize = 2;

/// The record of an eviction.
#[derive(Debug, Clone, Copy, Default)]
struct EvictionRecord {
    position: u32,
    requests: u32,
}

struct LeCar<W> {
    capacity: u64,
    rate: f64,
    discount: f64,
    history_max: u64,
    /// The probability of eviction by LRU.
    lru: f64,
    /// Objects by recency.
    lists: WeightedLists<EvictionRecord, W, 3>,
    /// Objects by request count, then by last request.
    heap: IndexedHeap<(u32, u32), ()>,
    random: Xoshiro256PlusPlus,
    eviction_log: EvictionLog,
}

impl<W: Weight> LeCar<W> {
    fn new(setting: &CacheConfig<'_>) -> Self {
        let [rate, discount, history] = [0, 1, 2].map(|at| setting.parameters[at]);
        let keys = setting.requests.keys();
        Self {
            capacity: setting.capacity,
            rate,
            discount,
            history_max: share(setting.capacity, history),
            lru: 0.5,
            lists: WeightedLists::new(keys),
            heap: IndexedHeap::new(keys),
            random: Xoshiro256PlusPlus::seed_from_u64(setting.seed),
            eviction_log: EvictionLog::default(),
        }
    }

    fn evict_above(&mut self, limit: u64, now: u32) {
        while self.lists.weight(HELD) > limit {
            let by_lru = self.random.random::<f64>() < self.lru;
            let rarest = self.heap.lowest().and_then(|(id, ..)| self.lists.find(id));
            let (Some(oldest), Some(rarest)) = (self.lists.oldest(HELD), rarest) else { break };
            let slot = if by_lru { oldest } else { rarest };
            let id = self.lists.id(slot);
            let requests = self.heap.get(id).map_or(0, |((requests, _), ())| requests);
            self.heap.remove(id);
            self.eviction_log.record(id);
            if oldest == rarest {
                self.lists.remove(slot);
                continue;
            }
            let history = if by_lru { GHOSTS_OF_LRU } else { GHOSTS_OF_LFU };
            *self.lists.value_mut(slot) = EvictionRecord { position: now, requests };
            self.lists.move_to(slot, history);
            self.lists.trim(history, self.history_max);
        }
    }

    /// Lowers the weight of the policy that evicted a ghost.
    fn learn(&mut self, history: usize, since: u32) {
        let objects = self.heap.len().max(1) as f64;
        let regret = self.discount.powf(f64::from(since) / objects);
        let factor = (-self.rate * regret).exp();
        let (lru, lfu) = (self.lru, 1.0 - self.lru);
        let (lru, lfu) = if history == GHOSTS_OF_LRU { (lru * factor, lfu) } else { (lru, lfu * factor) };
        self.lru = (lru / (lru + lfu)).clamp(1.0 - TRUST_MAX, TRUST_MAX);
    }
}

impl<W: Weight> Policy for LeCar<W> {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn used(&self) -> u64 {
        self.lists.weight(HELD)
    }

    fn holds(&self, id: KeyId) -> bool {
        self.heap.get(id).is_some()
    }

    fn eviction_log(&mut self) -> &mut EvictionLog {
        &mut self.eviction_log
    }

    fn remove(&mut self, id: KeyId) {
        if let Some(slot) = self.lists.find(id).filter(|slot| self.lists.list(*slot) == HELD) {
            self.heap.remove(id);
            self.lists.remove(slot);
        }
    }

    #[inline]
    fn request(&mut self, request: &CacheRequest) -> bool {
        let (weight, now) = (W::of(request.size), request.position);
        let known = self.lists.find(request.id);
        if let Some(((requests, _), ())) = self.heap.get(request.id) {
            self.heap.update(request.id, (requests + 1, now), ());
            if let Some(slot) = known {
                self.lists.reweigh(slot, weight);
                self.lists.move_to(slot, HELD);
            }
            self.evict_above(self.capacity, now);
            return true;
        }
        let mut requests = 1;
        if let Some(ghost) = known {
            let eviction = self.lists.value(ghost);
            requests += eviction.requests;
            self.learn(self.lists.list(ghost), now - eviction.position);
            self.lists.remove(ghost);
        }
        self.evict_above(self.capacity - weight.get(), now);
        self.lists.insert(HELD, request.id, EvictionRecord::default(), weight);
        self.heap.insert(request.id, (requests, now), ());
        false
    }
}
