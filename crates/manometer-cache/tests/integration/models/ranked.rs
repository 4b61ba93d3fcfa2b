//! LFU, LFU with ageing and GDSF: the object with the lowest priority goes, of equals the least recent.

use std::collections::HashMap;

use manometer_cache::CacheRequest;

use super::traces::Object;
use super::{Model, ModelConfig};

struct Known {
    size: u64,
    requests: u32,
    priority: f64,
    last: u32,
}

pub struct Ranked {
    capacity: u64,
    /// Of the age, the requests and the size.
    priority: fn(f64, f64, f64) -> f64,
    age: f64,
    known: HashMap<u32, Known>,
}

impl Ranked {
    pub fn new(setting: ModelConfig<'_>, priority: fn(f64, f64, f64) -> f64) -> Self {
        Self { capacity: setting.capacity, priority, age: 0.0, known: HashMap::new() }
    }

    fn evict_above(&mut self, limit: u64) {
        while self.known.values().map(|known| known.size).sum::<u64>() > limit {
            let order = |a: &Known, b: &Known| a.priority.total_cmp(&b.priority).then(a.last.cmp(&b.last));
            let id = *self.known.iter().min_by(|a, b| order(a.1, b.1)).unwrap().0;
            self.age = self.known.remove(&id).unwrap().priority;
        }
    }
}

impl Model for Ranked {
    fn request(&mut self, request: &CacheRequest) -> bool {
        let before = self.known.get(&request.id).map(|known| known.requests);
        if before.is_none() {
            self.evict_above(self.capacity - request.size);
        }
        let requests = before.unwrap_or(0) + 1;
        let priority = (self.priority)(self.age, f64::from(requests), request.size as f64);
        let known = Known { size: request.size, requests, priority, last: request.position };
        self.known.insert(request.id, known);
        self.evict_above(self.capacity);
        before.is_some()
    }

    fn held(&self) -> Vec<Object> {
        self.known.iter().map(|(id, known)| (u64::from(*id), known.size)).collect()
    }
}
