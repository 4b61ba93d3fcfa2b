//! Evicts what is requested again last. Of what is never requested again the key that came last goes first; it makes
//! no difference where all objects are of one size.

use manometer_cache::CacheRequest;

use super::traces::Object;
use super::{Model, ModelConfig};

pub struct Opt<'a> {
    setting: ModelConfig<'a>,
    held: Vec<Object>,
}

impl<'a> Opt<'a> {
    pub fn new(setting: ModelConfig<'a>) -> Self {
        Self { setting, held: Vec::new() }
    }

    pub fn remove(&mut self, id: u32) {
        self.held.retain(|object| object.0 != u64::from(id));
    }

    fn next(&self, id: u64, position: u32) -> (usize, u64) {
        let after = self.setting.objects.iter().enumerate().skip(position as usize + 1);
        let mut again = after.filter(|(_, object)| object.0 == id && object.1 <= self.setting.capacity);
        again.next().map_or((usize::MAX, id), |(at, _)| (at, 0))
    }
}

impl Model for Opt<'_> {
    fn request(&mut self, request: &CacheRequest) -> bool {
        let id = u64::from(request.id);
        let before = self.held.len();
        self.held.retain(|object| object.0 != id);
        let is_hit = self.held.len() < before;
        while self.held.iter().map(|object| object.1).sum::<u64>() + request.size > self.setting.capacity {
            let last = (0..self.held.len()).max_by_key(|at| self.next(self.held[*at].0, request.position)).unwrap();
            self.held.remove(last);
        }
        self.held.push((id, request.size));
        is_hit
    }

    fn held(&self) -> Vec<Object> {
        self.held.clone()
    }
}
