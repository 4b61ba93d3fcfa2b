//! Versions of single names: what was looked up before a name changed is not kept after.
//!
//! Names that share a cell only keep each other's look-ups out of the cache while one of them changes.

use super::sync::{AtomicU64, Ordering};

/// The low bits of a cell count the changes that are under way; the others are the version.
const OPEN_BITS: u32 = 16;
const VERSION: u64 = 1 << OPEN_BITS;

/// What a look-up has to remember from before it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Version(u64);

/// The versions of all names.
pub(crate) struct Leaves(Box<[AtomicU64]>);

impl Leaves {
    /// So many cells, a power of two.
    pub fn new(cells: usize) -> Self {
        Self((0..cells.next_power_of_two()).map(|_| AtomicU64::new(0)).collect())
    }

    /// The version before a look-up.
    pub fn version(&self, hash: u64) -> Version {
        Version(self.cell(hash).load(Ordering::Acquire))
    }

    /// Whether what was looked up since may be kept. Call it under the lock of the name's bucket.
    pub fn is_current(&self, hash: u64, version: Version) -> bool {
        let is_open = version.0 & (VERSION - 1) != 0;
        !is_open && self.version(hash) == version
    }

    /// Notes the beginning of a change. Remove the name from the table after this, under the lock of its bucket;
    /// [`end`](Self::end) has to follow.
    pub fn begin(&self, hash: u64) {
        self.cell(hash).fetch_add(VERSION + 1, Ordering::AcqRel);
    }

    /// Notes its end.
    pub fn end(&self, hash: u64) {
        self.cell(hash).fetch_sub(1, Ordering::AcqRel);
    }

    fn cell(&self, hash: u64) -> &AtomicU64 {
        &self.0[hash as usize & (self.0.len() - 1)]
    }
}
