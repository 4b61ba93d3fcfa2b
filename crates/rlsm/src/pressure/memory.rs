//! Memory for writes and memory for blocks, and a part of either that can serve as the other.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::run::BlockCache;

/// Where the part goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lean {
    None,
    ToCache,
    ToMemtable,
}

/// How much memory there is for what; together always the same.
pub(crate) struct Memory {
    /// Without leaning, in bytes.
    own: Bytes,
    memtable_bytes: AtomicU64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Bytes {
    memtable: u64,
    blocks: u64,
}

impl Bytes {
    fn leaning(self, lean: Lean) -> Self {
        // Neither falls below half of what it was given.
        let part = self.memtable.min(self.blocks) / 2;
        match lean {
            Lean::None => self,
            Lean::ToCache => Self { memtable: self.memtable - part, blocks: self.blocks + part },
            Lean::ToMemtable => Self { memtable: self.memtable + part, blocks: self.blocks - part },
        }
    }
}

impl Memory {
    pub fn new(memtable_bytes: u64, block_bytes: u64) -> Self {
        let own = Bytes { memtable: memtable_bytes, blocks: block_bytes };
        Self { own, memtable_bytes: AtomicU64::new(memtable_bytes) }
    }

    /// The size at which the memory buffer is frozen.
    pub fn memtable_bytes(&self) -> u64 {
        self.memtable_bytes.load(Ordering::Relaxed)
    }

    /// What blocks may take without leaning.
    pub fn block_bytes(&self) -> u64 {
        self.own.blocks
    }

    /// Shares it out anew. A memory buffer that is over its new size is frozen with the next write.
    pub fn share(&self, lean: Lean, cache: &BlockCache) {
        let bytes = self.own.leaning(lean);
        if self.memtable_bytes.swap(bytes.memtable, Ordering::Relaxed) != bytes.memtable {
            cache.set_block_bytes(bytes.blocks);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_moves_and_the_sum_stays() {
        for (memtable, blocks) in [(64, 96), (64, 32), (64, 0)] {
            let own = Bytes { memtable, blocks };
            let half = memtable.min(blocks) / 2;
            assert_eq!(own.leaning(Lean::None), own);
            assert_eq!(own.leaning(Lean::ToCache), Bytes { memtable: memtable - half, blocks: blocks + half });
            assert_eq!(own.leaning(Lean::ToMemtable), Bytes { memtable: memtable + half, blocks: blocks - half });
        }
    }

    #[test]
    fn the_memory_buffer_gives_and_gets_back() {
        let (memory, cache) = (Memory::new(64 << 10, 96 << 10), BlockCache::new(96 << 10, 0));
        memory.share(Lean::ToCache, &cache);
        assert_eq!(memory.memtable_bytes(), 32 << 10);
        memory.share(Lean::None, &cache);
        assert_eq!(memory.memtable_bytes(), 64 << 10);
    }
}
