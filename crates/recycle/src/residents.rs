//! Which pages of a region are in memory: a bit for each, and a bit for each word of them that is not empty.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::system::Memory;

const BITS: u64 = 64;

/// A set of page numbers that is scanned in their order, also where it is sparse.
pub(crate) struct Residents {
    words: SparseWords,
    summary: SparseWords,
}

/// Words in memory that takes room only where it is touched.
struct SparseWords {
    memory: Memory,
    count: u64,
}

impl SparseWords {
    fn new(count: u64) -> io::Result<Self> {
        let bytes = usize::try_from(count * 8).map_err(|_| io::ErrorKind::OutOfMemory)?;
        Ok(Self { memory: Memory::new(bytes)?, count })
    }

    fn get(&self, index: u64) -> &AtomicU64 {
        assert!(index < self.count, "word {index} of {}", self.count);
        // SAFETY: the memory is zeroed, aligned to pages, holds `count` words, and is only ever used as such.
        unsafe { &*self.memory.start().cast::<AtomicU64>().add(index as usize) }
    }

    /// The first set bit at or after `bit`.
    fn next(&self, bit: u64, last_word: u64) -> Option<u64> {
        let mut index = bit / BITS;
        let mut mask = u64::MAX << (bit % BITS);
        while index <= last_word {
            let word = self.get(index).load(Ordering::Acquire) & mask;
            if word != 0 {
                return Some(index * BITS + u64::from(word.trailing_zeros()));
            }
            (index, mask) = (index + 1, u64::MAX);
        }
        None
    }
}

impl Residents {
    /// An empty set of pages below `pages`.
    pub(crate) fn new(pages: u64) -> io::Result<Self> {
        let words = pages.div_ceil(BITS).max(1);
        Ok(Self { words: SparseWords::new(words)?, summary: SparseWords::new(words.div_ceil(BITS))? })
    }

    pub(crate) fn contains(&self, page: u64) -> bool {
        self.words.get(page / BITS).load(Ordering::Acquire) & 1 << (page % BITS) != 0
    }

    pub(crate) fn insert(&self, page: u64) {
        let index = page / BITS;
        let before = self.words.get(index).fetch_or(1 << (page % BITS), Ordering::AcqRel);
        if before == 0 {
            self.summarise(index);
        }
    }

    pub(crate) fn remove(&self, page: u64) {
        let (index, bit) = (page / BITS, 1 << (page % BITS));
        let word = self.words.get(index);
        if word.fetch_and(!bit, Ordering::AcqRel) & !bit != 0 {
            return;
        }
        self.summary.get(index / BITS).fetch_and(!(1 << (index % BITS)), Ordering::AcqRel);
        // Another thread may have inserted between the two steps, and its summary was just erased.
        if word.load(Ordering::Acquire) != 0 {
            self.summarise(index);
        }
    }

    fn summarise(&self, index: u64) {
        self.summary.get(index / BITS).fetch_or(1 << (index % BITS), Ordering::AcqRel);
    }

    /// The first page of the set at or after `page`.
    pub(crate) fn next(&self, page: u64) -> Option<u64> {
        let index = page / BITS;
        if index >= self.words.count {
            return None;
        }
        if let Some(found) = self.words.next(page, index) {
            return Some(found);
        }
        let mut from = index + 1;
        while from < self.words.count {
            let index = self.summary.next(from, self.summary.count - 1)?;
            // Between the two looks the word may have become empty.
            if let Some(found) = self.words.next(index * BITS, index) {
                return Some(found);
            }
            from = index + 1;
        }
        None
    }

    /// The pages of the set in `pages`, in order. Pages that come or go meanwhile may be in it or not.
    pub(crate) fn within(&self, pages: std::ops::Range<u64>) -> impl Iterator<Item = u64> + '_ {
        let mut from = pages.start;
        std::iter::from_fn(move || {
            let page = self.next(from).filter(|page| *page < pages.end)?;
            from = page + 1;
            Some(page)
        })
    }
}

#[cfg(test)]
#[cfg(not(miri))]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_set(steps in prop::collection::vec((any::<bool>(), 0_u64..20_000), 0..300), from in 0_u64..20_100) {
            let (residents, mut model) = (Residents::new(20_000).unwrap(), BTreeSet::new());
            for (is_inserted, page) in steps {
                if is_inserted {
                    residents.insert(page);
                    model.insert(page);
                } else {
                    residents.remove(page);
                    model.remove(&page);
                }
            }
            prop_assert_eq!(residents.next(from), model.range(from..).next().copied());
            prop_assert!(residents.within(0..20_000).eq(model.iter().copied()));
        }
    }

    #[test]
    fn a_sparse_set_of_a_tebibyte_is_scanned() {
        let residents = Residents::new(1 << 28).unwrap();
        for page in [0, 70_000, (1 << 28) - 1] {
            residents.insert(page);
        }
        assert_eq!(residents.within(0..1 << 28).collect::<Vec<_>>(), [0, 70_000, (1 << 28) - 1]);
    }
}
