//! CAR as its paper has it, with lengths in bytes; a hand points at the first of its row.

use std::collections::HashSet;

use manometer_cache::CacheRequest;

use super::list::ObjectList;
use super::traces::Object;
use super::{Model, ModelConfig};

pub struct Car {
    capacity: u64,
    p: f64,
    t1: ObjectList,
    t2: ObjectList,
    b1: ObjectList,
    b2: ObjectList,
    marked: HashSet<u32>,
}

impl Car {
    pub fn new(setting: ModelConfig<'_>) -> Self {
        let [t1, t2, b1, b2] = Default::default();
        Self { capacity: setting.capacity, p: 0.0, t1, t2, b1, b2, marked: HashSet::new() }
    }

    fn used(&self) -> u64 {
        self.t1.weight() + self.t2.weight()
    }

    fn replace_above(&mut self, limit: u64) {
        while self.used() > limit {
            let is_from_t1 = self.t1.weight() as f64 >= self.p.max(1.0);
            let (clock, ghosts) = if self.t2.is_empty() || is_from_t1 && !self.t1.is_empty() {
                (&mut self.t1, &mut self.b1)
            } else {
                (&mut self.t2, &mut self.b2)
            };
            let (id, size) = clock.take_oldest();
            if self.marked.remove(&id) { self.t2.add(id, size) } else { ghosts.add(id, size) }
        }
    }
}

impl Model for Car {
    fn request(&mut self, request: &CacheRequest) -> bool {
        let (id, size, c) = (request.id, request.size, self.capacity);
        if self.t1.has(id) || self.t2.has(id) {
            let clock = if self.t1.has(id) { &mut self.t1 } else { &mut self.t2 };
            clock.resize(id, size);
            self.marked.insert(id);
            self.replace_above(c);
            return true;
        }
        let (was_in_b1, was_in_b2) = (self.b1.has(id), self.b2.has(id));
        self.replace_above(c - size);
        let (b1, b2) = (self.b1.weight() as f64, self.b2.weight() as f64);
        if was_in_b1 {
            self.p = (self.p + (b2 / b1).max(1.0) * size as f64).min(c as f64);
        } else if was_in_b2 {
            self.p = (self.p - (b1 / b2).max(1.0) * size as f64).max(0.0);
        }
        if was_in_b1 || was_in_b2 {
            self.b1.take(id);
            self.b2.take(id);
            self.t2.add(id, size);
            return false;
        }
        if self.t1.weight() + self.b1.weight() + size > c {
            while !self.b1.is_empty() && self.t1.weight() + self.b1.weight() + size > c {
                self.b1.take_oldest();
            }
        } else {
            while !self.b2.is_empty() && self.used() + self.b1.weight() + self.b2.weight() + size > 2 * c {
                self.b2.take_oldest();
            }
        }
        self.t1.add(id, size);
        false
    }

    fn held(&self) -> Vec<Object> {
        [&self.t1.0[..], &self.t2.0].concat()
    }
}
