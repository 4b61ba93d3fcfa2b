//! IDs for a changing set of keys.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use manometer_trace::key::IdHasher;

use crate::key_id::KeyId;

/// Keys with IDs that are reused.
#[derive(Debug, Default)]
pub(super) struct ReusableIds {
    ids: HashMap<u64, KeyId, IdHasher>,
    keys: Vec<u64>,
    free: Vec<KeyId>,
}

impl ReusableIds {
    /// The ID of a key; a free one if it is new.
    #[inline]
    pub(super) fn acquire(&mut self, key: u64) -> KeyId {
        match self.ids.entry(key) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                let id = match self.free.pop() {
                    Some(id) => id,
                    None => {
                        self.keys.push(0);
                        (self.keys.len() - 1) as KeyId
                    }
                };
                self.keys[id as usize] = key;
                *entry.insert(id)
            }
        }
    }

    /// Releases a key's ID.
    pub(super) fn release(&mut self, id: KeyId) {
        self.ids.remove(&self.keys[id as usize]);
        self.free.push(id);
    }

    /// Releases the IDs of all keys that `keeps` rejects. Returns them.
    pub(super) fn retain(&mut self, keeps: impl Fn(u64) -> bool) -> Vec<KeyId> {
        let dropped: Vec<KeyId> = self.ids.iter().filter(|(key, _)| !keeps(**key)).map(|(_, id)| *id).collect();
        dropped.iter().for_each(|id| self.release(*id));
        dropped
    }

    /// The key with an ID.
    pub(super) fn key(&self, id: KeyId) -> u64 {
        self.keys[id as usize]
    }

    /// All keys with their IDs.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, KeyId)> + '_ {
        self.ids.iter().map(|(key, id)| (*key, *id))
    }

    /// The number of keys.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }
}
