//! Redis's append-only file: commands as RESP arrays, with lines `#TS:seconds` if `aof-timestamp-enabled` is on.
//!
//! It holds writes only. Files of Redis 7 and later (`….incr.aof`) have this format; a file with an RDB preamble is
//! refused. Databases are devices.

use std::borrow::Cow;
use std::ops::Range;

use crate::error::{RecordFault, TraceError};
use crate::format::{Format, Head};
use crate::reader::{Reader, RecordDecoder, RecordSink, stream_end};
use crate::record::{Record, TraceOperation};
use crate::source::Source;
use crate::text;

use super::redis_command::{Argument, requests};

/// The most words of a command.
const ARGUMENTS_MAX: u64 = 131_072;
/// A longer word is a value of which only the size is kept.
const KEPT_BYTES_MAX: u64 = 64 << 10;
/// The longest line that starts a command or a word.
const HEADER_BYTES_MAX: usize = 1024;
const SECOND_NS: u64 = 1_000_000_000;

/// The entry in the registry.
pub(crate) static FORMAT: Format = Format {
    name: "redis-aof",
    about: "Redis's append-only file",
    settings: &[],
    recognise,
    open: |source, options| {
        let format = Aof { source, words: Vec::new(), kept: Vec::new(), time_ns: None, database: 0 };
        Ok(Box::new(Reader::new(format, options.kept())))
    },
};

fn recognise(head: &Head) -> bool {
    let mut lines = head.bytes.split(|byte| *byte == b'\n').filter(|line| !line.starts_with(b"#"));
    let is = |line: Option<&[u8]>, mark: &[u8]| {
        let number = line.and_then(|line| line.strip_prefix(mark)?.strip_suffix(b"\r"));
        number.is_some_and(|number| text::number(number).is_some())
    };
    is(lines.next(), b"*") && is(lines.next(), b"$")
}

struct Aof {
    source: Source,
    /// The words of the command: their range in the buffer if kept, and their length.
    words: Vec<(Option<Range<usize>>, u64)>,
    kept: Vec<u8>,
    time_ns: Option<u64>,
    database: u32,
}

impl RecordDecoder for Aof {
    fn fill(&mut self, sink: &mut RecordSink) -> Result<(), TraceError> {
        while sink.room() > 0 {
            let offset = self.source.offset();
            if self.source.fill_to(1).is_empty() {
                return stream_end(&mut self.source, FORMAT.name);
            }
            if let Err(what) = self.command(sink) {
                let what = match self.source.failure() {
                    Some(failure) => format!("it cannot be read or decompressed any further: {failure}").into(),
                    None => what,
                };
                return Err(TraceError::Damaged { format: FORMAT.name, offset, line: None, what });
            }
        }
        Ok(())
    }
}

impl Aof {
    fn command(&mut self, sink: &mut RecordSink) -> Result<(), RecordFault> {
        let head = self.header()?;
        if let Some(comment) = head.strip_prefix(b"#") {
            if let Some(time) = comment.strip_prefix(b"TS:") {
                let time = text::time_ns(time, SECOND_NS).ok_or("the time after `#TS:` is not a number of seconds")?;
                self.time_ns = Some(time);
            }
            sink.skip();
            return Ok(());
        }
        let count = head.strip_prefix(b"*").and_then(text::number).ok_or_else(|| no_command(&head))?;
        if count > ARGUMENTS_MAX {
            return Err(format!("the command has {count} words: expected {ARGUMENTS_MAX} at most").into());
        }
        self.words.clear();
        self.kept.clear();
        for _ in 0..count {
            self.word()?;
        }
        let arguments: Vec<Argument> = self
            .words
            .iter()
            .map(|(range, size)| {
                let bytes = range.clone().map(|range| Cow::Borrowed(&self.kept[range]));
                Argument { bytes, size: *size }
            })
            .collect();
        if let [name, database] = &arguments[..]
            && name.bytes.as_deref().is_some_and(|name| name.eq_ignore_ascii_case(b"select"))
        {
            let number = database.bytes.as_deref().and_then(text::number_u32);
            self.database = number.ok_or("SELECT names no database")?;
            sink.skip();
            return Ok(());
        }
        let base = Record { time_ns: self.time_ns, device: self.database, ..Record::new(TraceOperation::Get, 0) };
        requests(&arguments, base, sink)
    }

    /// Reads a word: its length on a line, its bytes, and an end of line.
    fn word(&mut self) -> Result<(), RecordFault> {
        let head = self.header()?;
        let size = head.strip_prefix(b"$").and_then(text::number);
        let size =
            size.ok_or_else(|| format!("a word begins with {}: expected `$` and its length", text::show(&head)))?;
        if size <= KEPT_BYTES_MAX {
            let bytes = self.source.fill_to(size as usize);
            if bytes.len() < size as usize {
                return Err("the trace ends inside a command".into());
            }
            let begin = self.kept.len();
            self.kept.extend_from_slice(&bytes[..size as usize]);
            self.words.push((Some(begin..self.kept.len()), size));
            self.source.consume(size as usize);
        } else {
            if self.source.skip(size) < size {
                return Err("the trace ends inside a command".into());
            }
            self.words.push((None, size));
        }
        if self.kept.len() > crate::source::RECORD_BYTES_MAX {
            return Err(format!("the command's words take more than {} bytes", crate::source::RECORD_BYTES_MAX).into());
        }
        match self.source.fill_to(2) {
            [b'\r', b'\n', ..] => {
                self.source.consume(2);
                Ok(())
            }
            [] | [b'\r'] => Err("the trace ends inside a command".into()),
            _ => Err("a word is longer than its length field".into()),
        }
    }

    /// Reads a line that starts a command or a word, without its terminator.
    fn header(&mut self) -> Result<Vec<u8>, RecordFault> {
        let bytes = self.source.fill_to(HEADER_BYTES_MAX);
        let bytes = &bytes[..bytes.len().min(HEADER_BYTES_MAX)];
        let Some(at) = memchr::memchr(b'\n', bytes) else {
            let cut = bytes.len() < HEADER_BYTES_MAX;
            return Err(if cut { "the trace ends inside a command".into() } else { no_command(bytes) });
        };
        let line = bytes[..at].strip_suffix(b"\r").unwrap_or(&bytes[..at]).to_vec();
        self.source.consume(at + 1);
        Ok(line)
    }
}

fn no_command(bytes: &[u8]) -> RecordFault {
    let shown = text::show(bytes);
    if bytes.starts_with(b"REDIS") {
        return format!("it begins with an RDB image, {shown}: name its `.incr.aof` file").into();
    }
    format!("a command begins with {shown}: expected `*` and the number of its words").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::tests::{damage, found, records};

    const TRACE: &[u8] = b"#TS:1795319020\r\n*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n*3\r\n$3\r\nSET\r\n$5\r\nkey:1\r\n$9\r\nvalue\none\r\n\
        *5\r\n$3\r\nSET\r\n$1\r\nb\r\n$2\r\nxx\r\n$4\r\nPXAT\r\n$13\r\n1795319120101\r\n*3\r\n$3\r\nDEL\r\n$1\r\na\r\n$1\r\nb\r\n";

    #[test]
    fn commands_of_a_server_are_read() {
        assert_eq!(found(TRACE), "redis-aof");
        let read = records(&FORMAT, TRACE);
        let names: Vec<_> = read.iter().map(|record| record.operation.name()).collect();
        assert_eq!(names, ["put", "put", "delete", "delete"]);
        assert_eq!((read[0].key, read[0].value_size), (crate::key_id(b"key:1"), Some(9)));
        assert_eq!((read[0].time_ns, read[1].ttl_s), (Some(1_795_319_020_000_000_000), Some(101)));
    }

    #[test]
    fn of_long_values_only_the_size_is_kept() {
        let mut trace = b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1000000\r\n".to_vec();
        trace.resize(trace.len() + 1_000_000, b'x');
        trace.extend(b"\r\n");
        assert_eq!(records(&FORMAT, &trace)[0].value_size, Some(1_000_000));
        assert_eq!(damage(&FORMAT, &trace[..5000]), (0, "the trace ends inside a command".to_owned()));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (rest, word) in [
            (&b"*2\r\n$3\r\nGET\r\n$1"[..], "ends inside"),
            (b"hello\r\n", "expected `*`"),
            (b"REDIS0010xxxx\r\n", "RDB image"),
            (b"*1\r\nGET\r\n", "expected `$`"),
            (b"*1\r\n$2\r\nGET\r\n", "longer than its length"),
            (b"*999999999\r\n", "at most"),
            (b"*2\r\n$6\r\nSELECT\r\n$1\r\nx\r\n", "no database"),
            (b"#TS:x\r\n", "`#TS:`"),
        ] {
            let (at, text) = damage(&FORMAT, &[TRACE, rest].concat());
            assert_eq!(at, TRACE.len() as u64, "{text}");
            assert!(text.contains(word), "{text}");
        }
    }
}
