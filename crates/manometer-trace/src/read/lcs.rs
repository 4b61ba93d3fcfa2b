//! lcs, libCacheSim's own binary format, versions 1 to 8: a header of 8192 bytes, then records of one size.
//!
//! The header: `u64` magic, `u64` version, 8000 bytes of statistics, 168 unused, magic again. The records,
//! little-endian and packed: `u32` time in s, `u64` object, the size (`u32`, from version 3 on `i64`), from version 2
//! on 8 bits of operation and 24 of tenant, from version 3 on `u32` time to live, `i64` next access, and from version
//! 4 on 1, 2, 4, 8 or 16 features of 4 bytes, which are not kept.

use crate::details::Kept;
use crate::error::{RecordFault, TraceError};
use crate::format::Format;
use crate::reader::{FixedFormat, FixedRecords, Reader, TraceReader};
use crate::record::{Record, TraceOperation};
use crate::source::Source;
use crate::{ReadOptions, text};

use super::bytes::{u32_at, u64_at};

const MAGIC: u64 = 0x1234_5678_9abc_def0;
const HEADER_BYTES: usize = 8192;

/// The entry in the registry.
pub(crate) static FORMAT: Format = Format {
    name: "lcs",
    about: "libCacheSim's lcs, versions 1 to 8: binary with a header",
    settings: &[],
    recognise: |head| head.bytes.starts_with(&MAGIC.to_le_bytes()),
    open,
};

fn open(mut source: Source, options: &ReadOptions) -> Result<Box<dyn TraceReader>, TraceError> {
    let damaged = |what: String| TraceError::Damaged { format: FORMAT.name, offset: 0, line: None, what: what.into() };
    let head = source.fill_to(HEADER_BYTES);
    if head.len() < HEADER_BYTES {
        return Err(damaged(format!("the header is {} bytes long: expected {HEADER_BYTES}", head.len())));
    }
    if [0, HEADER_BYTES - 8].iter().any(|at| u64_at(head, *at) != MAGIC) {
        let begin = text::show(&head[..8]);
        return Err(damaged(format!("the header, which begins with {begin}, has no magic at both ends")));
    }
    let version = u64_at(head, 8);
    source.consume(HEADER_BYTES);
    let kept = options.kept();
    Ok(match version {
        1 => boxed::<24>(source, version, kept),
        2 => boxed::<28>(source, version, kept),
        3 => boxed::<36>(source, version, kept),
        4 => boxed::<40>(source, version, kept),
        5 => boxed::<44>(source, version, kept),
        6 => boxed::<52>(source, version, kept),
        7 => boxed::<68>(source, version, kept),
        8 => boxed::<100>(source, version, kept),
        _ => return Err(damaged(format!("the version is {version}: expected 1 to 8"))),
    })
}

fn boxed<const SIZE: usize>(source: Source, version: u64, kept: Kept) -> Box<dyn TraceReader> {
    Box::new(Reader::new(FixedRecords::<_, SIZE>::new(source, Lcs { version }), kept))
}

struct Lcs {
    version: u64,
}

impl<const SIZE: usize> FixedFormat<SIZE> for Lcs {
    fn name(&self) -> &'static str {
        FORMAT.name
    }

    fn record(&self, bytes: &[u8; SIZE]) -> Result<Option<Record>, RecordFault> {
        let mut record = Record::new(TraceOperation::Get, u64_at(bytes, 4));
        record.time_ns = Some(u64::from(u32_at(bytes, 0)) * 1_000_000_000);
        let after_size = if self.version < 3 { 16 } else { 20 };
        let size = if self.version < 3 { u64::from(u32_at(bytes, 12)) } else { u64_at(bytes, 12) };
        record.value_size = Some(i64::try_from(size).map_err(|_| "the size is negative")?.unsigned_abs());
        if self.version >= 2 {
            let both = u32_at(bytes, after_size);
            record.operation = operation(both & 0xff)?;
            record.client = Some(u64::from(both >> 8));
        }
        if self.version >= 3 {
            record.ttl_s = Some(u32_at(bytes, after_size + 4));
        }
        Ok(Some(record))
    }
}

/// The operation of libCacheSim's number; a get if none was recorded.
fn operation(number: u32) -> Result<TraceOperation, RecordFault> {
    Ok(match number {
        0..=2 | 255 => TraceOperation::Get,
        3 | 5 => TraceOperation::Put,
        4 => TraceOperation::Insert,
        6 | 14 => TraceOperation::Update,
        7 | 8 | 10 | 11 => TraceOperation::ReadModifyWrite,
        9 => TraceOperation::Delete,
        12 => TraceOperation::Read,
        13 => TraceOperation::Write,
        _ => return Err(format!("the operation is {number}: expected 0 to 14 or 255").into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::tests::{damage, found, records};

    fn header(version: u64) -> Vec<u8> {
        let mut header = vec![0; HEADER_BYTES];
        header[..8].copy_from_slice(&MAGIC.to_le_bytes());
        header[8..16].copy_from_slice(&version.to_le_bytes());
        header[HEADER_BYTES - 8..].copy_from_slice(&MAGIC.to_le_bytes());
        header
    }

    /// A set of object 77 by tenant 5 at 9 s, of 100 bytes and a time to live of 60 s.
    fn record(version: u64) -> Vec<u8> {
        let mut bytes = [&9_u32.to_le_bytes()[..], &77_u64.to_le_bytes()].concat();
        let size = if version < 3 { 4 } else { 8 };
        bytes.extend(&100_u64.to_le_bytes()[..size]);
        if version >= 2 {
            bytes.extend((5_u32 << 8 | 3).to_le_bytes());
        }
        if version >= 3 {
            bytes.extend(60_u32.to_le_bytes());
        }
        bytes.extend((-1_i64).to_le_bytes());
        let features = if version < 4 { 0 } else { 1 << (version - 4) };
        bytes.extend(vec![7; 4 * features]);
        bytes
    }

    #[test]
    fn every_version_is_read() {
        for version in 1..=8 {
            let trace = [header(version), record(version), record(version)].concat();
            assert_eq!(found(&trace), "lcs");
            let read = records(&FORMAT, &trace);
            assert_eq!(read.len(), 2);
            assert_eq!(read[0], read[1]);
            assert_eq!((read[0].time_ns, read[0].key, read[0].value_size), (Some(9_000_000_000), 77, Some(100)));
            let more = (read[0].operation, read[0].client, read[0].ttl_s);
            match version {
                1 => assert_eq!(more, (TraceOperation::Get, None, None)),
                2 => assert_eq!(more, (TraceOperation::Put, Some(5), None)),
                _ => assert_eq!(more, (TraceOperation::Put, Some(5), Some(60))),
            }
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let (at, text) = damage(&FORMAT, &[header(3), record(3), record(3)[..9].to_vec()].concat());
        assert_eq!((at, text.as_str()), (8192 + 36, "the trace ends inside a record: 9 of 36 bytes"));
        let mut unknown = [header(2), record(2)].concat();
        unknown[HEADER_BYTES + 16] = 77;
        assert!(damage(&FORMAT, &unknown).1.contains("the operation is 77"));
        for wrong in [header(9), header(1)[..100].to_vec(), vec![0; HEADER_BYTES]] {
            let options = ReadOptions { format: Some(&FORMAT), ..ReadOptions::default() };
            assert!(crate::open_stream(Box::new(std::io::Cursor::new(wrong)), &options).is_err());
        }
    }
}
