//! A hash-ordered run in memory: read from one end to the other for who goes through much of it in the order of keys,
//! to whom almost every entry would be another block (seed 002, section 3.3: load, sort, merge).

use super::block::Block;
use super::entries::Slot;
use super::open::Run;
use super::permutation::Spot;
use super::reader::BlockReader;
use super::{Order, READ_AHEAD_BYTES};
use crate::error::Result;

/// The entries of a run.
pub(super) struct Loaded {
    /// All keys and values.
    bytes: Block,
    /// In stored order.
    slots: Vec<Slot>,
    /// For each block of the run, the number of its first entry.
    firsts: Vec<u32>,
}

impl Loaded {
    /// Whether a run can be loaded, and takes no more than `bytes_max`, about.
    pub fn suits(run: &Run, bytes_max: u64) -> bool {
        run.order == Order::Hash && run.user_bytes <= bytes_max.min(u64::from(u32::MAX))
    }

    /// Reads all of `run`, past the cache.
    pub fn read(run: &Run) -> Result<Self> {
        let mut bytes = Vec::with_capacity(run.user_bytes as usize);
        let mut slots = Vec::with_capacity(run.entries as usize);
        let mut firsts = Vec::new();
        let mut reader = BlockReader::new(run, READ_AHEAD_BYTES);
        while let Some((spot, entry)) = reader.next_with_spot()? {
            if spot.slot() == 0 {
                firsts.push(slots.len() as u32);
            }
            slots.push(Slot {
                key_start: bytes.len() as u32,
                key_len: entry.key.len() as u32,
                value_len: entry.value.len() as u32,
                kind: entry.kind,
                sequence: entry.sequence,
            });
            bytes.extend_from_slice(entry.key);
            bytes.extend_from_slice(entry.value);
        }
        Ok(Self { bytes: Block::of(bytes), slots, firsts })
    }

    /// The entry at `spot`, if there is one.
    pub fn entry(&self, spot: Spot) -> Option<(Block, Slot)> {
        let first = *self.firsts.get(spot.block() as usize)?;
        let slot = *self.slots.get((first + spot.slot()) as usize)?;
        Some((self.bytes.clone(), slot))
    }
}
