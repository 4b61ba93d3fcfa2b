//! oracleGeneral, libCacheSim's binary format: records of 24 bytes, little-endian, packed.
//!
//! `u32` time in s, `u64` object, `u32` size, `i64` number of the next request for the object (-1 or the largest
//! number: never). The last field follows from the later records and is ignored.

use crate::error::RecordFault;
use crate::format::{Format, Head};
use crate::reader::{FixedFormat, FixedRecords, Reader};
use crate::record::{Record, TraceOperation};

pub(crate) const SIZE: usize = 24;
/// The number of records that must be plausible.
const CHECKED_RECORDS: usize = 512;

/// The entry in the registry.
pub(crate) static FORMAT: Format = Format {
    name: "oracle-general",
    about: "libCacheSim's oracleGeneral: binary, 24 bytes per record",
    settings: &[],
    recognise,
    open: |source, options| Ok(Box::new(Reader::new(FixedRecords::new(source, OracleGeneral), options.kept()))),
};

struct OracleGeneral;

impl FixedFormat<SIZE> for OracleGeneral {
    fn name(&self) -> &'static str {
        FORMAT.name
    }

    #[inline]
    fn record(&self, bytes: &[u8; SIZE]) -> Result<Option<Record>, RecordFault> {
        let [t0, t1, t2, t3, k0, k1, k2, k3, k4, k5, k6, k7, s0, s1, s2, s3, ..] = *bytes;
        let mut record = Record::new(TraceOperation::Get, u64::from_le_bytes([k0, k1, k2, k3, k4, k5, k6, k7]));
        record.time_ns = Some(u64::from(u32::from_le_bytes([t0, t1, t2, t3])) * 1_000_000_000);
        record.value_size = Some(u64::from(u32::from_le_bytes([s0, s1, s2, s3])));
        Ok(Some(record))
    }
}

/// The format has no magic number: times must not go back, and next accesses must lie ahead.
fn recognise(head: &Head) -> bool {
    let (records, rest) = head.bytes.as_chunks::<SIZE>();
    if records.is_empty() || !head.is_binary() || head.whole && records.len() == 1 && !rest.is_empty() {
        return false;
    }
    let mut before = 0;
    records.iter().take(CHECKED_RECORDS).enumerate().all(|(number, bytes)| {
        let Some((time, next)) = bytes.first_chunk().zip(bytes.last_chunk()) else { return false };
        let (time, next) = (u32::from_le_bytes(*time), i64::from_le_bytes(*next));
        let never = next == -1 || next == i64::MAX;
        let ordered = number == 0 || time >= before;
        before = time;
        // No known trace has 2^40 requests.
        ordered && (never || (number as i64 + 1..1 << 40).contains(&next))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_record_of_a_known_file_is_read() {
        let bytes = [
            0x6a, 0xf7, 0x55, 0x00, 0x09, 0x1a, 0x8f, 0x02, 0, 0, 0, 0, 0, 2, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
            0xff, 0xff,
        ];
        let record = OracleGeneral.record(&bytes).unwrap().unwrap();
        let expected = Record {
            time_ns: Some(5_633_898_000_000_000),
            value_size: Some(512),
            ..Record::new(TraceOperation::Get, 42_932_745)
        };
        assert_eq!(record, expected);
        assert!(recognise(&Head { bytes: &bytes, whole: true, lenient: false }));
    }

    #[test]
    fn what_goes_back_in_time_or_looks_back_is_something_else() {
        let mut bytes = [1_u8; 48];
        bytes[16..24].fill(0xff);
        bytes[40..48].fill(0xff);
        bytes[13] = 0;
        assert!(recognise(&Head { bytes: &bytes, whole: true, lenient: false }));
        bytes[24] = 0;
        assert!(!recognise(&Head { bytes: &bytes, whole: true, lenient: false }));
        bytes[24] = 1;
        bytes[40..48].fill(0);
        assert!(!recognise(&Head { bytes: &bytes, whole: true, lenient: false }));
    }
}
