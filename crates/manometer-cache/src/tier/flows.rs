//! The flows between the levels, user data separated from migration: figure 6.1 of the cache thesis.

use serde::Serialize;

use super::io::{FlowKind, LevelIo, TierLevel};

/// Bytes of one flow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct FlowBytes {
    /// Read from the origin.
    pub origin_read: u64,
    /// Written to it.
    pub origin_written: u64,
    /// Read from the cache.
    pub cache_read: u64,
    /// Written to it.
    pub cache_written: u64,
}

/// The bytes of the five flows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Flows {
    /// Data that the workload requested.
    pub file: FlowBytes,
    /// Copied from the origin into the cache.
    pub promotion: FlowBytes,
    /// Written back from the cache because its slot was needed.
    pub demotion: FlowBytes,
    /// Written back in advance.
    pub cleaning: FlowBytes,
    /// The cache's mapping of blocks.
    pub metadata: FlowBytes,
}

impl FlowBytes {
    fn plus(self, other: Self) -> Self {
        Self {
            origin_read: self.origin_read + other.origin_read,
            origin_written: self.origin_written + other.origin_written,
            cache_read: self.cache_read + other.cache_read,
            cache_written: self.cache_written + other.cache_written,
        }
    }
}

impl Flows {
    /// The name of each flow and its purpose, in the order of [`Self::all`].
    pub const PURPOSES: [(&str, &str); 5] = [
        ("file", "Data that the workload requested"),
        ("promotion", "Copied into the SSD cache"),
        ("demotion", "Written back because the slot was needed"),
        ("cleaning", "Written back in advance"),
        ("metadata", "The SSD cache's mapping"),
    ];

    /// Each flow.
    pub fn all(&self) -> [FlowBytes; 5] {
        [self.file, self.promotion, self.demotion, self.cleaning, self.metadata]
    }

    /// The sum of both.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            file: self.file.plus(other.file),
            promotion: self.promotion.plus(other.promotion),
            demotion: self.demotion.plus(other.demotion),
            cleaning: self.cleaning.plus(other.cleaning),
            metadata: self.metadata.plus(other.metadata),
        }
    }

    /// Counts an I/O request.
    pub fn add(&mut self, io: &LevelIo) {
        let bytes = match io.flow {
            FlowKind::File => &mut self.file,
            FlowKind::Promotion => &mut self.promotion,
            FlowKind::Demotion => &mut self.demotion,
            FlowKind::Cleaning => &mut self.cleaning,
            FlowKind::Metadata => &mut self.metadata,
        };
        let counted = match (io.level, io.is_write) {
            (TierLevel::Origin, false) => &mut bytes.origin_read,
            (TierLevel::Origin, true) => &mut bytes.origin_written,
            (TierLevel::Cache, false) => &mut bytes.cache_read,
            (TierLevel::Cache, true) => &mut bytes.cache_written,
        };
        *counted += io.bytes;
    }

    /// The flows since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let less = |now: FlowBytes, then: FlowBytes| FlowBytes {
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
