//! blkreplay's load files: `seconds.nanoseconds ; sector ; sectors ; R|W ; delay ; duration` after a text header.

use crate::error::RecordFault;
use crate::format::{Format, Head};
use crate::reader::{LineFormat, Lines, Reader, RecordSink};
use crate::record::Record;
use crate::text;

use super::operation_name::block_operation;

const SECTOR_BYTES: u64 = 512;
const SECOND_NS: u64 = 1_000_000_000;

/// The entry in the registry.
pub(crate) static FORMAT: Format = Format {
    name: "blkreplay",
    about: "blkreplay's .load: time ; sector ; sectors ; R|W ; delay ; duration",
    settings: &[],
    recognise,
    open: |source, options| Ok(Box::new(Reader::new(Lines::new(source, Blkreplay::default()), options.kept()))),
};

/// The start of the line that ends the text header.
const HEADER: &[u8] = b"start ;";

fn recognise(head: &Head) -> bool {
    head.lines().any(|line| line.starts_with(HEADER)) || head.fits(Blkreplay { started: true })
}

#[derive(Default)]
struct Blkreplay {
    started: bool,
}

impl LineFormat for Blkreplay {
    fn name(&self) -> &'static str {
        FORMAT.name
    }

    fn line(&mut self, line: &[u8], sink: &mut RecordSink) -> Result<(), RecordFault> {
        match request(line) {
            Ok(record) => {
                self.started = true;
                sink.push(record);
            }
            Err(fault) if self.started && !line.is_empty() => return Err(fault),
            Err(_) => {
                self.started |= line.starts_with(HEADER);
                sink.skip();
            }
        }
        Ok(())
    }
}

fn request(line: &[u8]) -> Result<Record, RecordFault> {
    let mut fields = line.split(|byte| *byte == b';').map(text::trim);
    let mut next = || fields.next().unwrap_or_default();
    let time = text::time_ns(next(), SECOND_NS).ok_or("the first field is not a time in seconds")?;
    let sector = text::number(next()).ok_or("the second field is not a sector number")?;
    let sectors = text::number(next()).ok_or("the third field is not a number of sectors")?;
    let letters = next();
    let operation = block_operation(letters);
    let operation = operation.ok_or_else(|| format!("the fourth field is {}: expected R or W", text::show(letters)))?;
    let bytes = |sectors: u64| sectors.checked_mul(SECTOR_BYTES).ok_or("a sector exceeds 2^55");
    let record = Record::block(operation, 0, bytes(sector)?, SECTOR_BYTES, bytes(sectors)?);
    Ok(Record { time_ns: Some(time), ..record })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TraceOperation;
    use crate::read::tests::{damage, found, records};

    const TRACE: &[u8] = b"Copyright somebody\n\nstart ; sector; length ; op ;  replay_delay=0 ; replay_duration=0\n\
        \x20     0.449518165 ;     37766917 ;   14 ; W ; 0.0 ; 0.0\n   3599.890074831 ;      7971176 ;    8 ; RA ; 0.0 ; 0.0\n";

    #[test]
    fn requests_are_found_below_the_text() {
        assert_eq!(found(TRACE), "blkreplay");
        let read = records(&FORMAT, TRACE);
        let first = (read[0].time_ns, read[0].key, read[0].value_size, read[0].operation);
        assert_eq!(first, (Some(449_518_165), 37_766_917, Some(14 * 512), TraceOperation::Write));
        assert_eq!(read[1].time_ns, Some(3_599_890_074_831));
    }

    #[test]
    fn below_the_text_every_line_is_a_request() {
        let (at, text) = damage(&FORMAT, &[TRACE, b"1.0 ; 5 ; 8 ; X ; 0.0 ; 0.0\n"].concat());
        assert_eq!(at, TRACE.len() as u64);
        assert!(text.contains("`X`: expected R or W"), "{text}");
    }
}
