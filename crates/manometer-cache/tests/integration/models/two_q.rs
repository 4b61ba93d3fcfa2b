//! 2Q in full, as its paper has it: A1in, A1out and Am.

use manometer_cache::CacheRequest;

use super::list::ObjectList;
use super::traces::Object;
use super::{Model, ModelConfig};

pub struct TwoQ {
    capacity: u64,
    k_in: u64,
    k_out: u64,
    a1_in: ObjectList,
    a1_out: ObjectList,
    am: ObjectList,
}

impl TwoQ {
    pub fn new(setting: ModelConfig<'_>) -> Self {
        let [a1_in, a1_out, am] = Default::default();
        Self { capacity: setting.capacity, k_in: setting.share(0), k_out: setting.share(1), a1_in, a1_out, am }
    }

    fn evict_above(&mut self, limit: u64) {
        while self.a1_in.weight() + self.am.weight() > limit {
            if self.am.is_empty() || self.a1_in.weight() > self.k_in {
                let (id, size) = self.a1_in.take_oldest();
                self.a1_out.add(id, size);
                self.a1_out.trim(self.k_out);
            } else {
                self.am.take_oldest();
            }
        }
    }
}

impl Model for TwoQ {
    fn request(&mut self, request: &CacheRequest) -> bool {
        let (id, size) = (request.id, request.size);
        if self.am.take(id) {
            self.am.add(id, size);
        } else if self.a1_in.has(id) {
            self.a1_in.resize(id, size);
        } else {
            let was_out = self.a1_out.take(id);
            self.evict_above(self.capacity - size);
            if was_out {
                self.am.add(id, size)
            } else {
                self.a1_in.add(id, size)
            }
            return false;
        }
        self.evict_above(self.capacity);
        true
    }

    fn held(&self) -> Vec<Object> {
        [&self.a1_in.0[..], &self.am.0].concat()
    }
}
