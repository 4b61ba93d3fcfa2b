//! A pool of objects for random draws.

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::huge_pages::filled_table;
use crate::key_id::KeyId;

const NOWHERE: u32 = u32::MAX;

/// Objects with a value each.
#[derive(Debug)]
pub(crate) struct SamplePool<V> {
    entries: Vec<(KeyId, V)>,
    places: Vec<u32>,
}

impl<V: Copy> SamplePool<V> {
    /// For key IDs below `keys`.
    pub(crate) fn new(keys: usize) -> Self {
        Self { entries: Vec::new(), places: filled_table(NOWHERE, keys) }
    }

    /// The value of an object, mutable.
    #[inline]
    pub(crate) fn get_mut(&mut self, id: KeyId) -> Option<&mut V> {
        self.entries.get_mut(self.places[id as usize] as usize).map(|(_, value)| value)
    }

    pub(crate) fn contains(&self, id: KeyId) -> bool {
        self.places[id as usize] != NOWHERE
    }

    /// Adds an object that does not exist.
    #[inline]
    pub(crate) fn insert(&mut self, id: KeyId, value: V) {
        self.places[id as usize] = self.entries.len() as u32;
        self.entries.push((id, value));
    }

    /// Removes an object; the last one takes its place.
    #[inline]
    pub(crate) fn remove(&mut self, id: KeyId) {
        let at = std::mem::replace(&mut self.places[id as usize], NOWHERE);
        self.entries.swap_remove(at as usize);
        if let Some((moved, _)) = self.entries.get(at as usize) {
            self.places[*moved as usize] = at;
        }
    }

    /// A random object.
    #[inline]
    pub(crate) fn draw(&self, random: &mut Xoshiro256PlusPlus) -> Option<(KeyId, V)> {
        let len = self.entries.len();
        (len > 0).then(|| self.entries[random.random_range(0..len)])
    }
}
