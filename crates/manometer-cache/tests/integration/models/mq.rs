//! MQ as its paper has it.

use std::collections::HashMap;

use manometer_cache::CacheRequest;

use super::list::ObjectList;
use super::traces::Object;
use super::{Model, ModelConfig};

pub struct Mq {
    capacity: u64,
    lifetime: u64,
    history_max: u64,
    recalls_first: bool,
    now: u64,
    queues: Vec<ObjectList>,
    history: ObjectList,
    /// Of what is held and of what is remembered.
    frequencies: HashMap<u32, u64>,
    expires: HashMap<u32, u64>,
}

impl Mq {
    pub fn new(setting: ModelConfig<'_>) -> Self {
        Self {
            capacity: setting.capacity,
            lifetime: setting.parameters[1] as u64,
            history_max: setting.share(2),
            recalls_first: setting.parameters[3] == 1.0,
            now: 0,
            queues: vec![ObjectList::default(); setting.parameters[0] as usize],
            history: ObjectList::default(),
            frequencies: HashMap::new(),
            expires: HashMap::new(),
        }
    }

    fn used(&self) -> u64 {
        self.queues.iter().map(ObjectList::weight).sum()
    }

    fn evict_above(&mut self, limit: u64) {
        while self.used() > limit {
            let lowest = self.queues.iter_mut().find(|queue| !queue.is_empty()).unwrap();
            let (id, size) = lowest.take_oldest();
            self.history.add(id, size);
            self.history.trim(self.history_max);
        }
    }
}

impl Model for Mq {
    fn request(&mut self, request: &CacheRequest) -> bool {
        let (id, size) = (request.id, request.size);
        let is_hit = self.queues.iter_mut().any(|queue| queue.take(id));
        if !is_hit {
            let was_remembered = self.history.has(id);
            let is_recalled_before = self.recalls_first && self.history.take(id);
            self.evict_above(self.capacity - size);
            let is_recalled = is_recalled_before || was_remembered && self.history.take(id);
            if !is_recalled {
                self.frequencies.insert(id, 0);
            }
        }
        let frequency = self.frequencies.get_mut(&id).unwrap();
        *frequency += 1;
        let queue = (frequency.ilog2() as usize).min(self.queues.len() - 1);
        self.queues[queue].add(id, size);
        self.expires.insert(id, self.now + self.lifetime);
        self.evict_above(self.capacity);
        self.now += 1;
        for queue in 1..self.queues.len() {
            if let Some((id, size)) = self.queues[queue].0.first().copied()
                && self.expires[&(id as u32)] < self.now
            {
                self.queues[queue].0.remove(0);
                self.queues[queue - 1].0.push((id, size));
                self.expires.insert(id as u32, self.now + self.lifetime);
            }
        }
        is_hit
    }

    fn held(&self) -> Vec<Object> {
        self.queues.iter().flat_map(|queue| queue.0.clone()).collect()
    }
}
