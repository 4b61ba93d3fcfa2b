//! One request to a cache, and which of its fields a simulation needs.

use crate::key_id::KeyId;

/// A request to a cache.
#[derive(Debug, Clone, Copy)]
pub struct CacheRequest {
    /// The ID of the key.
    pub id: KeyId,
    /// The index of the request in the trace.
    pub position: u32,
    /// The object's size in bytes; 1 when sizes are ignored. An empty object occupies 1 byte of a cache.
    pub size: u64,
    /// Whether the request writes.
    pub is_write: bool,
    /// Whether it is for the whole object, of which a cache may then keep what a write brings.
    pub is_whole: bool,
    /// The arrival time.
    pub time_ns: u64,
}

/// The fields of a request that are kept in addition to its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestFields {
    /// The object's size in bytes.
    pub sizes: bool,
    /// Whether the request writes.
    pub writes: bool,
    /// The arrival time, in traces whose first request has one.
    pub times: bool,
}

impl RequestFields {
    /// The key alone.
    pub const NONE: Self = Self { sizes: false, writes: false, times: false };

    /// The fields that either set contains.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self { sizes: self.sizes || other.sizes, writes: self.writes || other.writes, times: self.times || other.times }
    }
}
