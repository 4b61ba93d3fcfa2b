//! LeCaR as its paper has it: two experts, their weights, and a history each.

use std::collections::HashMap;

use manometer_cache::CacheRequest;
use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

use super::list::ObjectList;
use super::traces::Object;
use super::{Model, ModelConfig, SEED};

const LRU: usize = 0;
const LFU: usize = 1;

pub struct LeCar {
    capacity: u64,
    rate: f64,
    discount: f64,
    history_max: u64,
    weights: [f64; 2],
    /// By recency.
    row: ObjectList,
    histories: [ObjectList; 2],
    requests: HashMap<u32, u32>,
    evicted: HashMap<u32, u32>,
    random: Xoshiro256PlusPlus,
}

impl LeCar {
    pub fn new(setting: ModelConfig<'_>) -> Self {
        Self {
            capacity: setting.capacity,
            rate: setting.parameters[0],
            discount: setting.parameters[1],
            history_max: setting.share(2),
            weights: [0.5, 0.5],
            row: ObjectList::default(),
            histories: Default::default(),
            requests: HashMap::new(),
            evicted: HashMap::new(),
            random: Xoshiro256PlusPlus::seed_from_u64(SEED),
        }
    }

    fn evict_above(&mut self, limit: u64, now: u32) {
        while self.row.weight() > limit {
            let expert = if self.random.random::<f64>() < self.weights[LRU] { LRU } else { LFU };
            // The row is by recency, and the first of equals is the least recent.
            let rarest =
                |row: &ObjectList| row.0.iter().min_by_key(|object| self.requests[&(object.0 as u32)]).copied();
            let picks = [self.row.0[0], rarest(&self.row).unwrap()];
            let (id, size) = picks[expert];
            self.row.take(id as u32);
            self.evicted.insert(id as u32, now);
            if picks[LRU] != picks[LFU] {
                self.histories[expert].add(id as u32, size);
                self.histories[expert].trim(self.history_max);
            }
        }
    }
}

impl Model for LeCar {
    fn request(&mut self, request: &CacheRequest) -> bool {
        let (id, size, now) = (request.id, request.size, request.position);
        if self.row.take(id) {
            self.row.add(id, size);
            *self.requests.get_mut(&id).unwrap() += 1;
            self.evict_above(self.capacity, now);
            return true;
        }
        let mut requests = 1;
        for expert in [LRU, LFU] {
            if self.histories[expert].take(id) {
                let since = f64::from(now - self.evicted[&id]);
                let regret = self.discount.powf(since / self.row.0.len().max(1) as f64);
                self.weights[expert] *= (-self.rate * regret).exp();
                let both = self.weights[LRU] + self.weights[LFU];
                self.weights[LRU] /= both;
                self.weights[LRU] = self.weights[LRU].clamp(1.0 - 0.99, 0.99);
                self.weights[LFU] = 1.0 - self.weights[LRU];
                requests = self.requests[&id] + 1;
            }
        }
        self.evict_above(self.capacity - size, now);
        self.row.add(id, size);
        self.requests.insert(id, requests);
        false
    }

    fn held(&self) -> Vec<Object> {
        self.row.0.clone()
    }
}
