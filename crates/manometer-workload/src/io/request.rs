//! One read or write of a block.

/// A read or a write of a file, not yet sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockRequest {
    pub(super) write: bool,
    pub(super) file: u32,
    pub(super) offset: u64,
    pub(super) length: u32,
}
