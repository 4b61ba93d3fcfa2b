//! The inserts that a recording lacks: of keys that are used before they are inserted.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::Input;
use super::merge::Merge;
use crate::error::TraceError;
use crate::key::{IdHasher, KeyTable};
use crate::reader::{BATCH_RECORDS, TraceReader};
use crate::record::{Operation, Record};

/// The most memory that keys and missing inserts take, in bytes.
const BYTES_MAX: usize = 4 << 30;
/// What a key takes, with the table's free places, and what a missing insert takes beside it, while a list grows.
const KEY_BYTES: usize = 40;
const INSERT_BYTES: usize = 2 * size_of::<Record>();
/// In the place of a missing insert's number: the trace has stored the key itself.
const STORED: u32 = u32::MAX;

/// Finds the inserts that a trace lacks; takes memory by the number of keys, up to a bound.
///
/// A key that is read, updated, scanned from or deleted before anything was stored under it must have been there. A
/// request that failed proves nothing, and devices need no inserts. An insert has the size that the first request for
/// its key tells.
pub struct MissingInserts {
    bytes_max: usize,
    /// Of each key the number of its missing insert, or [`STORED`].
    known: HashMap<u64, u32, IdHasher>,
    missing: Vec<Record>,
    /// The trace as it was read, for the texts of its keys.
    read: Input,
    damage: Option<TraceError>,
}

impl MissingInserts {
    /// Reads a trace to its end, or to where it is damaged.
    ///
    /// # Errors
    /// It cannot be read, or has too many keys.
    pub fn read(trace: Input) -> Result<Self, TraceError> {
        Self::read_within(BYTES_MAX, trace)
    }

    fn read_within(bytes_max: usize, trace: Input) -> Result<Self, TraceError> {
        let mut inserts = Self { bytes_max, known: HashMap::default(), missing: Vec::new(), read: trace, damage: None };
        let mut batch = Vec::new();
        loop {
            match inserts.read.read(&mut batch) {
                Ok(0) => return Ok(inserts),
                Ok(_) => {
                    batch.iter().for_each(|record| inserts.add(record));
                    inserts.need_room()?;
                }
                Err(damage @ TraceError::Damaged { .. }) => inserts.damage = Some(damage),
                Err(error) => return Err(error),
            }
        }
    }

    fn add(&mut self, record: &Record) {
        if record.operation.is_block() || record.succeeded == Some(false) {
            return;
        }
        let unknown = match self.known.entry(record.key) {
            Entry::Occupied(known) => {
                if let Some(insert) = self.missing.get_mut(*known.get() as usize) {
                    insert.value_size = insert.value_size.or(record.value_size);
                    insert.key_size = insert.key_size.or(record.key_size);
                }
                return;
            }
            Entry::Vacant(unknown) => unknown,
        };
        if matches!(record.operation, Operation::Put | Operation::Insert) {
            unknown.insert(STORED);
            return;
        }
        // The bound on memory is far below as many.
        unknown.insert(self.missing.len() as u32);
        self.missing.push(Record { operation: Operation::Insert, ttl_s: None, succeeded: None, ..*record });
    }

    fn need_room(&self) -> Result<(), TraceError> {
        if self.known.len() * KEY_BYTES + self.missing.len() * INSERT_BYTES <= self.bytes_max {
            return Ok(());
        }
        Err(TraceError::Wrong(format!(
            "more than {} different keys, of which {} lack an insert: more than {} MiB of memory hold; sample or slice \
             the trace before",
            self.known.len(),
            self.missing.len(),
            self.bytes_max >> 20
        )))
    }

    /// How many are missing.
    pub fn len(&self) -> usize {
        self.missing.len()
    }

    /// Whether none is missing.
    pub fn is_empty(&self) -> bool {
        self.missing.is_empty()
    }

    /// What is to be loaded before the trace begins: an insert for each key, in the order of their first uses, without
    /// times and clients.
    pub fn to_load(mut self) -> Input {
        for insert in &mut self.missing {
            (insert.time_ns, insert.client) = (None, None);
        }
        Box::new(self.listed())
    }

    /// The trace, read again, with the missing inserts, each so long before the first use of its key, at time 0 at the
    /// earliest.
    ///
    /// # Errors
    /// A key's first use has no time.
    pub fn into_trace(mut self, again: Input, before_ns: u64) -> Result<Merge, TraceError> {
        for insert in &mut self.missing {
            let time = insert.time_ns.ok_or_else(|| {
                TraceError::Wrong("a key's first use has no time: list the inserts to load them instead".to_owned())
            })?;
            insert.time_ns = Some(time.saturating_sub(before_ns));
        }
        self.missing.sort_by_key(|insert| insert.time_ns);
        // The trace tells its damage itself.
        self.damage = None;
        Ok(Merge::new(vec![Box::new(self.listed()), again]))
    }

    fn listed(self) -> Listed {
        Listed { records: self.missing, next: 0, read: self.read, damage: self.damage }
    }
}

/// Records from memory, and the damage that ended them.
struct Listed {
    records: Vec<Record>,
    next: usize,
    read: Input,
    damage: Option<TraceError>,
}

impl TraceReader for Listed {
    fn read(&mut self, batch: &mut Vec<Record>) -> Result<usize, TraceError> {
        let end = (self.next + BATCH_RECORDS).min(self.records.len());
        batch.clear();
        batch.extend_from_slice(&self.records[self.next..end]);
        self.next = end;
        match self.damage.take_if(|_| batch.is_empty()) {
            Some(damage) => Err(damage),
            None => Ok(batch.len()),
        }
    }

    fn keys(&self) -> Option<&KeyTable> {
        self.read.keys()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(records: Vec<Record>) -> Input {
        struct Once(Vec<Record>);
        impl TraceReader for Once {
            fn read(&mut self, batch: &mut Vec<Record>) -> Result<usize, TraceError> {
                *batch = std::mem::take(&mut self.0);
                Ok(batch.len())
            }
        }
        Box::new(Once(records))
    }

    #[test]
    fn keys_without_end_take_no_memory_without_end() {
        let records: Vec<Record> = (0..10_000).map(|key| Record::new(Operation::Get, u64::MAX - key)).collect();
        let room = 10_000 * (KEY_BYTES + INSERT_BYTES);
        assert!(MissingInserts::read_within(room, input(records.clone())).is_ok());
        let error = MissingInserts::read_within(room - 1, input(records)).err().map(|error| error.to_string());
        assert!(error.is_some_and(|error| error.contains("10000 different keys") && error.contains("sample")));
    }

    #[test]
    fn a_size_that_is_told_later_is_that_of_the_insert() {
        let get = Record::new(Operation::Get, 1);
        let records =
            vec![get, Record { value_size: Some(9), ..get }, Record { value_size: Some(8), key_size: Some(3), ..get }];
        let insert = MissingInserts::read(input(records)).map(|inserts| inserts.missing).unwrap_or_default();
        assert_eq!((insert[0].value_size, insert[0].key_size, insert.len()), (Some(9), Some(3), 1));
    }
}
