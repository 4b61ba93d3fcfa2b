//! SYSTOR'17: `time in s,response in s,R|W,LUN,offset,size`, with a header.

use crate::error::RecordFault;
use crate::format::Format;
use crate::reader::{LineFormat, Lines, Reader, RecordSink};
use crate::record::{Record, TraceOperation};
use crate::text;

const SECTOR_BYTES: u64 = 512;
const SECOND_NS: u64 = 1_000_000_000;

/// The entry in the registry.
pub(crate) static FORMAT: Format = Format {
    name: "systor17",
    about: "SYSTOR'17: Timestamp,Response,IOType,LUN,Offset,Size",
    settings: &[],
    recognise: |head| head.fits(Systor),
    open: |source, options| Ok(Box::new(Reader::new(Lines::new(source, Systor), options.kept()))),
};

struct Systor;

impl LineFormat for Systor {
    fn name(&self) -> &'static str {
        FORMAT.name
    }

    fn line(&mut self, line: &[u8], sink: &mut RecordSink) -> Result<(), RecordFault> {
        if line.is_empty() || line.starts_with(b"Timestamp,") {
            sink.skip();
            return Ok(());
        }
        let [time, response, kind, unit, offset, size] =
            text::fields(line, b',').ok_or("expected six fields separated by commas")?;
        let operation = match kind {
            b"R" => TraceOperation::Read,
            b"W" => TraceOperation::Write,
            b"" => {
                // A line without a type is neither a read nor a write.
                sink.skip();
                return Ok(());
            }
            other => return Err(format!("the type is {}: expected R or W", text::show(other)).into()),
        };
        if !response.is_empty() && text::time_ns(response, SECOND_NS).is_none() {
            return Err("the response is not a time in seconds".into());
        }
        let time = text::time_ns(time, SECOND_NS).ok_or("the time is not a number of seconds")?;
        let unit = text::number_u32(unit).ok_or("the logical unit is not a number")?;
        let offset = text::number(offset).ok_or("the offset is not a number of bytes")?;
        let size = text::number(size).ok_or("the size is not a number of bytes")?;
        sink.push(Record { time_ns: Some(time), ..Record::block(operation, unit, offset, SECTOR_BYTES, size) });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::tests::{damage, found, records};

    const TRACE: &[u8] = b"Timestamp,Response,IOType,LUN,Offset,Size\n\
        1455592008.051244000,0.000097036,R,4,54980456448,16384\n1455592008.051400000,,W,0,4096,512\n1.0,0.1,,0,0,0\n";

    #[test]
    fn lines_of_the_documentation_are_read() {
        assert_eq!(found(TRACE), "systor17");
        let read = records(&FORMAT, TRACE);
        assert_eq!(read.len(), 2);
        let first = (read[0].time_ns, read[0].device, read[0].offset, read[0].value_size);
        assert_eq!(first, (Some(1_455_592_008_051_244_000), 4, Some(54_980_456_448), Some(16_384)));
        assert_eq!((read[1].key, read[1].operation), (8, TraceOperation::Write));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let (at, text) = damage(&FORMAT, &[TRACE, b"1.0,0.1,X,0,0,0\n"].concat());
        assert_eq!(at, TRACE.len() as u64);
        assert!(text.contains("expected R or W"), "{text}");
        assert!(damage(&FORMAT, b"1,2,R\n").1.contains("six fields"));
    }
}
