//! The output of `blkparse` and `manometer trace capture`: `major,minor cpu sequence seconds.nanoseconds pid action
//! flags sector + sectors [process]`.
//!
//! A request is taken when it is issued to the driver (`D`) or, if the trace has no such lines, when it is queued
//! (`Q`). Other actions, flushes without sectors, messages and the totals at the end are skipped.

use std::collections::HashMap;

use crate::error::RecordFault;
use crate::format::{Format, Head};
use crate::reader::{LineFormat, Lines, Reader, RecordSink};
use crate::record::Record;
use crate::source::Source;
use crate::text;

use super::operation_name::block_operation;

const SECTOR_BYTES: u64 = 512;
const SECOND_NS: u64 = 1_000_000_000;
/// The largest number of devices.
const DEVICES_MAX: usize = 65_536;
/// Bytes that are searched for an issue.
const LOOKED_BYTES: usize = 64 << 10;

/// The entry in the registry.
pub(crate) static FORMAT: Format = Format {
    name: "blkparse",
    about: "blkparse's text, as `manometer trace capture` writes it",
    settings: &[],
    recognise: |head| head.fits(Blkparse::new(b"D")) || head.fits(Blkparse::new(b"Q")),
    open: |mut source, options| {
        let format = Blkparse::new(if has_issues(&mut source) { b"D" } else { b"Q" });
        Ok(Box::new(Reader::new(Lines::new(source, format), options.kept())))
    },
};

fn has_issues(source: &mut Source) -> bool {
    let bytes = source.fill_to(LOOKED_BYTES);
    let head = Head { bytes: &bytes[..bytes.len().min(LOOKED_BYTES)], whole: true, lenient: false };
    let mut lines = head.bytes.split(|byte| *byte == b'\n');
    lines.any(|line| words(line).is_some_and(|words| words[5] == b"D"))
}

struct Blkparse {
    action: &'static [u8],
    devices: HashMap<u64, u32>,
}

impl Blkparse {
    fn new(action: &'static [u8; 1]) -> Self {
        Self { action, devices: HashMap::new() }
    }

    /// The device's number in order of appearance.
    fn device(&mut self, name: u64) -> Result<u32, RecordFault> {
        let next = self.devices.len();
        if next >= DEVICES_MAX && !self.devices.contains_key(&name) {
            return Err(format!("there are more than {DEVICES_MAX} devices").into());
        }
        Ok(*self.devices.entry(name).or_insert(next as u32))
    }
}

/// The first seven words: device, processor, sequence, time, process, action, flags.
fn words(line: &[u8]) -> Option<[&[u8]; 7]> {
    let mut words = [&b""[..]; 7];
    let mut pieces = line.split(u8::is_ascii_whitespace).filter(|piece| !piece.is_empty());
    for word in &mut words {
        *word = pieces.next()?;
    }
    Some(words)
}

fn device_name(word: &[u8]) -> Option<u64> {
    let at = memchr::memchr(b',', word)?;
    let (major, minor) = (text::number_u32(&word[..at])?, text::number_u32(&word[at + 1..])?);
    Some(u64::from(major) << 32 | u64::from(minor))
}

impl LineFormat for Blkparse {
    fn name(&self) -> &'static str {
        FORMAT.name
    }

    fn line(&mut self, line: &[u8], sink: &mut RecordSink) -> Result<(), RecordFault> {
        let first = line.split(u8::is_ascii_whitespace).find(|word| !word.is_empty()).unwrap_or_default();
        let Some(device) = device_name(first) else {
            sink.skip();
            return Ok(());
        };
        let [_, processor, sequence, time, pid, action, flags] =
            words(line).ok_or("the line ends before the flags of the request")?;
        if text::number(processor).is_none() || text::number(sequence).is_none() {
            return Err("the processor and the sequence are to be numbers".into());
        }
        let time = text::time_ns(time, SECOND_NS).ok_or("the time is not a number of seconds")?;
        let Some(operation) = block_operation(flags).filter(|_| action == self.action) else {
            sink.skip();
            return Ok(());
        };
        let mut rest = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).skip(7);
        let mut next = || rest.next().unwrap_or_default();
        let sector = text::number(next()).ok_or("the sector is not a number")?;
        if next() != b"+" {
            return Err("there is no `+` between the sector and the sectors".into());
        }
        let sectors = text::number(next()).ok_or("the sector count is not a number")?;
        let bytes = |sectors: u64| sectors.checked_mul(SECTOR_BYTES).ok_or("a sector exceeds 2^55");
        let device = self.device(device)?;
        let mut record = Record::block(operation, device, bytes(sector)?, SECTOR_BYTES, bytes(sectors)?);
        record.time_ns = Some(time);
        record.client = text::number(pid);
        sink.push(record);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TraceOperation;
    use crate::read::tests::{damage, found, records};

    const TRACE: &[u8] = b"  8,0    3        1     0.000123000   697  Q   W 223490 + 8 [kjournald]\n\
        \x20 8,0    3        2     0.000223000   697  D   W 223490 + 8 [kjournald]\n\
        \x20 8,0    3        3     0.000323000   697  C WFS 223490 + 8 [0]\n\
        259,16   0        1     0.500000001    12  D  RA 8 + 16 [fio]\n\
        \x20 8,0    3        4     0.600000000     1  D  FF 0 + 0 [kworker]\n\
        \x20 8,0    3        5     0.700000000     1  m   N cfq message\n\nCPU0 (8,0):\n Reads Queued:           1,        8KiB\n";

    #[test]
    fn requests_are_taken_where_they_are_issued() {
        assert_eq!(found(TRACE), "blkparse");
        let read = records(&FORMAT, TRACE);
        assert_eq!(read.len(), 2);
        let first = (read[0].operation, read[0].key, read[0].value_size, read[0].time_ns, read[0].client);
        assert_eq!(first, (TraceOperation::Write, 223_490, Some(4096), Some(223_000), Some(697)));
        assert_eq!((read[1].operation, read[1].device, read[1].offset), (TraceOperation::Read, 1, Some(4096)));
    }

    #[test]
    fn where_none_is_issued_they_are_taken_where_they_are_queued() {
        let trace = b"252,1    3        1     0.000123000   697  Q  DS 64 + 8 [dd]\n252,1 3 2 0.1 0 C DS 64 + 8 [0]\n";
        assert_eq!(found(trace), "blkparse");
        let read = records(&FORMAT, trace);
        assert_eq!((read.len(), read[0].operation, read[0].key), (1, TraceOperation::Discard, 64));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (line, word) in [
            ("8,0 3 1 0.5 697", "ends before"),
            ("8,0 3 1 x 697 D W 1 + 8 [a]", "time"),
            ("8,0 3 1 0.5 697 D W x + 8 [a]", "sector"),
            ("8,0 3 1 0.5 697 D W 1 8 [a]", "`+`"),
            ("8,0 3 1 0.5 697 D W 1 + ", "sector count"),
        ] {
            let (at, text) = damage(&FORMAT, format!("8,0 3 1 0.5 697 D W 1 + 8 [a]\n{line}\n").as_bytes());
            assert_eq!(at, 30);
            assert!(text.contains(word), "{text}");
        }
    }
}
