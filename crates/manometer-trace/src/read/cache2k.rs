//! The traces of cache2k's benchmarks: each request is the number of an object, four bytes, big-endian.

use std::collections::HashSet;

use crate::error::RecordFault;
use crate::format::{Format, Head};
use crate::reader::{FixedFormat, FixedRecords, Reader};
use crate::record::{Record, TraceOperation};

const SIZE: usize = 4;
/// The fewest requests for recognising the format.
const CHECKED_RECORDS_MIN: usize = 512;
/// The most kinds of objects (the upper eight bits) in these traces.
const KINDS_MAX: usize = 32;

/// The entry in the registry.
pub(crate) static FORMAT: Format = Format {
    name: "cache2k",
    about: "cache2k's benchmark traces: binary, a 32-bit number per request, big-endian",
    settings: &[],
    recognise,
    open: |source, options| Ok(Box::new(Reader::new(FixedRecords::new(source, Cache2k), options.kept()))),
};

struct Cache2k;

impl FixedFormat<SIZE> for Cache2k {
    fn name(&self) -> &'static str {
        FORMAT.name
    }

    fn record(&self, bytes: &[u8; SIZE]) -> Result<Option<Record>, RecordFault> {
        Ok(Some(Record::new(TraceOperation::Get, u32::from_be_bytes(*bytes).into())))
    }
}

/// The format has no magic number: objects must recur, and be of few kinds.
fn recognise(head: &Head) -> bool {
    let (records, _) = head.bytes.as_chunks::<SIZE>();
    if records.len() < CHECKED_RECORDS_MIN || !head.is_binary() {
        return false;
    }
    let objects: HashSet<u32> = records.iter().map(|bytes| u32::from_be_bytes(*bytes)).collect();
    let kinds: HashSet<u8> = records.iter().map(|bytes| bytes[0]).collect();
    let zeros = records.iter().filter(|bytes| **bytes == [0; SIZE]).count();
    kinds.len() <= KINDS_MAX && objects.len() > 1 && objects.len() < records.len() && zeros < records.len() / 4
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::tests::{damage, found, records};

    #[test]
    fn numbers_are_big_endian() {
        let trace: Vec<u8> = (0..1000_u32).flat_map(|number| (0x4800_0a00 + number % 77).to_be_bytes()).collect();
        assert_eq!(found(&trace), "cache2k");
        assert_eq!(records(&FORMAT, &trace)[3].key, 0x4800_0a03);
        assert_eq!(damage(&FORMAT, &trace[..4002 - 5]).0, 3996);
    }
}
