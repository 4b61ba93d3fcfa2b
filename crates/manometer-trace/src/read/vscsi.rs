//! vscsi traces of VMware, as CloudPhysics published them: binary, little-endian.
//!
//! | version | bytes | fields |
//! | --- | --- | --- |
//! | 1 | 32 | `u32` number, bytes, scatter-gather parts; `u16` command, version; `u64` sector, time in µs |
//! | 2 | 40 | `u16` command, version; `u32` number, bytes, scatter-gather parts; `u64` sector, time, response in µs |
//!
//! The version is in the upper byte of its field. Commands are SCSI's; other than reads, writes and unmaps are
//! passed over.

use crate::error::RecordFault;
use crate::format::{Format, Head};
use crate::reader::{FixedFormat, FixedRecords, Reader};
use crate::record::Record;

use super::bytes::{u16_at, u32_at, u64_at};
use super::operation_name::scsi;

const SECTOR_BYTES: u64 = 512;
const SIZE_1: usize = 32;
const SIZE_2: usize = 40;
/// The number of records that must be plausible.
const CHECKED_RECORDS: usize = 256;

/// Version 1's entry in the registry.
pub(crate) static FORMAT_1: Format = Format {
    name: "vscsi1",
    about: "VMware's vscsi, version 1: binary, 32 bytes per record",
    settings: &[],
    recognise: |head| recognise(head, &Version1),
    open: |source, options| Ok(Box::new(Reader::new(FixedRecords::new(source, Version1), options.kept()))),
};

/// Version 2's entry in the registry.
pub(crate) static FORMAT_2: Format = Format {
    name: "vscsi2",
    about: "VMware's vscsi, version 2: binary, 40 bytes per record",
    settings: &[],
    recognise: |head| recognise(head, &Version2),
    open: |source, options| Ok(Box::new(Reader::new(FixedRecords::new(source, Version2), options.kept()))),
};

struct Version1;
struct Version2;

impl FixedFormat<SIZE_1> for Version1 {
    fn name(&self) -> &'static str {
        FORMAT_1.name
    }

    fn record(&self, bytes: &[u8; SIZE_1]) -> Result<Option<Record>, RecordFault> {
        check_version(u16_at(bytes, 14), 1)?;
        decode(u16_at(bytes, 12), u32_at(bytes, 4), u64_at(bytes, 16), u64_at(bytes, 24))
    }
}

impl FixedFormat<SIZE_2> for Version2 {
    fn name(&self) -> &'static str {
        FORMAT_2.name
    }

    fn record(&self, bytes: &[u8; SIZE_2]) -> Result<Option<Record>, RecordFault> {
        check_version(u16_at(bytes, 2), 2)?;
        decode(u16_at(bytes, 0), u32_at(bytes, 8), u64_at(bytes, 16), u64_at(bytes, 24))
    }
}

fn check_version(version: u16, expected: u16) -> Result<(), RecordFault> {
    if version >> 8 == expected {
        return Ok(());
    }
    Err(format!("the record's version is {}: expected {expected}", version >> 8).into())
}

fn decode(command: u16, size: u32, sector: u64, time_us: u64) -> Result<Option<Record>, RecordFault> {
    let Some(operation) = scsi(command.into()) else { return Ok(None) };
    let offset = sector.checked_mul(SECTOR_BYTES).ok_or("the sector exceeds 2^55")?;
    let mut record = Record::block(operation, 0, offset, SECTOR_BYTES, size.into());
    record.time_ns = Some(time_us.checked_mul(1000).ok_or("the time exceeds 584 years")?);
    Ok(Some(record))
}

fn recognise<const SIZE: usize>(head: &Head, format: &impl FixedFormat<SIZE>) -> bool {
    let (records, _) = head.bytes.as_chunks::<SIZE>();
    !records.is_empty() && records.iter().take(CHECKED_RECORDS).all(|bytes| format.record(bytes).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TraceOperation;
    use crate::read::tests::{damage, found, records};

    /// The first record of a published trace.
    const FIRST: [u8; 32] = [
        0xf4, 0, 0, 0x80, 0, 2, 0, 0, 1, 0, 0, 0, 0x2a, 0, 0, 1, 9, 0x1a, 0x8f, 2, 0, 0, 0, 0, 0x22, 0xcf, 0x82, 0xbe,
        0x1f, 5, 0, 0,
    ];

    fn version_2() -> Vec<u8> {
        let mut bytes = vec![0x28, 0, 0, 2, 7, 0, 0, 0, 0, 0x10, 0, 0, 1, 0, 0, 0];
        bytes.extend([42_u64, 1_000_000, 250].map(u64::to_le_bytes).concat());
        bytes
    }

    #[test]
    fn both_versions_are_read() {
        assert_eq!(found(&FIRST), "vscsi1");
        let read = records(&FORMAT_1, &FIRST);
        assert_eq!(
            (read[0].operation, read[0].key, read[0].value_size),
            (TraceOperation::Write, 42_932_745, Some(512))
        );
        assert_eq!(read[0].time_ns, Some(5_633_898_368_802_000));
        assert_eq!(found(&version_2()), "vscsi2");
        let read = records(&FORMAT_2, &version_2());
        assert_eq!((read[0].operation, read[0].key, read[0].value_size), (TraceOperation::Read, 42, Some(4096)));
        assert_eq!(read[0].time_ns, Some(1_000_000_000));
    }

    #[test]
    fn a_record_of_another_version_and_a_cut_one_are_reported() {
        let mut two = [FIRST, FIRST].concat();
        assert_eq!(damage(&FORMAT_1, &two[..60]), (32, "the trace ends inside a record: 28 of 32 bytes".to_owned()));
        two[32 + 15] = 9;
        assert_eq!(damage(&FORMAT_1, &two), (32, "the record's version is 9: expected 1".to_owned()));
    }
}
