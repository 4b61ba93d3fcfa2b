//! Random: anything goes.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

use super::{Evicted, Kind, Policy, Request, Setting, by_weight};
use crate::number::Id;
use crate::pool::Pool;
use crate::requests::Details;
use crate::weight::Weight;

pub(super) const KIND: Kind = Kind {
    name: "random",
    about: "evicts by chance",
    source: "Belady, IBM Systems Journal 1966",
    parameters: &[],
    details: Details::NONE,
    make: by_weight!(Random),
};

struct Random<W> {
    capacity: u64,
    used: u64,
    pool: Pool<W>,
    random: Xoshiro256PlusPlus,
    evicted: Evicted,
}

impl<W: Weight> Random<W> {
    fn new(setting: &Setting<'_>) -> Self {
        let pool = Pool::new(setting.requests.keys());
        let random = Xoshiro256PlusPlus::seed_from_u64(setting.seed);
        Self { capacity: setting.capacity, used: 0, pool, random, evicted: Evicted::default() }
    }

    fn evict_above(&mut self, limit: u64) {
        while self.used > limit {
            let Some((id, weight)) = self.pool.draw(&mut self.random) else { break };
            self.used -= weight.get();
            self.pool.remove(id);
            self.evicted.note(id);
        }
    }
}

impl<W: Weight> Policy for Random<W> {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn used(&self) -> u64 {
        self.used
    }

    fn holds(&self, id: Id) -> bool {
        self.pool.has(id)
    }

    fn evicted(&mut self) -> &mut Evicted {
        &mut self.evicted
    }

    fn remove(&mut self, id: Id) {
        if let Some(weight) = self.pool.get_mut(id) {
            self.used -= weight.get();
            self.pool.remove(id);
        }
    }

    #[inline]
    fn request(&mut self, request: &Request) -> bool {
        let weight = W::of(request.size);
        if let Some(held) = self.pool.get_mut(request.id) {
            let before = std::mem::replace(held, weight);
            self.used = self.used - before.get() + weight.get();
            self.evict_above(self.capacity);
            return true;
        }
        self.evict_above(self.capacity - weight.get());
        self.used += weight.get();
        self.pool.insert(request.id, weight);
        false
    }
}
