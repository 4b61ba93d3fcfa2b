//! dm-cache's `mq` with its levels as rows that are moved when they are shifted.

use std::collections::HashMap;

use manometer_cache::CacheRequest;

use super::list::ObjectList;
use super::traces::Object;
use super::{Model, ModelConfig};

#[derive(Default)]
struct Levels(Vec<ObjectList>);

impl Levels {
    fn weight(&self) -> u64 {
        self.0.iter().map(ObjectList::weight).sum()
    }

    fn has(&self, id: u32) -> bool {
        self.0.iter().any(|level| level.has(id))
    }

    fn take(&mut self, id: u32) {
        self.0.iter_mut().for_each(|level| _ = level.take(id));
    }

    fn push(&mut self, id: u32, size: u64, hits: u64) {
        self.0[(hits as f64).log2().floor().min(15.0) as usize].add(id, size);
    }

    fn pop_above(&mut self, limit: u64) {
        while self.weight() > limit {
            let lowest = self.0.iter().position(|level| !level.is_empty()).unwrap();
            self.0[lowest].take_oldest();
            if lowest == 0 && self.0[0].is_empty() {
                let empty = self.0.remove(0);
                self.0.push(empty);
            }
        }
    }
}

pub struct DmCacheMq {
    capacity: u64,
    extra: [u64; 2],
    requests_per_second: u32,
    threshold: u64,
    generation: u64,
    hits_of_generation: u64,
    candidates: Levels,
    cached: Levels,
    hits: HashMap<u32, u64>,
    seconds: HashMap<u32, u32>,
}

impl DmCacheMq {
    pub fn new(setting: ModelConfig<'_>) -> Self {
        Self {
            capacity: setting.capacity,
            extra: [setting.parameters[0] as u64, setting.parameters[1] as u64],
            requests_per_second: setting.parameters[2] as u32,
            threshold: 0,
            generation: (setting.capacity / setting.mean()).max(1024),
            hits_of_generation: 0,
            candidates: Levels(vec![ObjectList::default(); 16]),
            cached: Levels(vec![ObjectList::default(); 16]),
            hits: HashMap::new(),
            seconds: HashMap::new(),
        }
    }

    fn count(&mut self, id: u32, second: u32) -> bool {
        if self.seconds.insert(id, second) == Some(second) {
            return false;
        }
        *self.hits.get_mut(&id).unwrap() += 1;
        self.hits_of_generation += 1;
        let mean = self.cached.weight() as f64 / self.held().len().max(1) as f64;
        let is_full = (self.capacity - self.cached.weight()) as f64 + 1e-9 < mean;
        if is_full && self.hits_of_generation >= self.generation {
            self.hits_of_generation = 0;
            let lowest = self.cached.0.iter().flat_map(|level| &level.0).take(20);
            let hits: Vec<f64> = lowest.map(|object| self.hits[&(object.0 as u32)] as f64).collect();
            self.threshold = (hits.iter().sum::<f64>() / hits.len() as f64).ceil() as u64;
        }
        true
    }
}

impl Model for DmCacheMq {
    fn request(&mut self, request: &CacheRequest) -> bool {
        let (id, size) = (request.id, request.size);
        let second = request.position / self.requests_per_second;
        let extra = self.extra[usize::from(request.is_write)];
        let (is_hit, is_candidate) = (self.cached.has(id), self.candidates.has(id));
        if !is_hit && !is_candidate {
            self.hits.insert(id, 1);
            self.seconds.insert(id, second);
            let set = if self.threshold + extra <= 1 { &mut self.cached } else { &mut self.candidates };
            set.pop_above(self.capacity - size);
            set.push(id, size, 1);
            return false;
        }
        // It stays where it is where the hit does not count.
        let set = if is_hit { &mut self.cached } else { &mut self.candidates };
        set.0.iter_mut().filter(|level| level.has(id)).for_each(|level| level.resize(id, size));
        if self.count(id, second) {
            let hits = self.hits[&id];
            let set = if is_hit { &mut self.cached } else { &mut self.candidates };
            set.take(id);
            if is_candidate && hits >= self.threshold + extra {
                self.cached.pop_above(self.capacity - size);
                self.cached.push(id, size, hits);
            } else {
                set.push(id, size, hits);
            }
        }
        self.candidates.pop_above(self.capacity);
        self.cached.pop_above(self.capacity);
        is_hit
    }

    fn held(&self) -> Vec<Object> {
        self.cached.0.iter().flat_map(|level| level.0.clone()).collect()
    }
}
