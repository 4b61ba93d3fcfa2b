//! Where blocks lie in the cache.

use crate::key_id::KeyId;

const NOWHERE: u32 = u32::MAX;

/// Places in the cache, and what lies there. Those that were freed first are taken first, so that what is evicted
/// together makes room in one stretch.
#[derive(Debug)]
pub struct CacheSlots {
    slots: Vec<u32>,
    states: Vec<BlockState>,
    free: std::collections::VecDeque<u32>,
    dirty: u64,
}

/// Consecutive blocks in consecutive slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockRun {
    /// The slot of the first block.
    pub slot: u32,
    /// The number of blocks.
    pub blocks: u32,
    /// The ID of the first block.
    pub id: KeyId,
}

/// Whether the origin holds the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BlockState {
    /// It does.
    #[default]
    Clean,
    /// It does, and the block is still on its way into the cache.
    Filling,
    /// It holds something older.
    Dirty,
    /// It is being written there.
    Cleaning,
}

impl CacheSlots {
    /// Room for `slots` of the blocks with numbers below `blocks`.
    pub fn new(blocks: usize, slots: u32) -> Self {
        Self {
            slots: vec![NOWHERE; blocks],
            states: vec![BlockState::Clean; blocks],
            free: (0..slots).collect(),
            dirty: 0,
        }
    }

    /// Where a block lies.
    pub fn of(&self, id: KeyId) -> Option<u32> {
        let slot = self.slots[id as usize];
        (slot != NOWHERE).then_some(slot)
    }

    /// Gives a block a place, a new one where it has one.
    pub fn take(&mut self, id: KeyId) -> Option<u32> {
        let slot = self.free.pop_front()?;
        let before = std::mem::replace(&mut self.slots[id as usize], slot);
        if before != NOWHERE {
            self.free.push_back(before);
        }
        Some(slot)
    }

    /// Frees the place of a block: where it lay, and in which state it was.
    pub fn free(&mut self, id: KeyId) -> Option<(u32, BlockState)> {
        let slot = std::mem::replace(&mut self.slots[id as usize], NOWHERE);
        if slot == NOWHERE {
            return None;
        }
        self.free.push_back(slot);
        Some((slot, self.set(id, BlockState::Clean)))
    }

    /// The state of a block.
    pub fn state(&self, id: KeyId) -> BlockState {
        self.states[id as usize]
    }

    /// Changes the state of a block: which it was.
    pub fn set(&mut self, id: KeyId, state: BlockState) -> BlockState {
        let before = std::mem::replace(&mut self.states[id as usize], state);
        self.dirty += u64::from(state == BlockState::Dirty);
        self.dirty -= u64::from(before == BlockState::Dirty);
        before
    }

    /// How many blocks are dirty.
    pub fn dirty(&self) -> u64 {
        self.dirty
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_freed_first_is_taken_first() {
        let mut slots = CacheSlots::new(4, 2);
        assert_eq!((slots.take(3), slots.take(0), slots.take(1)), (Some(0), Some(1), None));
        slots.set(0, BlockState::Dirty);
        assert_eq!(slots.dirty(), 1);
        assert_eq!((slots.free(0), slots.free(0)), (Some((1, BlockState::Dirty)), None));
        assert_eq!((slots.dirty(), slots.of(0)), (0, None));
        assert_eq!((slots.take(3), slots.of(3)), (Some(1), Some(1)));
        assert_eq!(slots.take(2), Some(0));
    }
}
