//! CLOCK as a row: the oldest goes, or, with hits left, becomes the newest with one less.

use std::collections::HashMap;

use manometer_cache::CacheRequest;

use super::list::ObjectList;
use super::traces::Object;
use super::{Model, ModelConfig};

pub struct Clock {
    capacity: u64,
    hits_max: u32,
    row: ObjectList,
    hits: HashMap<u32, u32>,
}

impl Clock {
    pub fn new(setting: ModelConfig<'_>) -> Self {
        let hits_max = 2_u32.pow(setting.parameters[0] as u32) - 1;
        Self { capacity: setting.capacity, hits_max, row: ObjectList::default(), hits: HashMap::new() }
    }

    fn evict_above(&mut self, limit: u64) {
        while self.row.weight() > limit {
            let (id, size) = self.row.take_oldest();
            let hits = self.hits.get_mut(&id).unwrap();
            if *hits > 0 {
                *hits -= 1;
                self.row.add(id, size);
            }
        }
    }
}

impl Model for Clock {
    fn request(&mut self, request: &CacheRequest) -> bool {
        if self.row.has(request.id) {
            let hits = self.hits.get_mut(&request.id).unwrap();
            *hits = (*hits + 1).min(self.hits_max);
            self.row.resize(request.id, request.size);
            self.evict_above(self.capacity);
            return true;
        }
        self.evict_above(self.capacity - request.size);
        self.hits.insert(request.id, 0);
        self.row.add(request.id, request.size);
        false
    }

    fn held(&self) -> Vec<Object> {
        self.row.0.clone()
    }
}
