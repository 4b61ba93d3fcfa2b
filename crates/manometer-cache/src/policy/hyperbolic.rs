//! Hyperbolic caching: of a few random objects evicts the one with the fewest requests per time in the cache.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

use super::{CacheConfig, EvictionLog, Policy, PolicyKind, PolicyParameter};
use crate::key_id::KeyId;
use crate::request::{CacheRequest, RequestFields};
use crate::sample_pool::SamplePool;
use crate::weight::Weight;

pub(super) const KIND: PolicyKind = PolicyKind {
    name: "hyperbolic",
    about: "evicts, from a random sample, the object with the fewest requests per time in the cache",
    source: "Blankstein, Sen and Freedman, USENIX ATC 2017",
    parameters: &[PolicyParameter {
        name: "samples",
        meaning: "size of the sample",
        default: 64.0,
        min: 1.0,
        max: 10_000.0,
        is_whole: true,
    }],
    details: RequestFields::NONE,
    create: by_weight!(Hyperbolic),
};

#[derive(Debug, Clone, Copy)]
struct Object<W> {
    requests: u32,
    admitted: u32,
    weight: W,
}

struct Hyperbolic<W> {
    capacity: u64,
    used: u64,
    samples: u32,
    pool: SamplePool<Object<W>>,
    random: Xoshiro256PlusPlus,
    eviction_log: EvictionLog,
}

impl<W: Weight> Hyperbolic<W> {
    fn new(setting: &CacheConfig<'_>) -> Self {
        Self {
            capacity: setting.capacity,
            used: 0,
            samples: setting.parameters[0] as u32,
            pool: SamplePool::new(setting.requests.keys()),
            random: Xoshiro256PlusPlus::seed_from_u64(setting.seed),
            eviction_log: EvictionLog::default(),
        }
    }

    fn evict_above(&mut self, limit: u64, now: u32) {
        while self.used > limit {
            // Compares requests per time without division; the first of equal objects is evicted.
            let rarer = |a: &Object<W>, b: &Object<W>| {
                u64::from(a.requests) * u64::from(now - b.admitted)
                    < u64::from(b.requests) * u64::from(now - a.admitted)
            };
            let Some(mut lowest) = self.pool.draw(&mut self.random) else { break };
            for _ in 1..self.samples {
                let Some(other) = self.pool.draw(&mut self.random) else { break };
                if rarer(&other.1, &lowest.1) {
                    lowest = other;
                }
            }
            self.used -= lowest.1.weight.get();
            self.pool.remove(lowest.0);
            self.eviction_log.record(lowest.0);
        }
    }
}

impl<W: Weight> Policy for Hyperbolic<W> {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn used(&self) -> u64 {
        self.used
    }

    fn holds(&self, id: KeyId) -> bool {
        self.pool.contains(id)
    }

    fn eviction_log(&mut self) -> &mut EvictionLog {
        &mut self.eviction_log
    }

    fn remove(&mut self, id: KeyId) {
        if let Some(object) = self.pool.get_mut(id) {
            self.used -= object.weight.get();
            self.pool.remove(id);
        }
    }

    #[inline]
    fn request(&mut self, request: &CacheRequest) -> bool {
        let (weight, now) = (W::of(request.size), request.position);
        if let Some(object) = self.pool.get_mut(request.id) {
            object.requests += 1;
            let before = std::mem::replace(&mut object.weight, weight);
            self.used = self.used - before.get() + weight.get();
            if weight.get() > before.get() {
                self.evict_above(self.capacity, now);
            }
            return true;
        }
        self.evict_above(self.capacity - weight.get(), now);
        self.used += weight.get();
        self.pool.insert(request.id, Object { requests: 1, admitted: now, weight });
        false
    }
}
