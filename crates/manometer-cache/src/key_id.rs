//! Dense IDs of keys, in order of first appearance.

use crate::huge_pages::filled_table;

/// The ID of a key.
pub type KeyId = u32;

/// The largest number of keys.
pub const KEYS_MAX: usize = (1 << 31) - 1;

const FREE: KeyId = KeyId::MAX;
const CELLS_MIN: usize = 1 << 10;
/// Keys looked up at a time, so that memory accesses overlap.
const BATCH: usize = 64;

#[derive(Debug, Clone, Copy)]
struct Cell {
    key: u64,
    id: KeyId,
}

/// A hash table from keys to IDs: open addressing, at most half full.
#[derive(Debug)]
pub struct KeyIdTable {
    cells: Vec<Cell>,
    shift: u32,
    len: usize,
}

impl Default for KeyIdTable {
    fn default() -> Self {
        Self::with_cells(CELLS_MIN)
    }
}

impl KeyIdTable {
    fn with_cells(cells: usize) -> Self {
        Self { cells: filled_table(Cell { key: 0, id: FREE }, cells), shift: 64 - cells.ilog2(), len: 0 }
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The key of each ID.
    pub fn keys(&self) -> Vec<u64> {
        let mut keys = vec![0; self.len];
        for cell in self.cells.iter().filter(|cell| cell.id != FREE) {
            keys[cell.id as usize] = cell.key;
        }
        keys
    }

    /// Appends the IDs of `keys` to `ids`; new keys get the next IDs. Returns false if there are too many.
    #[must_use]
    pub fn assign(&mut self, mut keys: impl Iterator<Item = u64>, ids: &mut Vec<KeyId>) -> bool {
        let mut sought = [(0, 0); BATCH];
        loop {
            self.make_room();
            let mut len = 0;
            for (slot, key) in sought.iter_mut().zip(&mut keys) {
                let home = self.home(key);
                prefetch(&self.cells[home]);
                *slot = (key, home);
                len += 1;
            }
            ids.extend(sought[..len].iter().map(|(key, home)| self.probe(*key, *home)));
            if self.len > KEYS_MAX {
                return false;
            }
            if len < BATCH {
                return true;
            }
        }
    }

    /// The ID of a key, probing from `home`; the next ID if it is new.
    #[inline]
    fn probe(&mut self, key: u64, home: usize) -> KeyId {
        let mask = self.cells.len() - 1;
        let mut at = home;
        loop {
            let cell = self.cells[at];
            if cell.id == FREE {
                let id = self.len as KeyId;
                self.cells[at] = Cell { key, id };
                self.len += 1;
                return id;
            }
            if cell.key == key {
                return cell.id;
            }
            at = (at + 1) & mask;
        }
    }

    #[inline]
    fn home(&self, key: u64) -> usize {
        // Keys may be sequential or multiples of a number: both halves of a long product spread them.
        let product = u128::from(key ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93;
        (((product >> 64) as u64 ^ product as u64) >> self.shift) as usize
    }

    /// Doubles the table if a batch of new keys would fill more than half of it.
    fn make_room(&mut self) {
        if 2 * (self.len + BATCH) <= self.cells.len() {
            return;
        }
        let cells = std::mem::replace(self, Self::with_cells(2 * self.cells.len())).cells;
        let mask = self.cells.len() - 1;
        for cell in cells.into_iter().filter(|cell| cell.id != FREE) {
            let mut at = self.home(cell.key);
            while self.cells[at].id != FREE {
                at = (at + 1) & mask;
            }
            self.cells[at] = cell;
            self.len += 1;
        }
    }
}

/// Prefetches memory that is read soon.
#[inline]
fn prefetch<T>(soon: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch only affects the processor's caches, and every such processor supports it.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(soon).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = soon;
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_are_numbered_as_they_come(keys in prop::collection::vec(prop_oneof![0_u64..500, any::<u64>()], 0..5000)) {
            let mut key_ids = KeyIdTable::default();
            let mut ids = Vec::new();
            prop_assert!(key_ids.assign(keys.iter().copied(), &mut ids));
            let mut plain = HashMap::new();
            let expected: Vec<KeyId> = keys
                .iter()
                .map(|key| {
                    let next = plain.len() as KeyId;
                    *plain.entry(*key).or_insert(next)
                })
                .collect();
            prop_assert_eq!(ids, expected);
            prop_assert_eq!(key_ids.len(), plain.len());
            let mut in_order: Vec<(KeyId, u64)> = plain.into_iter().map(|(key, id)| (id, key)).collect();
            in_order.sort_unstable();
            prop_assert_eq!(key_ids.keys(), in_order.into_iter().map(|(_, key)| key).collect::<Vec<_>>());
        }
    }
}
