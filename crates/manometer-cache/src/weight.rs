//! The weight of an object in a cache: one, or its bytes.

/// The weight kept with each object. Without sizes it takes no memory.
pub trait Weight: Copy + Send {
    /// The weight of an object of `bytes` bytes.
    fn of(bytes: u64) -> Self;

    /// The capacity that it takes, at least 1: a cache would otherwise hold any number of empty objects.
    fn get(self) -> u64;
}

/// Every object weighs one.
#[derive(Debug, Clone, Copy)]
pub struct UnitWeight;

impl Weight for UnitWeight {
    fn of(_: u64) -> Self {
        Self
    }

    fn get(self) -> u64 {
        1
    }
}

/// An object weighs its bytes. Stored as two halves, so that structs need no larger alignment.
#[derive(Debug, Clone, Copy)]
pub struct ByteWeight([u32; 2]);

impl Weight for ByteWeight {
    fn of(bytes: u64) -> Self {
        let bytes = bytes.max(1);
        Self([bytes as u32, (bytes >> 32) as u32])
    }

    fn get(self) -> u64 {
        u64::from(self.0[1]) << 32 | u64::from(self.0[0])
    }
}
