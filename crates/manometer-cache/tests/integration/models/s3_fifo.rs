//! S3-FIFO as algorithm 1 of its paper has it: S, M, G and a count of hits up to three; M takes what S has no room
//! for until something is evicted.

use std::collections::HashMap;

use manometer_cache::CacheRequest;

use super::list::ObjectList;
use super::traces::Object;
use super::{Model, ModelConfig};

pub struct S3Fifo {
    capacity: u64,
    small_max: u64,
    ghost_max: u64,
    threshold: u64,
    small: ObjectList,
    main: ObjectList,
    ghost: ObjectList,
    hits: HashMap<u32, u64>,
    is_warm: bool,
}

impl S3Fifo {
    pub fn new(setting: ModelConfig<'_>) -> Self {
        let [small, main, ghost] = Default::default();
        Self {
            capacity: setting.capacity,
            small_max: setting.share(0),
            ghost_max: setting.share(1),
            threshold: setting.parameters[2] as u64,
            small,
            main,
            ghost,
            hits: HashMap::new(),
            is_warm: false,
        }
    }

    fn evict_above(&mut self, limit: u64) {
        while self.small.weight() + self.main.weight() > limit {
            self.is_warm = true;
            let is_small_full = self.small.weight() >= self.small_max;
            if !self.small.is_empty() && (is_small_full || self.main.is_empty()) {
                self.evict_small();
            } else {
                self.evict_main();
            }
        }
    }

    fn evict_small(&mut self) {
        while !self.small.is_empty() {
            let (id, size) = self.small.take_oldest();
            let hits = self.hits.insert(id, 0).unwrap();
            if hits < self.threshold {
                self.ghost.add(id, size);
                self.ghost.trim(self.ghost_max);
                return;
            }
            self.main.add(id, size);
        }
    }

    fn evict_main(&mut self) {
        loop {
            let (id, size) = self.main.take_oldest();
            let hits = self.hits.get_mut(&id).unwrap();
            if *hits == 0 {
                return;
            }
            *hits -= 1;
            self.main.add(id, size);
        }
    }
}

impl Model for S3Fifo {
    fn request(&mut self, request: &CacheRequest) -> bool {
        let (id, size) = (request.id, request.size);
        let is_in_small = self.small.has(id);
        if is_in_small || self.main.has(id) {
            let queue = if is_in_small { &mut self.small } else { &mut self.main };
            queue.resize(id, size);
            let hits = self.hits.get_mut(&id).unwrap();
            *hits = (*hits + 1).min(3);
            self.evict_above(self.capacity);
            return true;
        }
        let was_ghost = self.ghost.take(id);
        self.evict_above(self.capacity - size);
        self.hits.insert(id, 0);
        let is_small_full = self.small.weight() >= self.small_max;
        if was_ghost || !self.is_warm && is_small_full {
            self.main.add(id, size)
        } else {
            self.small.add(id, size)
        }
        false
    }

    fn held(&self) -> Vec<Object> {
        [&self.small.0[..], &self.main.0].concat()
    }
}
