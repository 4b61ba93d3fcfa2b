//! I/O requests between the host, the second-level cache and storage.

/// The task ID of the page cache's write-back.
pub const FLUSHER: u32 = u32::MAX;

/// A request from the host to the second-level cache or, without one, to the origin.
#[derive(Debug, Clone, Copy)]
pub struct IoRequest {
    /// The start address, in bytes.
    pub offset: u64,
    /// The length.
    pub bytes: u64,
    /// Whether the request writes.
    pub is_write: bool,
    /// Whether a write completes only when the data is on the medium (FUA).
    pub is_through: bool,
    /// The task that issues the request.
    pub task: u32,
}

/// A level of storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TierLevel {
    /// The devices that hold all data.
    Origin,
    /// The SSDs that cache the origin.
    Cache,
}

/// The purpose of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowKind {
    /// Data that the workload requested.
    File,
    /// A copy from the origin into the cache.
    Promotion,
    /// A write-back because the block's slot is needed.
    Demotion,
    /// A write-back in advance, so that eviction need not wait for one.
    Cleaning,
    /// The cache's mapping of blocks.
    Metadata,
}

/// A read or a write of a contiguous range of a level.
#[derive(Debug, Clone, Copy)]
pub struct LevelIo {
    /// The level.
    pub level: TierLevel,
    /// The start address.
    pub offset: u64,
    /// The length.
    pub bytes: u64,
    /// Whether it is a write.
    pub is_write: bool,
    /// Whether a write completes only when the data is on the medium (FUA).
    pub is_through: bool,
    /// The purpose.
    pub flow: FlowKind,
}
