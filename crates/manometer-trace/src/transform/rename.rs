//! Separates the keys, clients and devices of one part of a trace from those of the other parts.

use rapidhash::v3::rapidhash_v3;

use crate::error::TraceError;
use crate::record::Record;

/// The key of a block request is its sector.
const SECTOR_BYTES: u64 = 512;

/// The record as one of part `part` of `parts`. Part 0 keeps its ids, except devices if there are several.
pub(super) fn rename(record: &Record, part: u32, parts: u32) -> Result<Record, TraceError> {
    let mut renamed = Record { client: record.client.map(|client| number(client, part, parts)), ..*record };
    match record.offset.filter(|_| record.operation.is_block()) {
        Some(offset) => {
            renamed.device = device(record.device, part, parts)?;
            renamed.key = Record::block(record.operation, renamed.device, offset, SECTOR_BYTES, 0).key;
        }
        None => renamed.key = number(record.key, part, parts),
    }
    Ok(renamed)
}

/// A unique number for each number and part. Small numbers are shifted to the part's range and cannot collide; large
/// ones, which are hashes, are hashed with the part.
fn number(number: u64, part: u32, parts: u32) -> u64 {
    if part == 0 {
        return number;
    }
    let share = u64::MAX / u64::from(parts);
    if number < share {
        return number + share * u64::from(part);
    }
    let mut bytes = [0; 12];
    bytes[..4].copy_from_slice(&part.to_le_bytes());
    bytes[4..].copy_from_slice(&number.to_le_bytes());
    rapidhash_v3(&bytes)
}

fn device(device: u32, part: u32, parts: u32) -> Result<u32, TraceError> {
    device.checked_mul(parts).and_then(|first| first.checked_add(part)).ok_or_else(|| {
        TraceError::Wrong(format!("device {device} has no {parts} numbers of 32 bits apart from all others"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::TraceOperation;
    use proptest::prelude::*;
    use std::collections::HashSet;

    proptest! {
        #[test]
        fn parts_share_no_key(keys in prop::collection::hash_set(any::<u64>(), 1..50), parts in 1_u32..20) {
            let all: HashSet<u64> =
                keys.iter().flat_map(|key| (0..parts).map(move |part| number(*key, part, parts))).collect();
            prop_assert_eq!(all.len(), keys.len() * parts as usize);
        }

        #[test]
        fn parts_share_no_small_key(keys in prop::collection::hash_set(0_u64..100, 1..50), parts in 1_u32..2000) {
            let all: HashSet<u64> =
                keys.iter().flat_map(|key| (0..parts).map(move |part| number(*key, part, parts))).collect();
            prop_assert_eq!(all.len(), keys.len() * parts as usize);
        }
    }

    #[test]
    fn places_of_a_device_move_to_devices_of_their_own() {
        let write = Record::block(TraceOperation::Write, 3, 4096, 512, 1024);
        let renamed = rename(&write, 1, 2).unwrap();
        assert_eq!(renamed, Record::block(TraceOperation::Write, 7, 4096, 512, 1024));
        let error = rename(&Record::block(TraceOperation::Write, u32::MAX, 0, 512, 1), 1, 2).unwrap_err();
        assert!(error.to_string().contains("device 4294967295"));
    }

    #[test]
    fn the_largest_keys_are_renamed_too() {
        for key in [0, u64::MAX / 2, u64::MAX - 1, u64::MAX] {
            let renamed = rename(&Record { client: Some(key), ..Record::new(TraceOperation::Get, key) }, 1, 2).unwrap();
            assert!(renamed.key != key && renamed.client == Some(renamed.key));
        }
    }
}
