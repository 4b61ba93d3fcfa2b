//! Traces of memory accesses (`l 0x1fffff58 1`): a load or store, the address in hexadecimal, and a number that is
//! ignored.

use crate::error::RecordFault;
use crate::format::Format;
use crate::reader::{LineFormat, Lines, Reader, RecordSink};
use crate::record::{Record, TraceOperation};
use crate::text;

/// The entry in the registry.
pub(crate) static FORMAT: Format = Format {
    name: "address",
    about: "memory accesses: l|s address in hex, number",
    settings: &[],
    recognise: |head| head.fits(Address),
    open: |source, options| Ok(Box::new(Reader::new(Lines::new(source, Address), options.kept()))),
};

struct Address;

impl LineFormat for Address {
    fn name(&self) -> &'static str {
        FORMAT.name
    }

    fn line(&mut self, line: &[u8], sink: &mut RecordSink) -> Result<(), RecordFault> {
        if line.is_empty() {
            sink.skip();
            return Ok(());
        }
        let [kind, address, number] = text::words::<3>(line).ok_or("expected three fields: l or s, address, number")?;
        let operation = match kind {
            b"l" => TraceOperation::Read,
            b"s" => TraceOperation::Write,
            _ => return Err(format!("the first field is {}: expected l or s", text::show(kind)).into()),
        };
        let address = text::hexadecimal(address).ok_or("the address is not a number in hex")?;
        text::number(number).ok_or("the third field is not a number")?;
        sink.push(Record::new(operation, address));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::tests::{damage, found, records};

    #[test]
    fn loads_and_stores_are_read() {
        let trace = b"s 0x1fffff50 1\nl 0x1fffff58 6\n";
        assert_eq!(found(trace), "address");
        let read = records(&FORMAT, trace);
        assert_eq!((read[0].operation, read[0].key), (TraceOperation::Write, 0x1fff_ff50));
        assert_eq!(read[1].operation, TraceOperation::Read);
        for (line, word) in [("x 0x1 1", "l or s"), ("l zz 1", "hex"), ("l 0x1", "three fields")] {
            let (at, text) = damage(&FORMAT, [trace, line.as_bytes()].concat().as_slice());
            assert_eq!(at, trace.len() as u64);
            assert!(text.contains(word), "{text}");
        }
    }
}
