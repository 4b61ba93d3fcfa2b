//! Hyperbolic caching: of objects drawn from a row, as many requests for their time as the fewest.

use std::collections::HashMap;

use manometer_cache::CacheRequest;
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

use super::list::ObjectList;
use super::traces::Object;
use super::{Model, ModelConfig, SEED};

pub struct Hyperbolic {
    capacity: u64,
    samples: usize,
    row: ObjectList,
    requests: HashMap<u64, f64>,
    admitted: HashMap<u64, f64>,
    random: Xoshiro256PlusPlus,
}

impl Hyperbolic {
    pub fn new(setting: ModelConfig<'_>) -> Self {
        Self {
            capacity: setting.capacity,
            samples: setting.parameters[0] as usize,
            row: ObjectList::default(),
            requests: HashMap::new(),
            admitted: HashMap::new(),
            random: Xoshiro256PlusPlus::seed_from_u64(SEED),
        }
    }

    fn evict_above(&mut self, limit: u64, now: f64) {
        while self.row.weight() > limit {
            let drawn: Vec<usize> = (0..self.samples).map(|_| self.random.random_range(0..self.row.0.len())).collect();
            let priority = |at: &usize| {
                let id = self.row.0[*at].0;
                self.requests[&id] / (now - self.admitted[&id])
            };
            let lowest = *drawn.iter().min_by(|a, b| priority(a).total_cmp(&priority(b))).unwrap();
            self.row.0.swap_remove(lowest);
        }
    }
}

impl Model for Hyperbolic {
    fn request(&mut self, request: &CacheRequest) -> bool {
        let (id, now) = (u64::from(request.id), f64::from(request.position));
        let is_hit = self.row.has(request.id);
        if is_hit {
            *self.requests.get_mut(&id).unwrap() += 1.0;
            self.row.resize(request.id, request.size);
            self.evict_above(self.capacity, now);
        } else {
            self.evict_above(self.capacity - request.size, now);
            self.row.add(request.id, request.size);
            self.requests.insert(id, 1.0);
            self.admitted.insert(id, now);
        }
        is_hit
    }

    fn held(&self) -> Vec<Object> {
        self.row.0.clone()
    }
}
