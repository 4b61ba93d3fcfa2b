//! Adds the inserts that a trace lacks, for keys that it uses before it inserts them.

use super::Input;
use super::merge::Merge;
use crate::details::BatchDetails;
use crate::dropped_fields::DroppedFields;
use crate::error::TraceError;
use crate::key::KeyTable;
use crate::missing::MissingKeys;
use crate::reader::{BATCH_RECORDS, TraceReader};
use crate::record::Record;

/// Finds the missing inserts of a trace. Memory grows with the number of keys, up to a limit.
///
/// A key that is read, updated, scanned from or deleted before the trace stores it must have existed. A failed request
/// proves nothing, and devices need no inserts. An insert has the size of the first request for its key that has one.
pub struct MissingInserts {
    missing: Vec<Record>,
    /// The trace as it was read, for its key texts.
    read: Input,
    dropped: DroppedFields,
    damage: Option<TraceError>,
}

impl MissingInserts {
    /// Reads a trace to its end or to its damage.
    ///
    /// # Errors
    /// It cannot be read, or has too many keys.
    pub fn read(mut trace: Input) -> Result<Self, TraceError> {
        let (mut keys, mut damage, mut batch) = (MissingKeys::default(), None, Vec::new());
        let mut dropped = DroppedFields::default();
        loop {
            match trace.read(&mut batch) {
                Ok(0) => break,
                Ok(_) => {
                    add_batch(&mut keys, &batch, trace.details(), &mut dropped);
                    keys.need_room()?;
                }
                Err(error @ TraceError::Damaged { .. }) => damage = Some(error),
                Err(error) => return Err(error),
            }
        }
        let missing = keys.into_inserts();
        for insert in &missing {
            dropped.count(insert.value_size.is_none(), "size of an inserted value, which no request for its key has");
        }
        Ok(Self { missing, read: trace, dropped, damage })
    }

    /// The number of missing inserts.
    pub fn len(&self) -> usize {
        self.missing.len()
    }

    /// Whether none is missing.
    pub fn is_empty(&self) -> bool {
        self.missing.is_empty()
    }

    /// The data to load before the trace starts: an insert for each key, in order of first use, without times and
    /// clients.
    pub fn to_load(mut self) -> Input {
        for insert in &mut self.missing {
            (insert.time_ns, insert.client) = (None, None);
        }
        Box::new(self.listed())
    }

    /// The trace, read again as `again`, with the missing inserts added, each `before_ns` before the first use of its
    /// key, but not before time 0.
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
        // The trace reports its damage itself.
        self.damage = None;
        Ok(Merge::new(vec![Box::new(self.listed()), again]))
    }

    fn listed(self) -> RecordList {
        let Self { missing, read, dropped, damage } = self;
        RecordList { records: missing, next: 0, read, dropped, damage }
    }
}

/// Adds the requests of a batch that are for keys, and counts the inserts of keys that a recorded command is the first to
/// use.
fn add_batch(keys: &mut MissingKeys, batch: &[Record], details: Option<&BatchDetails>, dropped: &mut DroppedFields) {
    let mut of_command = false;
    for (at, record) in batch.iter().enumerate() {
        let request = details.map(|details| details.of(at)).unwrap_or_default();
        if !request.is_joined {
            of_command = request.command.is_some();
        }
        let is_missing = !record.operation.is_block() && keys.add(record);
        let what = "type of an inserted value that a recorded command uses first, perhaps no string";
        dropped.count(is_missing && of_command, what);
    }
}

/// Records in memory, and the damage after them.
struct RecordList {
    records: Vec<Record>,
    next: usize,
    read: Input,
    dropped: DroppedFields,
    damage: Option<TraceError>,
}

impl TraceReader for RecordList {
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
    fn dropped(&self) -> DroppedFields {
        self.dropped.clone()
    }
}
