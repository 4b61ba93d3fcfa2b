//! What an object takes of a cache: one place, or its bytes.

/// What an object weighs, kept with each object. Without sizes it takes no memory at all.
pub trait Weight: Copy + Send {
    /// Of an object of so many bytes.
    fn of(bytes: u64) -> Self;

    /// How much of the capacity it takes: at least 1, or a cache would hold any number of empty objects.
    fn get(self) -> u64;
}

/// Every object takes one place.
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

/// An object takes its bytes. Kept in two halves, so that it does not widen what stands beside it.
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
