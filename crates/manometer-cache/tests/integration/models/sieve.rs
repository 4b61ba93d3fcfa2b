//! SIEVE as a row with a mark for each object and an index for the hand.

use std::collections::HashSet;

use manometer_cache::CacheRequest;

use super::list::ObjectList;
use super::traces::Object;
use super::{Model, ModelConfig};

pub struct Sieve {
    capacity: u64,
    row: ObjectList,
    visited: HashSet<u32>,
    hand: usize,
}

impl Sieve {
    pub fn new(setting: ModelConfig<'_>) -> Self {
        Self { capacity: setting.capacity, row: ObjectList::default(), visited: HashSet::new(), hand: 0 }
    }

    fn evict_above(&mut self, limit: u64) {
        while self.row.weight() > limit {
            let id = self.row.0[self.hand].0 as u32;
            if self.visited.remove(&id) {
                self.hand += 1;
            } else {
                self.row.0.remove(self.hand);
            }
            // Past the newest it begins with the oldest, before another object is admitted.
            if self.hand == self.row.0.len() {
                self.hand = 0;
            }
        }
    }
}

impl Model for Sieve {
    fn request(&mut self, request: &CacheRequest) -> bool {
        if self.row.has(request.id) {
            self.visited.insert(request.id);
            self.row.resize(request.id, request.size);
            self.evict_above(self.capacity);
            return true;
        }
        self.evict_above(self.capacity - request.size);
        self.row.add(request.id, request.size);
        false
    }

    fn held(&self) -> Vec<Object> {
        self.row.0.clone()
    }
}
