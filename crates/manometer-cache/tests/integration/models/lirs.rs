//! LIRS as its paper has it: a stack, a queue, and a set each for LIR and resident objects.

use std::collections::{HashMap, HashSet};

use manometer_cache::CacheRequest;

use super::traces::Object;
use super::{Model, ModelConfig};

pub struct Lirs {
    capacity: u64,
    lir_max: u64,
    skips_repeats: bool,
    last: Option<u32>,
    /// The bottom first.
    stack: Vec<u32>,
    /// The next to be evicted first.
    queue: Vec<u32>,
    lir: HashSet<u32>,
    /// What is in the cache, with its size.
    resident: HashMap<u32, u64>,
}

impl Lirs {
    pub fn new(setting: ModelConfig<'_>) -> Self {
        let hir_max = setting.share(0).max(2).min(setting.capacity);
        Self {
            capacity: setting.capacity,
            lir_max: setting.capacity - hir_max,
            skips_repeats: setting.parameters[1] == 1.0,
            last: None,
            stack: Vec::new(),
            queue: Vec::new(),
            lir: HashSet::new(),
            resident: HashMap::new(),
        }
    }

    fn used(&self) -> u64 {
        self.resident.values().sum()
    }

    fn lir_used(&self) -> u64 {
        self.lir.iter().map(|id| self.resident[id]).sum()
    }

    fn prune(&mut self) {
        let bottom = self.stack.iter().position(|id| self.lir.contains(id)).unwrap_or(self.stack.len());
        self.stack.drain(..bottom);
    }

    fn demote(&mut self) {
        self.prune();
        let bottom = self.stack.remove(0);
        self.lir.remove(&bottom);
        self.queue.push(bottom);
        self.prune();
    }

    fn evict_above(&mut self, limit: u64) {
        while self.used() > limit {
            if self.queue.is_empty() {
                self.demote();
            }
            let victim = self.queue.remove(0);
            self.resident.remove(&victim);
        }
    }
}

impl Model for Lirs {
    fn request(&mut self, request: &CacheRequest) -> bool {
        let (id, size) = (request.id, request.size);
        if self.skips_repeats && self.last == Some(id) {
            return true;
        }
        self.last = Some(id);
        let was_lir = self.lir.remove(&id);
        let was_in_stack = self.stack.contains(&id);
        let is_hit = self.resident.remove(&id).is_some();
        self.queue.retain(|other| *other != id);
        self.stack.retain(|other| *other != id);
        self.prune();
        self.evict_above(self.capacity - size);
        let others = if self.lir.is_empty() { 0 } else { self.used() };
        let fills_up = !is_hit && others + size <= self.lir_max;
        self.stack.push(id);
        self.resident.insert(id, size);
        if was_lir || was_in_stack || fills_up {
            self.lir.insert(id);
            while self.lir_used() > self.lir_max {
                self.demote();
            }
        } else {
            self.queue.push(id);
            self.prune();
        }
        is_hit
    }

    fn held(&self) -> Vec<Object> {
        self.resident.iter().map(|(id, size)| (u64::from(*id), *size)).collect()
    }
}
