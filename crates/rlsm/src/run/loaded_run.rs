//! A hash-ordered run in memory, for long scans in key order, which would read another block for almost every entry
//! (Song 2018, section 3.3: load, sort, merge).

use std::sync::Arc;

use super::block::Block;
use super::cache::{BlockCache, MemoryReservation};
use super::entries::EntrySlot;
use super::handle::Run;
use super::permutation::EntryAddress;
use super::reader::BlockReader;
use super::{Order, READ_AHEAD_BYTES};
use crate::entry::Entry;
use crate::error::Result;

/// The entries of a run, in memory.
pub(super) struct LoadedRun {
    blocks: Vec<LoadedBlock>,
    _reservation: MemoryReservation,
}

/// The keys and values of a block, and their places in it.
struct LoadedBlock {
    bytes: Block,
    slots: Vec<EntrySlot>,
}

/// A block that is being loaded.
#[derive(Default)]
struct BlockInProgress {
    bytes: Vec<u8>,
    slots: Vec<EntrySlot>,
}

impl BlockInProgress {
    fn push(&mut self, entry: &Entry<'_>) {
        self.slots.push(EntrySlot {
            key_start: self.bytes.len() as u32,
            key_len: entry.key.len() as u32,
            value_len: entry.value.len() as u32,
            kind: entry.kind,
            sequence: entry.sequence,
        });
        self.bytes.extend_from_slice(entry.key);
        self.bytes.extend_from_slice(entry.value);
    }

    fn close(&mut self) -> LoadedBlock {
        let Self { bytes, slots } = std::mem::take(self);
        LoadedBlock { bytes: Block::of(bytes), slots }
    }
}

impl LoadedRun {
    /// Reads all of `run`, past the cache. `None` if the run is a log or not enough memory can be reserved.
    pub fn read(run: &Run, cache: &Arc<BlockCache>) -> Result<Option<Self>> {
        if run.order != Order::Hash {
            return Ok(None);
        }
        let slots_bytes = run.entries.saturating_mul(size_of::<EntrySlot>() as u64);
        let Some(room) = cache.reserve(run.user_bytes.saturating_add(slots_bytes)) else { return Ok(None) };
        let (mut blocks, mut open, mut user_bytes) = (Vec::new(), BlockInProgress::default(), 0);
        let mut reader = BlockReader::new(run, READ_AHEAD_BYTES);
        while let Some((address, entry)) = reader.next_with_address()? {
            user_bytes += entry.user_bytes();
            // Memory is reserved for what the footer says, not for more.
            if user_bytes > run.user_bytes {
                return Err(run.bad_page(run.footer.offset));
            }
            while blocks.len() < address.block() as usize {
                blocks.push(open.close());
            }
            open.push(&entry);
        }
        blocks.push(open.close());
        Ok(Some(Self { blocks, _reservation: room }))
    }

    /// The entry at `address`, if there is one.
    pub fn entry(&self, address: EntryAddress) -> Option<(Block, EntrySlot)> {
        let block = self.blocks.get(address.block() as usize)?;
        Some((block.bytes.clone(), *block.slots.get(address.slot() as usize)?))
    }
}
