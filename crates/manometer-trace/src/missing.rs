//! The keys that a trace uses before it stores them: they existed before it began.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::error::TraceError;
use crate::key::IdHasher;
use crate::record::{Record, TraceOperation};

/// The most memory of keys and missing inserts, in bytes.
const BYTES_MAX: usize = 4 << 30;
/// Bytes of a key, including the table's free slots, and of a missing insert while its list grows.
const KEY_BYTES: usize = 40;
const INSERT_BYTES: usize = 2 * size_of::<Record>();
/// The number in place of a missing insert: the trace stored the key itself.
const STORED: u32 = u32::MAX;

/// Finds the missing keys. Memory grows with the number of keys, up to a limit.
#[derive(Debug)]
pub struct MissingKeys {
    bytes_max: usize,
    /// For each key the number of its missing insert, or [`STORED`].
    known: HashMap<u64, u32, IdHasher>,
    inserts: Vec<Record>,
}

impl Default for MissingKeys {
    fn default() -> Self {
        Self::within(BYTES_MAX)
    }
}

impl MissingKeys {
    /// As many keys as fit into `bytes_max`.
    pub(crate) fn within(bytes_max: usize) -> Self {
        Self { bytes_max, known: HashMap::default(), inserts: Vec::new() }
    }

    /// Adds the next request. Returns whether it is the first for a key that existed before the trace began.
    pub fn add(&mut self, record: &Record) -> bool {
        let Some(needed) = record.needs_key() else { return false };
        match self.known.entry(record.key) {
            Entry::Occupied(known) => {
                if let Some(insert) = self.inserts.get_mut(*known.get() as usize) {
                    insert.value_size = insert.value_size.or(record.value_size);
                    insert.key_size = insert.key_size.or(record.key_size);
                }
                false
            }
            Entry::Vacant(unknown) if needed => {
                // The memory limit is far below this many.
                unknown.insert(self.inserts.len() as u32);
                self.inserts.push(Record {
                    operation: TraceOperation::Insert,
                    ttl_s: None,
                    succeeded: None,
                    ..*record
                });
                true
            }
            Entry::Vacant(unknown) => {
                unknown.insert(STORED);
                false
            }
        }
    }

    /// Checks that there is room for the keys of the next few requests.
    ///
    /// # Errors
    /// There is not; the text says how much memory it would take.
    pub fn need_room(&self) -> Result<(), TraceError> {
        let bytes = self.known.len() * KEY_BYTES + self.inserts.len() * INSERT_BYTES;
        if bytes <= self.bytes_max {
            return Ok(());
        }
        Err(TraceError::Wrong(format!(
            "{} different keys until here, of which {} are used before anything is stored under them, take {} MiB of \
             memory, and {} MiB are allowed; sample or slice the trace before",
            self.known.len(),
            self.inserts.len(),
            bytes.div_ceil(1 << 20),
            self.bytes_max >> 20
        )))
    }

    /// An insert for each missing key: the first request for it, with the sizes of the first request that has them.
    pub fn into_inserts(self) -> Vec<Record> {
        self.inserts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inserts(records: &[Record]) -> Vec<Record> {
        let mut missing = MissingKeys::default();
        for record in records {
            missing.add(record);
        }
        missing.into_inserts()
    }

    #[test]
    fn keys_without_end_take_no_memory_without_end() {
        let room = 10_000 * (KEY_BYTES + INSERT_BYTES);
        let filled = |bytes_max| {
            let mut missing = MissingKeys::within(bytes_max);
            for key in 0..10_000 {
                missing.add(&Record::new(TraceOperation::Get, u64::MAX - key));
            }
            missing.need_room().map_err(|error| error.to_string())
        };
        assert_eq!(filled(room), Ok(()));
        let refused = filled(room - 1).unwrap_err();
        assert!(refused.contains("10000 different keys") && refused.contains("sample"), "{refused}");
        assert!(refused.contains(&format!("take {} MiB", room.div_ceil(1 << 20))), "{refused}");
    }

    #[test]
    fn a_later_size_is_that_of_the_insert() {
        let get = Record::new(TraceOperation::Get, 1);
        let found = inserts(&[
            get,
            Record { value_size: Some(9), ..get },
            Record { value_size: Some(8), key_size: Some(3), ..get },
        ]);
        assert_eq!((found[0].value_size, found[0].key_size, found.len()), (Some(9), Some(3), 1));
    }

    #[test]
    fn what_failed_neither_needs_a_key_nor_stores_it() {
        let get = Record::new(TraceOperation::Get, 1);
        for operation in TraceOperation::ALL {
            let failed = Record { succeeded: Some(false), value_size: Some(7), ..Record::new(operation, 1) };
            assert!(inserts(&[failed]).is_empty());
            let found = inserts(&[failed, get]);
            assert_eq!((found.len(), found[0].value_size), (1, None), "{operation}");
        }
    }
}
