//! Segmented LRU: a row for each segment, the lowest first.

use manometer_cache::CacheRequest;

use super::list::ObjectList;
use super::traces::Object;
use super::{Model, ModelConfig};

pub struct Slru {
    capacity: u64,
    fills: bool,
    segments: Vec<ObjectList>,
}

impl Slru {
    pub fn new(setting: ModelConfig<'_>) -> Self {
        let fills = setting.parameters[1] == 1.0;
        Self {
            capacity: setting.capacity,
            fills,
            segments: vec![ObjectList::default(); setting.parameters[0] as usize],
        }
    }

    fn evict_above(&mut self, limit: u64) {
        while self.segments.iter().map(ObjectList::weight).sum::<u64>() > limit {
            self.segments.iter_mut().find(|segment| !segment.is_empty()).unwrap().take_oldest();
        }
    }
}

impl Model for Slru {
    fn request(&mut self, request: &CacheRequest) -> bool {
        let (id, size) = (request.id, request.size);
        let Some(segment) = self.segments.iter().position(|segment| segment.has(id)) else {
            self.evict_above(self.capacity - size);
            let most = self.capacity / self.segments.len() as u64;
            let with_room = self.segments.iter_mut().find(|segment| segment.weight() + size <= most);
            if let Some(segment) = with_room.filter(|_| self.fills) {
                segment.add(id, size);
            } else {
                self.segments[0].add(id, size);
            }
            return false;
        };
        self.segments[segment].take(id);
        let highest = self.segments.len() - 1;
        self.segments[(segment + 1).min(highest)].add(id, size);
        let most = self.capacity / self.segments.len() as u64;
        for segment in (1..=highest).rev() {
            while self.segments[segment].weight() > most {
                let (id, size) = self.segments[segment].take_oldest();
                self.segments[segment - 1].add(id, size);
            }
        }
        self.evict_above(self.capacity);
        true
    }

    fn held(&self) -> Vec<Object> {
        self.segments.iter().flat_map(|segment| segment.0.clone()).collect()
    }
}
