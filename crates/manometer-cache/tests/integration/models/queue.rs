//! FIFO, LRU and MRU: one row; a hit renews or not; the oldest or the newest goes.

use manometer_cache::CacheRequest;

use super::list::ObjectList;
use super::traces::Object;
use super::{Model, ModelConfig};

pub struct Queue {
    capacity: u64,
    renews: bool,
    evicts_newest: bool,
    row: ObjectList,
}

impl Queue {
    pub fn new(setting: ModelConfig<'_>, renews: bool, evicts_newest: bool) -> Self {
        Self { capacity: setting.capacity, renews, evicts_newest, row: ObjectList::default() }
    }

    fn evict_above(&mut self, limit: u64) {
        while self.row.weight() > limit {
            let end = if self.evicts_newest { self.row.0.len() - 1 } else { 0 };
            self.row.0.remove(end);
        }
    }
}

impl Model for Queue {
    fn request(&mut self, request: &CacheRequest) -> bool {
        if !self.row.has(request.id) {
            self.evict_above(self.capacity - request.size);
            self.row.add(request.id, request.size);
            return false;
        }
        self.row.resize(request.id, request.size);
        if self.renews {
            self.row.take(request.id);
            self.row.add(request.id, request.size);
        }
        self.evict_above(self.capacity);
        true
    }

    fn held(&self) -> Vec<Object> {
        self.row.0.clone()
    }
}
