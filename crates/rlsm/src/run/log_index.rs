//! The index by hash that is appended to a WAL when it becomes a run.

use super::block::Block;
use crate::codec::{u16_at, u32_at};

/// An item: top of the hash, offset and length of the record, index of the operation.
pub(super) const ITEM_BYTES: usize = 12;
/// Items per page: with the block's frame they fit into 4 KiB.
pub(super) const PAGE_ITEMS: usize = 340;
/// An item of the index: an operation of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LogIndexItem {
    pub top: u32,
    pub offset: u32,
    pub len: u16,
    pub operation: u16,
}

impl LogIndexItem {
    pub fn put(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.top.to_le_bytes());
        out.extend_from_slice(&self.offset.to_le_bytes());
        out.extend_from_slice(&self.len.to_le_bytes());
        out.extend_from_slice(&self.operation.to_le_bytes());
    }

    pub fn of(bytes: &[u8; ITEM_BYTES]) -> Self {
        Self { top: u32_at(bytes, 0), offset: u32_at(bytes, 4), len: u16_at(bytes, 8), operation: u16_at(bytes, 10) }
    }
}

/// The items on a page.
pub(super) fn items(page: &Block) -> &[[u8; ITEM_BYTES]] {
    page.body().as_chunks().0
}
