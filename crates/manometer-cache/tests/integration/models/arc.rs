//! ARC as its paper has it, with lengths in bytes.

use manometer_cache::CacheRequest;

use super::list::ObjectList;
use super::traces::Object;
use super::{Model, ModelConfig};

pub struct Arc {
    capacity: u64,
    p: f64,
    t1: ObjectList,
    t2: ObjectList,
    b1: ObjectList,
    b2: ObjectList,
}

impl Arc {
    pub fn new(setting: ModelConfig<'_>) -> Self {
        let [t1, t2, b1, b2] = Default::default();
        Self { capacity: setting.capacity, p: 0.0, t1, t2, b1, b2 }
    }

    fn used(&self) -> u64 {
        self.t1.weight() + self.t2.weight()
    }

    fn replace_above(&mut self, limit: u64, is_in_b2: bool) {
        while self.used() > limit {
            let t1 = self.t1.weight() as f64;
            let is_from_t1 = !self.t1.is_empty() && (t1 > self.p || (is_in_b2 && t1 == self.p));
            if is_from_t1 || self.t2.is_empty() {
                let (id, size) = self.t1.take_oldest();
                self.b1.add(id, size);
            } else {
                let (id, size) = self.t2.take_oldest();
                self.b2.add(id, size);
            }
        }
    }
}

impl Model for Arc {
    fn request(&mut self, request: &CacheRequest) -> bool {
        let (id, size, c) = (request.id, request.size, self.capacity);
        let (b1, b2) = (self.b1.weight() as f64, self.b2.weight() as f64);
        if self.t1.take(id) || self.t2.take(id) {
            self.t2.add(id, size);
            self.replace_above(c, false);
            return true;
        }
        if self.b1.has(id) {
            self.p = (self.p + (b2 / b1).max(1.0) * size as f64).min(c as f64);
            self.replace_above(c - size, false);
            self.b1.take(id);
            self.t2.add(id, size);
        } else if self.b2.has(id) {
            self.p = (self.p - (b1 / b2).max(1.0) * size as f64).max(0.0);
            self.replace_above(c - size, true);
            self.b2.take(id);
            self.t2.add(id, size);
        } else {
            if self.t1.weight() + self.b1.weight() + size > c {
                while !self.b1.is_empty() && self.t1.weight() + self.b1.weight() + size > c {
                    self.b1.take_oldest();
                }
                self.t1.trim(c - size);
            } else {
                while !self.b2.is_empty() && self.used() + self.b1.weight() + self.b2.weight() + size > 2 * c {
                    self.b2.take_oldest();
                }
            }
            self.replace_above(c - size, false);
            self.t1.add(id, size);
        }
        false
    }

    fn held(&self) -> Vec<Object> {
        [&self.t1.0[..], &self.t2.0].concat()
    }
}
