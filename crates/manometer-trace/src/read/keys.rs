//! One key per line, and nothing else.

use crate::error::RecordFault;
use crate::format::{Format, Head};
use crate::reader::{LineFormat, Lines, Reader, RecordSink};
use crate::record::{Record, TraceOperation};
use crate::text;

/// The entry in the registry.
pub(crate) static FORMAT: Format = Format {
    name: "keys",
    about: "one key per line",
    settings: &[],
    recognise,
    open: |source, options| Ok(Box::new(Reader::new(Lines::new(source, Keys), options.kept()))),
};

/// Lines of one word each.
fn recognise(head: &Head) -> bool {
    let mut lines = head.lines().filter(|line| !line.is_empty()).peekable();
    lines.peek().is_some()
        && lines.all(|line| {
            std::str::from_utf8(line).is_ok()
                && !line.iter().any(u8::is_ascii_control)
                && text::words::<1>(line).is_some_and(|[key]| !key.contains(&b','))
        })
}

struct Keys;

impl LineFormat for Keys {
    fn name(&self) -> &'static str {
        FORMAT.name
    }

    fn line(&mut self, line: &[u8], sink: &mut RecordSink) -> Result<(), RecordFault> {
        if line.is_empty() {
            sink.skip();
            return Ok(());
        }
        let mut record = Record::new(TraceOperation::Get, sink.key(line)?);
        record.key_size = u32::try_from(line.len()).ok();
        sink.push(record);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::tests::{found, records};

    #[test]
    fn every_line_is_a_key() {
        let trace = b"user1\nuser2\r\n\nuser1\n";
        assert_eq!(found(trace), "keys");
        let read = records(&FORMAT, trace);
        assert_eq!((read.len(), read[0].key, read[0].key_size), (3, read[2].key, Some(5)));
        // If the user names the format, spaces are part of keys.
        assert_eq!(records(&FORMAT, b"a b\n")[0].key, crate::key_id(b"a b"));
    }
}
