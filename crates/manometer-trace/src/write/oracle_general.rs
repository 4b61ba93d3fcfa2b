//! oracleGeneral: 24 bytes per record, little-endian (see the reader).
//!
//! The number of the next request for the same key is filled in at the end, from the last record to the first. Memory
//! grows with the number of keys; very many keys are processed in several passes.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::os::unix::fs::FileExt as _;

use rapidhash::v3::rapidhash_v3;

use super::{DroppedFields, OutputFormat, TraceBatch, TraceWriter, failed};
use crate::error::TraceError;
use crate::key::IdHasher;
use crate::read::oracle_general::SIZE;
use crate::record::{Record, TraceOperation};

/// Records per backward read.
const BACKWARD_RECORDS: u64 = 64 << 10;
/// The most keys per pass; they take about 1.5 GB.
const KEYS_MAX: usize = 1 << 25;

/// The entry in the registry.
pub(crate) static FORMAT: OutputFormat = OutputFormat {
    name: "oracle-general",
    about: "libCacheSim's oracleGeneral: time in s, key, size, next access",
    extensions: &[".oraclegeneral", ".oraclegeneral.bin"],
    create: |file| {
        Ok(Box::new(OracleGeneral {
            file: BufWriter::with_capacity(1 << 20, file),
            records: 0,
            losses: DroppedFields::default(),
        }))
    },
};

struct OracleGeneral {
    file: BufWriter<File>,
    records: u64,
    losses: DroppedFields,
}

impl TraceWriter for OracleGeneral {
    fn write(&mut self, batch: &TraceBatch<'_>) -> Result<(), TraceError> {
        for record in batch.records {
            let bytes = self.bytes(record)?;
            self.file.write_all(&bytes).map_err(failed)?;
            self.records += 1;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<DroppedFields, TraceError> {
        self.file.flush().map_err(failed)?;
        fill_in(self.file.get_ref(), self.records, KEYS_MAX).map_err(failed)?;
        Ok(self.losses)
    }
}

impl OracleGeneral {
    fn bytes(&mut self, record: &Record) -> Result<[u8; SIZE], TraceError> {
        let time_s = record.time_ns.unwrap_or(0) / 1_000_000_000;
        let size = record.value_size.unwrap_or(1);
        let wrong = |what: &str, number: u64| {
            TraceError::Wrong(format!("record {} has the {what} {number}: oracleGeneral holds 32 bits", self.records))
        };
        let time_s = u32::try_from(time_s).map_err(|_| wrong("time in s", time_s))?;
        let size = u32::try_from(size).map_err(|_| wrong("size", size))?;
        let losses = &mut self.losses;
        losses.count(record.time_ns.is_none(), "no time, written as 0");
        losses.count(record.time_ns.is_some_and(|time| time % 1_000_000_000 > 0), "part of the time below a second");
        losses.count(record.value_size.is_none(), "no size, written as 1");
        losses.count(record.operation != TraceOperation::Get, "operation");
        losses.count(record.offset.is_some(), "offset");
        losses.count(record.client.is_some(), "client");
        losses.count(record.key_size.is_some(), "key size");
        losses.count(record.device > 0, "device");
        losses.count(record.ttl_s.is_some_and(|ttl| ttl > 0), "time to live");
        losses.count(record.succeeded.is_some(), "result");
        let mut bytes = [0; SIZE];
        bytes[..4].copy_from_slice(&time_s.to_le_bytes());
        bytes[4..12].copy_from_slice(&record.key.to_le_bytes());
        bytes[12..16].copy_from_slice(&size.to_le_bytes());
        Ok(bytes)
    }
}

/// Sets the number of the next request for its key in each record. If there are too many keys for one pass, they are
/// divided by their hashes.
fn fill_in(file: &File, records: u64, keys_max: usize) -> std::io::Result<()> {
    let (mut part, mut parts) = (0, 1);
    while part < parts {
        let is_in = |key: u64| parts == 1 || rapidhash_v3(&key.to_le_bytes()) % parts == part;
        match fill_in_keys(file, records, keys_max, is_in)? {
            true => part += 1,
            // Fields already written are right, and are written again.
            false => (part, parts) = (0, 2 * parts),
        }
    }
    Ok(())
}

/// Makes a backward pass over the file for some of the keys. Returns false once there are too many.
fn fill_in_keys(file: &File, records: u64, keys_max: usize, is_in: impl Fn(u64) -> bool) -> std::io::Result<bool> {
    let mut next: HashMap<u64, i64, IdHasher> = HashMap::default();
    let mut end = records;
    let mut bytes = Vec::new();
    while end > 0 {
        let begin = end.saturating_sub(BACKWARD_RECORDS);
        bytes.resize((end - begin) as usize * SIZE, 0);
        file.read_exact_at(&mut bytes, begin * SIZE as u64)?;
        let (chunk, _) = bytes.as_chunks_mut::<SIZE>();
        for (index, record) in chunk.iter_mut().enumerate().rev() {
            let number = begin + index as u64;
            let mut key = [0; 8];
            key.copy_from_slice(&record[4..12]);
            let key = u64::from_le_bytes(key);
            if is_in(key) {
                let after = next.insert(key, number as i64).unwrap_or(-1);
                record[16..].copy_from_slice(&after.to_le_bytes());
            }
        }
        if next.len() > keys_max {
            return Ok(false);
        }
        file.write_all_at(&bytes, begin * SIZE as u64)?;
        end = begin;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_too_many_are_taken_in_parts() -> std::io::Result<()> {
        let mut bytes = Vec::new();
        for number in 0..1000_u64 {
            bytes.extend_from_slice(&[0; 4]);
            bytes.extend_from_slice(&(number % 300).to_le_bytes());
            bytes.extend_from_slice(&[0; 12]);
        }
        let file = tempfile::tempfile()?;
        file.write_all_at(&bytes, 0)?;
        fill_in(&file, 1000, 40)?;
        file.read_exact_at(&mut bytes, 0)?;
        for (number, record) in (0..).zip(bytes.chunks_exact(SIZE)) {
            let expected: i64 = if number + 300 < 1000 { number + 300 } else { -1 };
            assert_eq!(record[16..], expected.to_le_bytes(), "record {number}");
        }
        Ok(())
    }
}
