//! One request of a trace.

use std::fmt;
use std::str::FromStr;

/// The operation of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Operation {
    /// The value of a key.
    Get,
    /// Store a value, whether the key is there or not.
    Put,
    /// Store a value under a key that is not there yet.
    Insert,
    /// Replace the value of a key that is there.
    Update,
    /// Remove a key.
    Delete,
    /// Values from a key on.
    Scan,
    /// Change the value of a key by what it was.
    ReadModifyWrite,
    /// Bytes of a device or an object.
    Read,
    /// Store bytes on a device or in an object.
    Write,
    /// Bytes of a device that are no longer needed.
    Discard,
}

impl Operation {
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

    /// Its name in machine forms.
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

    /// Whether it concerns a device or an object, with an offset.
    pub fn is_block(self) -> bool {
        matches!(self, Self::Read | Self::Write | Self::Discard)
    }

    /// Whether it carries a value.
    pub fn stores(self) -> bool {
        matches!(self, Self::Put | Self::Insert | Self::Update | Self::ReadModifyWrite | Self::Write)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Operation {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|operation| operation.name() == name).ok_or(())
    }
}

/// One request. What a trace does not hold is `None`, never invented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// When, in nanoseconds since the trace's own zero.
    pub time_ns: Option<u64>,
    /// Which key, object or block: the number in the trace, or the hash of its text ([`crate::key_id`]).
    pub key: u64,
    /// Where in the device or object, in bytes.
    pub offset: Option<u64>,
    /// Bytes of the value, or of the stretch of a device.
    pub value_size: Option<u64>,
    /// The client.
    pub client: Option<u64>,
    /// Bytes of the key.
    pub key_size: Option<u32>,
    /// Seconds that the value is to live.
    pub ttl_s: Option<u32>,
    /// Which of several devices; 0 where there is one.
    pub device: u32,
    /// The operation.
    pub operation: Operation,
    /// Whether it succeeded; a get that finds nothing does not.
    pub succeeded: Option<bool>,
}

impl Record {
    /// A request of which no more is known.
    pub fn new(operation: Operation, key: u64) -> Self {
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

    /// Whether its key was there before it, as far as it proves that: what reads or changes a key needs it, what
    /// stores it whole does not. A request that failed proves nothing.
    pub fn needs_key(&self) -> Option<bool> {
        let stores = matches!(self.operation, Operation::Put | Operation::Insert | Operation::Write);
        (self.succeeded != Some(false)).then_some(!stores)
    }

    /// A request to a device. Its key is the offset in units of `unit_bytes`, distinct for each device.
    pub fn block(operation: Operation, device: u32, offset: u64, unit_bytes: u64, size: u64) -> Self {
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
        for operation in Operation::ALL {
            assert_eq!(operation.name().parse(), Ok(operation));
        }
        assert_eq!("fetch".parse::<Operation>(), Err(()));
    }

    #[test]
    fn blocks_of_several_devices_have_keys_of_their_own() {
        let of = |device| Record::block(Operation::Read, device, 4096, 512, 512).key;
        assert_eq!(of(0), 8);
        assert!(of(1) != of(0) && of(1) != of(2));
    }

    #[test]
    fn what_does_not_store_a_key_needs_it_unless_it_failed() {
        use Operation::{Insert, Put, Write};
        for operation in Operation::ALL {
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
