//! The ARC paper's traces (`.lis`): `start, blocks, hint, request` in each line, separated by white space.
//!
//! A line requests several consecutive blocks of 512 bytes; each becomes a request. The operation is unknown and taken
//! as a read.

use crate::error::RecordFault;
use crate::format::Format;
use crate::reader::{LineFormat, Lines, Reader, RecordSink};
use crate::record::{Record, TraceOperation};
use crate::text;

const BLOCK_BYTES: u64 = 512;

/// The entry in the registry.
pub(crate) static FORMAT: Format = Format {
    name: "arc",
    about: "the ARC paper's .lis: start blocks hint request",
    settings: &[],
    recognise: |head| head.fits(Arc),
    open: |source, options| Ok(Box::new(Reader::new(Lines::new(source, Arc), options.kept()))),
};

struct Arc;

impl LineFormat for Arc {
    fn name(&self) -> &'static str {
        FORMAT.name
    }

    fn line(&mut self, line: &[u8], sink: &mut RecordSink) -> Result<(), RecordFault> {
        if text::trim(line).is_empty() {
            sink.skip();
            return Ok(());
        }
        let words = text::words::<4>(line).ok_or("expected four numbers: start, blocks, hint, request")?;
        let [start, count, ..] = words.map(text::number);
        let start = start.ok_or("the start is not a block number")?;
        let count = count.ok_or("the block count is not a number")?;
        if words[2..].iter().any(|word| text::number(word).is_none()) {
            return Err("the hint and the request are to be numbers".into());
        }
        let end = start.checked_add(count).and_then(|end| end.checked_mul(BLOCK_BYTES));
        end.ok_or("the last block exceeds 2^55")?;
        let first = Record::block(TraceOperation::Read, 0, start * BLOCK_BYTES, BLOCK_BYTES, BLOCK_BYTES);
        sink.run(first, count, 1, BLOCK_BYTES);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BATCH_RECORDS;
    use crate::read::tests::{damage, found, records};

    #[test]
    fn a_line_is_as_many_requests_as_it_has_blocks() {
        let trace = b"3050771 3 0 0\n7 1 0 1\n";
        assert_eq!(found(trace), "arc");
        let read = records(&FORMAT, trace);
        assert_eq!(read.iter().map(|record| record.key).collect::<Vec<_>>(), [3_050_771, 3_050_772, 3_050_773, 7]);
        assert_eq!(read[1].offset, Some(3_050_772 * 512));
        assert!(records(&FORMAT, b"1 0 0 0\n").is_empty());
    }

    #[test]
    fn long_ranges_come_in_batches() {
        let blocks = BATCH_RECORDS * 2 + 10;
        let read = records(&FORMAT, format!("5 {blocks} 0 0\n1 1 0 1\n").as_bytes());
        assert_eq!(read.len(), blocks + 1);
        assert_eq!((read[blocks - 1].key, read[blocks].key), (4 + blocks as u64, 1));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (line, word) in [
            ("1 1 0", "four numbers"),
            ("x 1 0 1", "start"),
            ("1 x 0 1", "block count"),
            ("18446744073709551615 5 0 0", "2^55"),
        ] {
            let (at, text) = damage(&FORMAT, format!("1 1 0 0\n{line}\n").as_bytes());
            assert_eq!(at, 8);
            assert!(text.contains(word), "{text}");
        }
    }
}
