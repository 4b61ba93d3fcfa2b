//! The LIRS authors' traces (`.trc`): one block number per line; `*` is a breakpoint and is skipped.

use crate::error::RecordFault;
use crate::format::Format;
use crate::reader::{LineFormat, Lines, Reader, RecordSink};
use crate::record::{Record, TraceOperation};
use crate::text;

/// The entry in the registry.
pub(crate) static FORMAT: Format = Format {
    name: "lirs",
    about: "the LIRS authors' .trc: one number per line, `*` for a breakpoint",
    settings: &[],
    recognise: |head| head.fits(Lirs),
    open: |source, options| Ok(Box::new(Reader::new(Lines::new(source, Lirs), options.kept()))),
};

struct Lirs;

impl LineFormat for Lirs {
    fn name(&self) -> &'static str {
        FORMAT.name
    }

    fn line(&mut self, line: &[u8], sink: &mut RecordSink) -> Result<(), RecordFault> {
        match text::trim(line) {
            b"" | b"*" => sink.skip(),
            block => {
                let wrong = || format!("the line is {}: expected the number of a block, or `*`", text::show(block));
                sink.push(Record::new(TraceOperation::Get, text::number(block).ok_or_else(wrong)?));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::tests::{damage, found, records};

    #[test]
    fn numbers_and_breakpoints_are_read() {
        let trace = b"  2819\n85\r\n*\n\n560";
        assert_eq!(found(trace), "lirs");
        assert_eq!(records(&FORMAT, trace).iter().map(|record| record.key).collect::<Vec<_>>(), [2819, 85, 560]);
        assert_eq!(
            damage(&FORMAT, b"1\n2\nx\n"),
            (4, "the line is `x`: expected the number of a block, or `*`".to_owned())
        );
    }
}
