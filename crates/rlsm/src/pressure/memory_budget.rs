//! The memory budget of memtable and block cache, and the part that moves between them under pressure.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::run::BlockCache;

/// Where the part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemoryShift {
    None,
    ToCache,
    ToMemtable,
}

/// The memory budget. The sum is constant.
pub(crate) struct MemoryBudget {
    /// Without a shift, in bytes.
    base: MemoryShares,
    memtable_bytes: AtomicU64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MemoryShares {
    memtable: u64,
    blocks: u64,
}

impl MemoryShares {
    fn shifted(self, shift: MemoryShift) -> Self {
        // Neither falls below half of its own share.
        let part = self.memtable.min(self.blocks) / 2;
        match shift {
            MemoryShift::None => self,
            MemoryShift::ToCache => Self { memtable: self.memtable - part, blocks: self.blocks + part },
            MemoryShift::ToMemtable => Self { memtable: self.memtable + part, blocks: self.blocks - part },
        }
    }
}

impl MemoryBudget {
    pub fn new(memtable_bytes: u64, block_bytes: u64) -> Self {
        let base = MemoryShares { memtable: memtable_bytes, blocks: block_bytes };
        Self { base, memtable_bytes: AtomicU64::new(memtable_bytes) }
    }

    /// The size at which the memtable is rotated.
    pub fn memtable_bytes(&self) -> u64 {
        self.memtable_bytes.load(Ordering::Relaxed)
    }

    /// The share of the block cache without a shift.
    pub fn block_bytes(&self) -> u64 {
        self.base.blocks
    }

    /// Applies a shift. A memtable above its new size is rotated by the next write.
    pub fn apply(&self, shift: MemoryShift, cache: &BlockCache) {
        let bytes = self.base.shifted(shift);
        if self.memtable_bytes.swap(bytes.memtable, Ordering::Relaxed) != bytes.memtable {
            cache.set_block_bytes(bytes.blocks);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shift_keeps_the_sum() {
        for (memtable, blocks) in [(64, 96), (64, 32), (64, 0)] {
            let base = MemoryShares { memtable, blocks };
            let half = memtable.min(blocks) / 2;
            assert_eq!(base.shifted(MemoryShift::None), base);
            assert_eq!(
                base.shifted(MemoryShift::ToCache),
                MemoryShares { memtable: memtable - half, blocks: blocks + half }
            );
            assert_eq!(
                base.shifted(MemoryShift::ToMemtable),
                MemoryShares { memtable: memtable + half, blocks: blocks - half }
            );
        }
    }

    #[test]
    fn the_memtable_shrinks_and_grows_back() {
        let (memory, cache) = (MemoryBudget::new(64 << 10, 96 << 10), BlockCache::new(96 << 10, 0));
        memory.apply(MemoryShift::ToCache, &cache);
        assert_eq!(memory.memtable_bytes(), 32 << 10);
        memory.apply(MemoryShift::None, &cache);
        assert_eq!(memory.memtable_bytes(), 64 << 10);
    }
}
