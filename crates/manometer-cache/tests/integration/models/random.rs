//! Random: a row from which any object goes, the last taking its place.

use manometer_cache::CacheRequest;
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

use super::list::ObjectList;
use super::traces::Object;
use super::{Model, ModelConfig, SEED};

pub struct Random {
    capacity: u64,
    row: ObjectList,
    random: Xoshiro256PlusPlus,
}

impl Random {
    pub fn new(setting: ModelConfig<'_>) -> Self {
        let random = Xoshiro256PlusPlus::seed_from_u64(SEED);
        Self { capacity: setting.capacity, row: ObjectList::default(), random }
    }

    fn evict_above(&mut self, limit: u64) {
        while self.row.weight() > limit {
            let any = self.random.random_range(0..self.row.0.len());
            self.row.0.swap_remove(any);
        }
    }
}

impl Model for Random {
    fn request(&mut self, request: &CacheRequest) -> bool {
        let is_hit = self.row.has(request.id);
        if is_hit {
            self.row.resize(request.id, request.size);
            self.evict_above(self.capacity);
        } else {
            self.evict_above(self.capacity - request.size);
            self.row.add(request.id, request.size);
        }
        is_hit
    }

    fn held(&self) -> Vec<Object> {
        self.row.0.clone()
    }
}
