//! fio's iolog, versions 2 and 3.
//!
//! Version 2: `file action offset length`; `wait` holds microseconds since the wait before, and one below 100 is
//! ignored, as fio's documentation says. Version 3: each line starts with its time in microseconds. Files are devices;
//! `add`, `open`, `close` and syncs are skipped.

use std::collections::HashMap;

use crate::error::{RecordFault, TraceError};
use crate::format::{Format, Head};
use crate::reader::{LineFormat, Lines, Reader, RecordSink, TraceReader};
use crate::record::{Record, TraceOperation};
use crate::source::Source;
use crate::{ReadOptions, text};

const SECTOR_BYTES: u64 = 512;
const MICROSECOND_NS: u64 = 1_000;
/// A shorter wait is ignored.
const WAIT_MIN_US: u64 = 100;
/// The largest number of files.
const FILES_MAX: usize = 65_536;
/// Bytes that are searched for a wait.
const LOOKED_BYTES: usize = 64 << 10;

const HEADER_2: &[u8] = b"fio version 2 iolog";
const HEADER_3: &[u8] = b"fio version 3 iolog";

/// The entry in the registry.
pub(crate) static FORMAT: Format = Format {
    name: "fio-iolog",
    about: "fio's iolog, versions 2 and 3",
    settings: &[],
    recognise: |head: &Head| head.bytes.starts_with(HEADER_2) || head.bytes.starts_with(HEADER_3),
    open,
};

fn open(mut source: Source, options: &ReadOptions) -> Result<Box<dyn TraceReader>, TraceError> {
    let bytes = source.fill_to(LOOKED_BYTES);
    let waits = memchr::memmem::find(&bytes[..bytes.len().min(LOOKED_BYTES)], b" wait ").is_some();
    // Without waits the times of requests are unknown.
    let format = Iolog { version: None, time_ns: waits.then_some(0), files: HashMap::new() };
    Ok(Box::new(Reader::new(Lines::new(source, format), options.kept())))
}

struct Iolog {
    version: Option<u8>,
    time_ns: Option<u64>,
    files: HashMap<Vec<u8>, u32>,
}

impl LineFormat for Iolog {
    fn name(&self) -> &'static str {
        FORMAT.name
    }

    fn line(&mut self, line: &[u8], sink: &mut RecordSink) -> Result<(), RecordFault> {
        let Some(version) = self.version else {
            self.version = Some(match text::trim(line) {
                HEADER_2 => 2,
                HEADER_3 => 3,
                _ => return Err(format!("the first line is {}: expected fio's header", text::show(line)).into()),
            });
            return Ok(());
        };
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).peekable();
        if words.peek().is_none() {
            sink.skip();
            return Ok(());
        }
        if version == 3 {
            let time = words.next().unwrap_or_default();
            self.time_ns = Some(text::time_ns(time, MICROSECOND_NS).ok_or("the time is not a number of microseconds")?);
        }
        let file = words.next().ok_or("there is no file")?;
        let action = words.next().ok_or("there is no action after the file")?;
        let mut number = |what: &str| {
            words.next().and_then(text::number).ok_or_else(|| RecordFault::from(format!("the {what} is not a number")))
        };
        let operation = match action {
            b"read" => TraceOperation::Read,
            b"write" => TraceOperation::Write,
            b"trim" => TraceOperation::Discard,
            b"wait" => {
                let wait_us = Some(number("wait")?).filter(|wait_us| *wait_us >= WAIT_MIN_US).unwrap_or(0);
                let waited = wait_us.checked_mul(MICROSECOND_NS);
                let time_ns = waited.and_then(|waited| self.time_ns.unwrap_or(0).checked_add(waited));
                self.time_ns = Some(time_ns.ok_or("the waits add up to more than 584 years")?);
                sink.skip();
                return Ok(());
            }
            b"add" | b"open" | b"close" | b"sync" | b"datasync" | b"sync_file_range" => {
                sink.skip();
                return Ok(());
            }
            _ => return Err(format!("the action is {}: expected read, write or trim", text::show(action)).into()),
        };
        let (offset, length) = (number("offset")?, number("length")?);
        let device = self.file(file)?;
        let record = Record::block(operation, device, offset, SECTOR_BYTES, length);
        sink.push(Record { time_ns: self.time_ns, ..record });
        Ok(())
    }
}

impl Iolog {
    fn file(&mut self, name: &[u8]) -> Result<u32, RecordFault> {
        if let Some(file) = self.files.get(name) {
            return Ok(*file);
        }
        let next = self.files.len();
        if next >= FILES_MAX {
            return Err(format!("there are more than {FILES_MAX} files").into());
        }
        self.files.insert(name.to_vec(), next as u32);
        Ok(next as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::tests::{damage, found, records};

    /// As fio 3.33 writes it.
    const VERSION_3: &[u8] = b"fio version 3 iolog\n23 /d/a.0.0 add\n121 /d/a.0.0 open\n126 /d/a.0.0 read 0 4096\n\
        785 /d/a.0.0 write 45056 4096\n800 /d/b trim 512 512\n900 /d/a.0.0 close\n";

    #[test]
    fn version_3_tells_times() {
        assert_eq!(found(VERSION_3), "fio-iolog");
        let read = records(&FORMAT, VERSION_3);
        assert_eq!(read.len(), 3);
        assert_eq!(
            (read[0].operation, read[0].time_ns, read[0].offset),
            (TraceOperation::Read, Some(126_000), Some(0))
        );
        assert_eq!((read[1].key, read[1].value_size), (88, Some(4096)));
        assert_eq!((read[2].operation, read[2].device), (TraceOperation::Discard, 1));
    }

    #[test]
    fn version_2_waits() {
        let trace = b"fio version 2 iolog\nf add\nf open\nf read 0 512\nf wait 1000 0\nf write 512 512\nf sync 0 0\n\
            f wait 99\nf wait 400\nf wait 100\nf read 0 512\nf close\n";
        let read = records(&FORMAT, trace);
        let times: Vec<_> = read.iter().map(|record| record.time_ns).collect();
        assert_eq!(times, [Some(0), Some(1_000_000), Some(1_500_000)]);
        assert_eq!(records(&FORMAT, b"fio version 2 iolog\nf read 0 512\n")[0].time_ns, None);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (line, word) in
            [("5 f jump 0 0", "jump"), ("x f read 0 0", "time"), ("5 f read 0", "length"), ("5 f", "no action")]
        {
            let (at, text) = damage(&FORMAT, &[VERSION_3, line.as_bytes()].concat());
            assert_eq!(at, VERSION_3.len() as u64);
            assert!(text.contains(word), "{text}");
        }
        assert!(damage(&FORMAT, b"fio version 9\n").1.contains("header"));
    }
}
