//! MQ: queues by the logarithm of request counts, for second-level caches, where popular objects have long reuse
//! distances. An object not requested for its lifetime moves a queue down; its count is remembered for a while after
//! eviction. With sizes the history's limit is in bytes.

use super::lists::WeightedLists;
use super::{CacheConfig, EvictionLog, Policy, PolicyKind, PolicyParameter, SWITCH, share};
use crate::arena::Slot;
use crate::key_id::KeyId;
use crate::request::{CacheRequest, RequestFields};
use crate::weight::Weight;

pub(super) const KIND: PolicyKind = PolicyKind {
    name: "mq",
    about: "multiple LRU queues by the logarithm of request counts; objects that are not requested for a while move down",
    source: "Zhou, Philbin and Li, USENIX 2001; cache thesis 3.5",
    parameters: &[
        PolicyParameter {
            name: "queues",
            meaning: "number of queues",
            default: 8.0,
            min: 1.0,
            max: QUEUES_MAX as f64,
            is_whole: true,
        },
        PolicyParameter {
            name: "lifetime",
            meaning: "requests to the cache after which an idle object moves down",
            default: 10_000.0,
            min: 1.0,
            max: (1_u32 << 31) as f64,
            is_whole: true,
        },
        PolicyParameter {
            name: "history",
            meaning: "size of the history of evicted objects, in capacities",
            default: 4.0,
            min: 0.0,
            max: 1000.0,
            is_whole: false,
        },
        PolicyParameter {
            name: "recall-first",
            meaning: "1: a ghost's count is recalled before the eviction that its request causes, as in libCacheSim; 0: after",
            ..SWITCH
        },
    ],
    details: RequestFields::NONE,
    create: by_weight!(Mq),
};

const QUEUES_MAX: usize = 16;
const HISTORY: usize = QUEUES_MAX;

#[derive(Debug, Clone, Copy)]
struct Usage {
    /// Stored as two halves, so that the struct needs no larger alignment.
    expires: [u16; 2],
    /// Its request count, up to the largest that still distinguishes queues.
    count: u16,
}

impl Usage {
    #[inline]
    fn new(expires: u32, count: u16) -> Self {
        Self { expires: [expires as u16, (expires >> 16) as u16], count }
    }

    #[inline]
    fn expires(self) -> u32 {
        u32::from(self.expires[1]) << 16 | u32::from(self.expires[0])
    }
}

struct Mq<W> {
    capacity: u64,
    used: u64,
    queues: usize,
    lifetime: u32,
    history_max: u64,
    recalls_first: bool,
    now: u32,
    /// For each queue a lower bound of the next expiry: an object that joins a queue expires after all others in it.
    next_expiry: [u32; QUEUES_MAX],
    /// The earliest of them.
    earliest_expiry: u32,
    lists: WeightedLists<Usage, W, { QUEUES_MAX + 1 }>,
    eviction_log: EvictionLog,
}

impl<W: Weight> Mq<W> {
    fn new(setting: &CacheConfig<'_>) -> Self {
        let [queues, lifetime, history, recalls_first] = [0, 1, 2, 3].map(|at| setting.parameters[at]);
        Self {
            capacity: setting.capacity,
            used: 0,
            queues: queues as usize,
            lifetime: lifetime as u32,
            history_max: share(setting.capacity, history),
            recalls_first: recalls_first == 1.0,
            now: 0,
            next_expiry: [0; QUEUES_MAX],
            earliest_expiry: 0,
            lists: WeightedLists::new(setting.requests.keys()),
            eviction_log: EvictionLog::default(),
        }
    }

    fn queue_of(&self, count: u16) -> usize {
        (count.ilog2() as usize).min(self.queues - 1)
    }

    fn evict_above(&mut self, limit: u64) {
        while self.used > limit {
            let Some(slot) = (0..self.queues).find_map(|queue| self.lists.oldest(queue)) else { break };
            self.used -= self.lists.weight_of(slot).get();
            self.eviction_log.record(self.lists.id(slot));
            self.lists.move_to(slot, HISTORY);
            self.lists.trim(HISTORY, self.history_max);
        }
    }

    fn admit(&mut self, request: &CacheRequest, weight: W) {
        let limit = self.capacity - weight.get();
        if !self.recalls_first {
            self.evict_above(limit);
        }
        let mut count = 1;
        if let Some(ghost) = self.lists.find(request.id) {
            count = self.lists.value(ghost).count.saturating_add(1);
            self.lists.remove(ghost);
        }
        if self.recalls_first {
            self.evict_above(limit);
        }
        self.used += weight.get();
        let value = Usage::new(self.now + self.lifetime, count);
        self.lists.insert(self.queue_of(count), request.id, value, weight);
    }

    fn hit(&mut self, slot: Slot, weight: W) {
        self.used = self.used - self.lists.weight_of(slot).get() + weight.get();
        self.lists.reweigh(slot, weight);
        let count = self.lists.value(slot).count.saturating_add(1);
        *self.lists.value_mut(slot) = Usage::new(self.now + self.lifetime, count);
        self.lists.move_to(slot, self.queue_of(count));
        self.evict_above(self.capacity);
    }

    /// Moves expired objects a queue down, at most one of each queue.
    fn adjust(&mut self) {
        self.now += 1;
        if self.earliest_expiry >= self.now {
            return;
        }
        self.earliest_expiry = u32::MAX;
        for queue in 1..self.queues {
            if self.next_expiry[queue] < self.now {
                self.next_expiry[queue] = self.expire(queue);
            }
            self.earliest_expiry = self.earliest_expiry.min(self.next_expiry[queue]);
        }
    }

    /// Moves the oldest object of a queue down if it has expired. Returns a lower bound of the next expiry.
    fn expire(&mut self, queue: usize) -> u32 {
        let next = self.now + self.lifetime;
        let Some(slot) = self.lists.oldest(queue) else { return next };
        let value = self.lists.value(slot);
        if value.expires() >= self.now {
            return value.expires();
        }
        *self.lists.value_mut(slot) = Usage::new(next, value.count);
        self.lists.move_to(slot, queue - 1);
        self.lists.oldest(queue).map_or(next, |slot| self.lists.value(slot).expires())
    }
}

impl<W: Weight> Policy for Mq<W> {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn used(&self) -> u64 {
        self.used
    }

    fn holds(&self, id: KeyId) -> bool {
        self.lists.find(id).is_some_and(|slot| self.lists.list(slot) != HISTORY)
    }

    fn eviction_log(&mut self) -> &mut EvictionLog {
        &mut self.eviction_log
    }

    fn remove(&mut self, id: KeyId) {
        if let Some(slot) = self.lists.find(id).filter(|slot| self.lists.list(*slot) != HISTORY) {
            self.used -= self.lists.weight_of(slot).get();
            self.lists.remove(slot);
        }
    }

    #[inline]
    fn request(&mut self, request: &CacheRequest) -> bool {
        let weight = W::of(request.size);
        let held = self.lists.find(request.id).filter(|slot| self.lists.list(*slot) != HISTORY);
        match held {
            Some(slot) => self.hit(slot, weight),
            None => self.admit(request, weight),
        }
        self.adjust();
        held.is_some()
    }
}
