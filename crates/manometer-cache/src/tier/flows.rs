//! What goes to and fro between the levels, useful traffic apart from migration: cache thesis, figure 6.1.

use serde::Serialize;

use super::storage::{Level, Stretch};

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// What was asked for.
    File,
    /// Copied from the origin into the cache.
    Promotion,
    /// Written back from the cache because its place is needed.
    Demotion,
    /// Written back so that it need not be when its place is needed.
    Cleaning,
    /// Where what is in the cache lies.
    Metadata,
}

/// Bytes of one flow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Bytes {
    /// Read from the origin.
    pub origin_read: u64,
    /// Written to it.
    pub origin_written: u64,
    /// Read from the cache.
    pub cache_read: u64,
    /// Written to it.
    pub cache_written: u64,
}

/// Bytes of the five flows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Flows {
    /// What was asked for.
    pub file: Bytes,
    /// Copied from the origin into the cache.
    pub promotion: Bytes,
    /// Written back from the cache because its place was needed.
    pub demotion: Bytes,
    /// Written back in good time.
    pub cleaning: Bytes,
    /// Where what is in the cache lies.
    pub metadata: Bytes,
}

impl Flows {
    /// Counts a stretch.
    pub fn add(&mut self, stretch: &Stretch) {
        let bytes = match stretch.flow {
            Flow::File => &mut self.file,
            Flow::Promotion => &mut self.promotion,
            Flow::Demotion => &mut self.demotion,
            Flow::Cleaning => &mut self.cleaning,
            Flow::Metadata => &mut self.metadata,
        };
        let counted = match (stretch.level, stretch.is_write) {
            (Level::Origin, false) => &mut bytes.origin_read,
            (Level::Origin, true) => &mut bytes.origin_written,
            (Level::Cache, false) => &mut bytes.cache_read,
            (Level::Cache, true) => &mut bytes.cache_written,
        };
        *counted += stretch.bytes;
    }

    /// What was added since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let less = |now: Bytes, then: Bytes| Bytes {
            origin_read: now.origin_read - then.origin_read,
            origin_written: now.origin_written - then.origin_written,
            cache_read: now.cache_read - then.cache_read,
            cache_written: now.cache_written - then.cache_written,
        };
        Self {
            file: less(self.file, earlier.file),
            promotion: less(self.promotion, earlier.promotion),
            demotion: less(self.demotion, earlier.demotion),
            cleaning: less(self.cleaning, earlier.cleaning),
            metadata: less(self.metadata, earlier.metadata),
        }
    }
}
