//! A list of objects, the oldest first.

use super::traces::Object;

#[derive(Debug, Clone, Default)]
pub struct ObjectList(pub Vec<Object>);

impl ObjectList {
    pub fn at(&self, id: u32) -> Option<usize> {
        self.0.iter().position(|object| object.0 == u64::from(id))
    }

    pub fn has(&self, id: u32) -> bool {
        self.at(id).is_some()
    }

    pub fn weight(&self) -> u64 {
        self.0.iter().map(|object| object.1).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the newest.
    pub fn add(&mut self, id: u32, size: u64) {
        self.0.push((u64::from(id), size));
    }

    pub fn take(&mut self, id: u32) -> bool {
        let at = self.at(id);
        at.is_some_and(|at| self.0.remove(at).1 > 0)
    }

    /// Gives an object another size where it stands.
    pub fn resize(&mut self, id: u32, size: u64) {
        let at = self.at(id).unwrap();
        self.0[at].1 = size;
    }

    pub fn take_oldest(&mut self) -> (u32, u64) {
        let (id, size) = self.0.remove(0);
        (id as u32, size)
    }

    /// Drops the oldest until no more than `limit` is left.
    pub fn trim(&mut self, limit: u64) {
        while self.weight() > limit {
            self.0.remove(0);
        }
    }
}
