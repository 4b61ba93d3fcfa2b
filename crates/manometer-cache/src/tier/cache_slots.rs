//! The slots of cached blocks.

use crate::key_id::KeyId;

const NOWHERE: u32 = u32::MAX;

/// Slots of the cache and the blocks in them. Slots freed first are reused first, so that blocks evicted together make
/// room for a contiguous run.
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

/// The state of a block relative to the origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BlockState {
    /// The origin holds the same data.
    #[default]
    Clean,
    /// The origin holds the same data, and the block is still being copied into the cache.
    Filling,
    /// The origin holds older data.
    Dirty,
    /// The block is being written back.
    Cleaning,
}

impl CacheSlots {
    /// Room for `slots` blocks with IDs below `blocks`.
    pub fn new(blocks: usize, slots: u32) -> Self {
        Self {
            slots: vec![NOWHERE; blocks],
            states: vec![BlockState::Clean; blocks],
            free: (0..slots).collect(),
            dirty: 0,
        }
    }

    /// The slot of a block.
    pub fn of(&self, id: KeyId) -> Option<u32> {
        let slot = self.slots[id as usize];
        (slot != NOWHERE).then_some(slot)
    }

    /// Assigns a slot to a block, a new one if it has one.
    pub fn take(&mut self, id: KeyId) -> Option<u32> {
        let slot = self.free.pop_front()?;
        let before = std::mem::replace(&mut self.slots[id as usize], slot);
        if before != NOWHERE {
            self.free.push_back(before);
        }
        Some(slot)
    }

    /// Frees the slot of a block. Returns the slot and the block's state.
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

    /// Changes the state of a block. Returns the old state.
    pub fn set(&mut self, id: KeyId, state: BlockState) -> BlockState {
        let before = std::mem::replace(&mut self.states[id as usize], state);
        self.dirty += u64::from(state == BlockState::Dirty);
        self.dirty -= u64::from(before == BlockState::Dirty);
        before
    }

    /// The number of dirty blocks.
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
