//! Sorted views: the key order of a hash-ordered run without a permutation in the file, or of a log run, in the cache.

use super::keys::KeyList;
use super::permutation::{EntryAddress, PermutationBuilder};

/// The distance of the keys in a view: closer than in a permutation, since a view exists only where it is used.
pub(crate) const VIEW_SAMPLE_RANKS: u64 = 16;

/// The key order of a run.
pub(crate) struct SortedView {
    addresses: Box<[EntryAddress]>,
    /// The keys at ranks 0, 16, 32, …
    pub samples: KeyList,
}

impl SortedView {
    pub fn new(keys: PermutationBuilder) -> Self {
        let (addresses, samples) = keys.sort(VIEW_SAMPLE_RANKS);
        Self { addresses: addresses.into(), samples }
    }

    pub fn address(&self, rank: u64) -> Option<EntryAddress> {
        self.addresses.get(usize::try_from(rank).ok()?).copied()
    }

    pub fn memory_bytes(&self) -> u64 {
        size_of_val(&*self.addresses) as u64 + self.samples.memory_bytes()
    }
}
