//! A hash-ordered run in memory: read from one end to the other for who goes through much of it in the order of keys,
//! to whom almost every entry would be another block (seed 002, section 3.3: load, sort, merge).

use std::sync::Arc;

use super::block::Block;
use super::cache::{BlockCache, Room};
use super::entries::Slot;
use super::open::Run;
use super::permutation::Spot;
use super::reader::BlockReader;
use super::{Order, READ_AHEAD_BYTES};
use crate::entry::Entry;
use crate::error::Result;

/// The entries of a run.
pub(super) struct Loaded {
    blocks: Vec<LoadedBlock>,
    _room: Room,
}

/// Keys and values one after another, and where they lie among them.
struct LoadedBlock {
    bytes: Block,
    slots: Vec<Slot>,
}

/// A block that is being read.
#[derive(Default)]
struct Open {
    bytes: Vec<u8>,
    slots: Vec<Slot>,
}

impl Open {
    fn push(&mut self, entry: &Entry<'_>) {
        self.slots.push(Slot {
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

impl Loaded {
    /// Reads all of `run`, past the cache; nothing if that is not for it, or there is no room.
    pub fn read(run: &Run, cache: &Arc<BlockCache>) -> Result<Option<Self>> {
        if run.order != Order::Hash {
            return Ok(None);
        }
        let slots_bytes = run.entries.saturating_mul(size_of::<Slot>() as u64);
        let Some(room) = cache.room(run.user_bytes.saturating_add(slots_bytes)) else { return Ok(None) };
        let (mut blocks, mut open, mut user_bytes) = (Vec::new(), Open::default(), 0);
        let mut reader = BlockReader::new(run, READ_AHEAD_BYTES);
        while let Some((spot, entry)) = reader.next_with_spot()? {
            user_bytes += entry.user_bytes();
            // There is room for what the footer says, not for more.
            if user_bytes > run.user_bytes {
                return Err(run.bad_page(run.footer.offset));
            }
            while blocks.len() < spot.block() as usize {
                blocks.push(open.close());
            }
            open.push(&entry);
        }
        blocks.push(open.close());
        Ok(Some(Self { blocks, _room: room }))
    }

    /// The entry at `spot`, if there is one.
    pub fn entry(&self, spot: Spot) -> Option<(Block, Slot)> {
        let block = self.blocks.get(spot.block() as usize)?;
        Some((block.bytes.clone(), *block.slots.get(spot.slot() as usize)?))
    }
}
