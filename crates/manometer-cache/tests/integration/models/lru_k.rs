//! LRU-K with all times of all requests; those of evicted objects only while they are remembered.

use std::collections::HashMap;

use manometer_cache::CacheRequest;

use super::list::ObjectList;
use super::traces::Object;
use super::{Model, ModelConfig};

pub struct LruK {
    capacity: u64,
    k: usize,
    history_max: u64,
    row: ObjectList,
    history: ObjectList,
    times: HashMap<u32, Vec<i64>>,
}

impl LruK {
    pub fn new(setting: ModelConfig<'_>) -> Self {
        Self {
            capacity: setting.capacity,
            k: setting.parameters[0] as usize,
            history_max: setting.share(1),
            row: ObjectList::default(),
            history: ObjectList::default(),
            times: HashMap::new(),
        }
    }

    fn evict_above(&mut self, limit: u64) {
        while self.row.weight() > limit {
            let rank = |object: &Object| {
                let times = &self.times[&(object.0 as u32)];
                (times.iter().rev().nth(self.k - 1).copied().unwrap_or(-1), times.last().copied())
            };
            let (id, size) = *self.row.0.iter().min_by_key(|object| rank(object)).unwrap();
            self.row.take(id as u32);
            self.history.add(id as u32, size);
            self.history.trim(self.history_max);
        }
    }
}

impl Model for LruK {
    fn request(&mut self, request: &CacheRequest) -> bool {
        let (id, size) = (request.id, request.size);
        let is_hit = self.row.has(id);
        if !is_hit {
            if !self.history.take(id) {
                self.times.insert(id, Vec::new());
            }
            self.evict_above(self.capacity - size);
            self.row.add(id, size);
        }
        self.row.resize(id, size);
        self.times.get_mut(&id).unwrap().push(i64::from(request.position));
        self.evict_above(self.capacity);
        is_hit
    }

    fn held(&self) -> Vec<Object> {
        self.row.0.clone()
    }
}
