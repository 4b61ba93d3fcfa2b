//! Numbers for keys of which only some are known at a time.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use manometer_trace::key::IdHasher;

use crate::number::Id;

/// Keys with numbers that are used again.
#[derive(Debug, Default)]
pub(super) struct Known {
    ids: HashMap<u64, Id, IdHasher>,
    keys: Vec<u64>,
    free: Vec<Id>,
}

impl Known {
    /// The number of a key, a free one where it is new.
    #[inline]
    pub(super) fn id(&mut self, key: u64) -> Id {
        match self.ids.entry(key) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                let id = match self.free.pop() {
                    Some(id) => id,
                    None => {
                        self.keys.push(0);
                        (self.keys.len() - 1) as Id
                    }
                };
                self.keys[id as usize] = key;
                *entry.insert(id)
            }
        }
    }

    /// Takes a key's number back.
    pub(super) fn forget(&mut self, id: Id) {
        self.ids.remove(&self.keys[id as usize]);
        self.free.push(id);
    }

    /// Takes back the numbers of all keys that `keeps` does not keep, and gives them.
    pub(super) fn retain(&mut self, keeps: impl Fn(u64) -> bool) -> Vec<Id> {
        let dropped: Vec<Id> = self.ids.iter().filter(|(key, _)| !keeps(**key)).map(|(_, id)| *id).collect();
        dropped.iter().for_each(|id| self.forget(*id));
        dropped
    }

    /// The key with a number.
    pub(super) fn key(&self, id: Id) -> u64 {
        self.keys[id as usize]
    }

    /// All keys with their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, Id)> + '_ {
        self.ids.iter().map(|(key, id)| (*key, *id))
    }

    /// How many keys are known.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }
}
