//! A request of a trace.

use std::fmt;
use std::str::FromStr;

/// The operation of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum TraceOperation {
    /// Reads the value of a key.
    Get,
    /// Stores a value, whether or not the key exists.
    Put,
    /// Stores a value under a key that does not exist.
    Insert,
    /// Replaces the value of an existing key.
    Update,
    /// Deletes a key.
    Delete,
    /// Reads values from a key on, in key order.
    Scan,
    /// Changes the value of a key depending on the old value.
    ReadModifyWrite,
    /// Reads bytes of a device or an object.
    Read,
    /// Writes bytes to a device or an object.
    Write,
    /// Discards bytes of a device (TRIM).
    Discard,
}

impl TraceOperation {
    /// Every operation.
    pub const ALL: [Self; 10] = [
        Self::Get,
        Self::Put,
        Self::Insert,
        Self::Update,
        Self::Delete,
        Self::Scan,
        Self::ReadModifyWrite,
        Self::Read,
        Self::Write,
        Self::Discard,
    ];

    /// The name in machine-readable output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Put => "put",
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Scan => "scan",
            Self::ReadModifyWrite => "read-modify-write",
            Self::Read => "read",
            Self::Write => "write",
            Self::Discard => "discard",
        }
    }

    /// Whether it applies to a device or an object, with an offset.
    pub fn is_block(self) -> bool {
        matches!(self, Self::Read | Self::Write | Self::Discard)
    }

    /// Whether it stores a value.
    pub fn stores(self) -> bool {
        matches!(self, Self::Put | Self::Insert | Self::Update | Self::ReadModifyWrite | Self::Write)
    }
}

impl fmt::Display for TraceOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for TraceOperation {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|operation| operation.name() == name).ok_or(())
    }
}

/// A request. What a trace does not contain is `None`, never invented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// The time in nanoseconds since the trace's zero.
    pub time_ns: Option<u64>,
    /// The key, object or block: its number in the trace, or the hash of its text ([`crate::key_id`]).
    pub key: u64,
    /// The offset on the device or in the object, in bytes.
    pub offset: Option<u64>,
    /// Size of the value or of the block request, in bytes.
    pub value_size: Option<u64>,
    /// The client.
    pub client: Option<u64>,
    /// Size of the key in bytes.
    pub key_size: Option<u32>,
    /// The value's time to live in seconds.
    pub ttl_s: Option<u32>,
    /// The number of the device; 0 if there is one.
    pub device: u32,
    /// The operation.
    pub operation: TraceOperation,
    /// Whether it succeeded; a get that misses does not.
    pub succeeded: Option<bool>,
}

impl Record {
    /// A request with nothing but an operation and a key.
    pub fn new(operation: TraceOperation, key: u64) -> Self {
        Self {
            time_ns: None,
            key,
            offset: None,
            value_size: None,
            client: None,
            key_size: None,
            ttl_s: None,
            device: 0,
            operation,
            succeeded: None,
        }
    }

    /// Whether its key existed before, as far as the request proves it: reading or changing a key requires it, storing
    /// a whole value does not. A failed request proves nothing.
    pub fn needs_key(&self) -> Option<bool> {
        let stores = matches!(self.operation, TraceOperation::Put | TraceOperation::Insert | TraceOperation::Write);
        (self.succeeded != Some(false)).then_some(!stores)
    }

    /// A block request. Its key is the offset in units of `unit_bytes`, distinct for each device.
    pub fn block(operation: TraceOperation, device: u32, offset: u64, unit_bytes: u64, size: u64) -> Self {
        let block = offset / unit_bytes;
        let key = if device == 0 { block } else { device_key(device, block) };
        Self { offset: Some(offset), value_size: Some(size), device, ..Self::new(operation, key) }
    }
}

/// The key of a block on one of several devices.
pub(crate) fn device_key(device: u32, block: u64) -> u64 {
    let mut bytes = [0; 12];
    bytes[..4].copy_from_slice(&device.to_le_bytes());
    bytes[4..].copy_from_slice(&block.to_le_bytes());
    rapidhash::v3::rapidhash_v3(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_known_by_its_name() {
        for operation in TraceOperation::ALL {
            assert_eq!(operation.name().parse(), Ok(operation));
        }
        assert_eq!("fetch".parse::<TraceOperation>(), Err(()));
    }

    #[test]
    fn blocks_of_several_devices_have_keys_of_their_own() {
        let of = |device| Record::block(TraceOperation::Read, device, 4096, 512, 512).key;
        assert_eq!(of(0), 8);
        assert!(of(1) != of(0) && of(1) != of(2));
    }

    #[test]
    fn what_does_not_store_a_key_needs_it_unless_it_failed() {
        use TraceOperation::{Insert, Put, Write};
        for operation in TraceOperation::ALL {
            let record = Record::new(operation, 1);
            let needs = Some(![Put, Insert, Write].contains(&operation));
            assert_eq!((record.needs_key(), Record { succeeded: Some(true), ..record }.needs_key()), (needs, needs));
            assert_eq!(Record { succeeded: Some(false), ..record }.needs_key(), None);
        }
    }

    #[test]
    fn a_record_stays_small() {
        assert!(size_of::<Record>() <= 96, "{}", size_of::<Record>());
    }
}
