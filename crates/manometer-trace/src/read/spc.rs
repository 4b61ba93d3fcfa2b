//! SPC, the format of the UMass traces: `ASU,LBA,size in bytes,R|W,time in s`; further fields are optional.

use crate::error::RecordFault;
use crate::format::Format;
use crate::reader::{LineFormat, Lines, Reader, RecordSink};
use crate::record::{Record, TraceOperation};
use crate::text;

const SECTOR_BYTES: u64 = 512;
const SECOND_NS: u64 = 1_000_000_000;

/// The entry in the registry.
pub(crate) static FORMAT: Format = Format {
    name: "spc",
    about: "SPC (UMass): application unit,address,size,R|W,time",
    settings: &[],
    recognise: |head| head.fits(Spc),
    open: |source, options| Ok(Box::new(Reader::new(Lines::new(source, Spc), options.kept()))),
};

struct Spc;

impl LineFormat for Spc {
    fn name(&self) -> &'static str {
        FORMAT.name
    }

    fn line(&mut self, line: &[u8], sink: &mut RecordSink) -> Result<(), RecordFault> {
        let line = text::trim(line);
        if line.is_empty() {
            sink.skip();
            return Ok(());
        }
        let mut fields = line.split(|byte| *byte == b',').map(text::trim);
        let mut next = || fields.next().unwrap_or_default();
        let device = text::number_u32(next()).ok_or("the application unit, the first field, is not a number")?;
        let sector = text::number(next()).ok_or("the address, the second field, is not a number")?;
        let size = text::number(next()).ok_or("the size, the third field, is not a number of bytes")?;
        let operation = match next() {
            b"R" | b"r" => TraceOperation::Read,
            b"W" | b"w" => TraceOperation::Write,
            other => return Err(format!("the fourth field is {}: expected R or W", text::show(other)).into()),
        };
        let time = text::time_ns(next(), SECOND_NS).ok_or("the fifth field is not a time in seconds")?;
        let offset = sector.checked_mul(SECTOR_BYTES).ok_or("the address exceeds 2^55")?;
        sink.push(Record { time_ns: Some(time), ..Record::block(operation, device, offset, SECTOR_BYTES, size) });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::tests::{damage, found, records};

    #[test]
    fn lines_of_the_specification_are_read() {
        let trace = b"0,20941264,8192,W,0.551706\n1,20939840,8192,r,0.554041\n";
        assert_eq!(found(trace), "spc");
        let read = records(&FORMAT, trace);
        assert_eq!(
            (read[0].operation, read[0].key, read[0].time_ns),
            (TraceOperation::Write, 20_941_264, Some(551_706_000))
        );
        assert_eq!(
            (read[1].operation, read[1].device, read[1].offset),
            (TraceOperation::Read, 1, Some(20_939_840 * 512))
        );
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (line, word) in
            [("0,1,512,X,0.5", "R or W"), ("0,1,512,W,", "time"), ("a,1,512,W,1", "unit"), ("1", "address")]
        {
            let (at, text) = damage(&FORMAT, format!("0,1,512,W,0.1\n{line}\n").as_bytes());
            assert_eq!(at, 14);
            assert!(text.contains(word), "{text}");
        }
    }
}
