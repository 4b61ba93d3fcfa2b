//! RocksDB's query trace as its trace analyser prints it: `key in hex, type, column family, value size, time in µs`.

use crate::error::RecordFault;
use crate::format::Format;
use crate::reader::{LineFormat, Lines, Reader, RecordSink};
use crate::record::{Record, TraceOperation};
use crate::text;

const MICROSECOND_NS: u64 = 1_000;

/// The entry in the registry.
pub(crate) static FORMAT: Format = Format {
    name: "rocksdb-text",
    about: "RocksDB's query trace as text: hex key, type, column family, value size, time",
    settings: &[],
    recognise: |head| head.fits(RocksDbText::default()),
    open: |source, options| Ok(Box::new(Reader::new(Lines::new(source, RocksDbText::default()), options.kept()))),
};

#[derive(Default)]
struct RocksDbText {
    key: Vec<u8>,
}

impl LineFormat for RocksDbText {
    fn name(&self) -> &'static str {
        FORMAT.name
    }

    fn line(&mut self, line: &[u8], sink: &mut RecordSink) -> Result<(), RecordFault> {
        if line.is_empty() {
            sink.skip();
            return Ok(());
        }
        let words = text::words::<5>(line).ok_or("expected five fields: key, type, column family, value size, time")?;
        let [key, kind, family, size, time] = words;
        let key_text = key.strip_prefix(b"0x").unwrap_or(key);
        bytes_of(key_text, &mut self.key).ok_or_else(|| format!("the key is {}: expected hex", text::show(key)))?;
        let family = text::number_u32(family).ok_or("the column family is not a number")?;
        let size = text::number(size).ok_or("the value size is not a number of bytes")?;
        let time = text::time_ns(time, MICROSECOND_NS).ok_or("the time is not a number of microseconds")?;
        let operation = match kind {
            b"0" => TraceOperation::Get,
            b"1" => TraceOperation::Put,
            b"2" | b"3" => TraceOperation::Delete,
            b"4" => {
                sink.skip();
                return Ok(());
            }
            b"5" => TraceOperation::ReadModifyWrite,
            b"6" | b"7" => TraceOperation::Scan,
            b"8" => TraceOperation::Get,
            _ => return Err(format!("the type is {}: expected 0 to 8", text::show(kind)).into()),
        };
        let mut record = Record::new(operation, sink.key_in(family, &self.key)?);
        record.time_ns = Some(time);
        record.key_size = u32::try_from(self.key.len()).ok();
        record.value_size = operation.stores().then_some(size);
        record.device = family;
        sink.push(record);
        Ok(())
    }
}

/// The bytes that the hexadecimal digits encode.
fn bytes_of(digits: &[u8], bytes: &mut Vec<u8>) -> Option<()> {
    bytes.clear();
    let (pairs, rest) = digits.as_chunks::<2>();
    for pair in pairs {
        bytes.push(text::hexadecimal(pair).filter(|_| !pair.starts_with(b"0x"))? as u8);
    }
    rest.is_empty().then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::tests::{damage, found, records};

    #[test]
    fn keys_are_the_same_as_in_the_binary_form() {
        let trace = b"757365723031 0 0 0 1600000000000001\n0x757365723031 1 1 100 1600000000000002\n61 4 0 0 3\n";
        assert_eq!(found(trace), "rocksdb-text");
        let read = records(&FORMAT, trace);
        assert_eq!((read.len(), read[0].key, read[0].key_size), (2, crate::key_id(b"user01"), Some(6)));
        assert_eq!((read[0].time_ns, read[0].value_size), (Some(1_600_000_000_000_001_000), None));
        assert_eq!((read[1].operation, read[1].value_size, read[1].device), (TraceOperation::Put, Some(100), 1));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (line, word) in
            [("6g 0 0 0 1", "hex"), ("616 0 0 0 1", "hex"), ("61 9 0 0 1", "0 to 8"), ("61 0 0 0", "five fields")]
        {
            let (at, text) = damage(&FORMAT, format!("61 0 0 0 1\n{line}\n").as_bytes());
            assert_eq!(at, 11);
            assert!(text.contains(word), "{text}");
        }
    }
}
