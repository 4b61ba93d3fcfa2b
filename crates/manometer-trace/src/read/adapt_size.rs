//! AdaptSize's traces of a content delivery network: `time, object, size`, separated by white space.

use crate::error::RecordFault;
use crate::format::{Format, FormatSetting};
use crate::reader::{LineFormat, Lines, Reader, RecordSink};
use crate::record::{Record, TraceOperation};
use crate::text;

/// The unit of times, by default.
const TIME_UNIT_NS: u64 = 1_000_000_000;

/// The entry in the registry.
pub(crate) static FORMAT: Format = Format {
    name: "adapt-size",
    about: "AdaptSize: time object size",
    settings: &[FormatSetting::TimeUnit],
    recognise: |head| head.fits(AdaptSize { time_unit_ns: TIME_UNIT_NS }),
    open: |source, options| {
        let format = AdaptSize { time_unit_ns: options.time_unit_ns.unwrap_or(TIME_UNIT_NS) };
        Ok(Box::new(Reader::new(Lines::new(source, format), options.kept())))
    },
};

struct AdaptSize {
    time_unit_ns: u64,
}

impl LineFormat for AdaptSize {
    fn name(&self) -> &'static str {
        FORMAT.name
    }

    fn line(&mut self, line: &[u8], sink: &mut RecordSink) -> Result<(), RecordFault> {
        if line.is_empty() {
            sink.skip();
            return Ok(());
        }
        let [time, object, size] = text::words::<3>(line).ok_or("expected three numbers: time, object, size")?;
        let object = text::number(object).ok_or("the object is not a number")?;
        let size = text::number(size).ok_or("the size is not a number of bytes")?;
        let time = text::time_ns(time, self.time_unit_ns).ok_or("the time is not a number")?;
        sink.push(Record { time_ns: Some(time), value_size: Some(size), ..Record::new(TraceOperation::Get, object) });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::tests::{damage, found, records};

    #[test]
    fn times_objects_and_sizes_are_read() {
        let trace = b"1 0 68\n2 1 7454\n";
        assert_eq!(found(trace), "adapt-size");
        let read = records(&FORMAT, trace);
        assert_eq!((read[1].key, read[1].value_size, read[1].time_ns), (1, Some(7454), Some(2_000_000_000)));
        for (line, word) in [("1 2", "three numbers"), ("x 1 1", "time"), ("1 x 1", "object"), ("1 1 x", "size")] {
            let (at, text) = damage(&FORMAT, [trace, line.as_bytes()].concat().as_slice());
            assert_eq!(at, trace.len() as u64);
            assert!(text.contains(word), "{text}");
        }
    }
}
