//! The output of memcached's `watch fetchers mutations deletions`: `ts=… gid=… type=item_get key=… status=… …`.
//!
//! Keys are URI-encoded, `cfd` is the client's connection, and the microseconds of times are not padded with zeros.
//! memcached looks up an item before it stores it, and prints that look-up as a separate get.

use crate::error::RecordFault;
use crate::format::Format;
use crate::reader::{LineFormat, Lines, Reader, RecordSink};
use crate::record::{Record, TraceOperation};
use crate::text;

use super::operation_name::operation;

/// The entry in the registry.
pub(crate) static FORMAT: Format = Format {
    name: "memcached-watch",
    about: "memcached's watch: ts= gid= type= key= status= ...",
    settings: &[],
    recognise: |head| head.fits(WatchFormat::default()),
    open: |source, options| Ok(Box::new(Reader::new(Lines::new(source, WatchFormat::default()), options.kept()))),
};

#[derive(Default)]
struct WatchFormat {
    key: Vec<u8>,
}

impl LineFormat for WatchFormat {
    fn name(&self) -> &'static str {
        FORMAT.name
    }

    fn line(&mut self, line: &[u8], sink: &mut RecordSink) -> Result<(), RecordFault> {
        if let Some(skipped) = skipped_lines(line) {
            sink.lose(skipped);
            sink.skip();
            return Ok(());
        }
        if line.is_empty() || line == b"OK" {
            sink.skip();
            return Ok(());
        }
        let wanted = || RecordFault::from(format!("the line is {}: expected `ts=… gid=… type=…`", text::show(line)));
        if !line.starts_with(b"ts=") {
            return Err(wanted());
        }
        let mut record = Record::new(TraceOperation::Get, 0);
        let (mut kind, mut command, mut has_key) = (&b""[..], &b""[..], false);
        for word in line.split(|byte| *byte == b' ').filter(|word| !word.is_empty()) {
            let at = memchr::memchr(b'=', word).ok_or_else(|| format!("{} has no `=`", text::show(word)))?;
            let (name, value) = (&word[..at], &word[at + 1..]);
            let wrong = || RecordFault::from(format!("`{}` is {}", name.escape_ascii(), text::show(value)));
            match name {
                b"ts" => record.time_ns = Some(time_ns(value).ok_or_else(wrong)?),
                b"type" => kind = value,
                b"cmd" => command = value,
                b"key" => {
                    decode(value, &mut self.key).ok_or_else(wrong)?;
                    has_key = true;
                }
                b"size" => record.value_size = Some(text::number(value).ok_or_else(wrong)?),
                b"ttl" => record.ttl_s = text::number_u32(value),
                b"cfd" => record.client = Some(text::number(value).ok_or_else(wrong)?),
                b"status" => record.succeeded = succeeded(value),
                _ => {}
            }
        }
        record.operation = match kind {
            b"item_get" => TraceOperation::Get,
            b"item_store" => operation(command).ok_or_else(|| format!("the command is {}", text::show(command)))?,
            b"deleted" | b"item_delete" => TraceOperation::Delete,
            b"" => return Err(wanted()),
            _ => {
                sink.skip();
                return Ok(());
            }
        };
        if !has_key {
            return Err("there is no key".into());
        }
        // A missing item has no size.
        if record.operation == TraceOperation::Get && record.succeeded == Some(false)
            || record.operation == TraceOperation::Delete
        {
            record.value_size = None;
        }
        record.key = sink.key(&self.key)?;
        record.key_size = u32::try_from(self.key.len()).ok();
        sink.push(record);
        Ok(())
    }
}

/// The lines that the server left out because its watcher was too slow, where `line` says so: `skipped=7`, `[skipped: 7]`.
/// A notice without a number is one.
fn skipped_lines(line: &[u8]) -> Option<u64> {
    let rest = line.strip_prefix(b"[").unwrap_or(line).strip_prefix(b"skipped")?;
    let digits: Vec<u8> = rest.iter().copied().filter(u8::is_ascii_digit).collect();
    Some(text::number(&digits).unwrap_or(1))
}

/// Seconds and whole microseconds, with a point between.
fn time_ns(text: &[u8]) -> Option<u64> {
    let at = memchr::memchr(b'.', text)?;
    let (seconds, microseconds) = (text::number(&text[..at])?, text::number(&text[at + 1..])?);
    seconds.checked_mul(1_000_000)?.checked_add(microseconds)?.checked_mul(1_000)
}

fn succeeded(status: &[u8]) -> Option<bool> {
    match status {
        b"found" | b"stored" | b"deleted" => Some(true),
        b"not_found" | b"not_stored" | b"exists" | b"expired" | b"flushed" | b"no_memory" => Some(false),
        _ => None,
    }
}

/// Decodes the URI encoding.
fn decode(text: &[u8], bytes: &mut Vec<u8>) -> Option<()> {
    bytes.clear();
    let mut rest = text;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte == b'%' {
            let (digits, after) = rest.split_at_checked(2)?;
            bytes.push(text::hexadecimal(digits)? as u8);
            rest = after;
        } else {
            bytes.push(*byte);
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::tests::{damage, found, reader, records};

    /// Lines of memcached 1.6.18.
    const TRACE: &[u8] = b"OK\r\n\
        ts=1795319052.384557 gid=2 type=item_get key=foo status=not_found clsid=0 cfd=25 size=0\n\
        ts=1795319052.384562 gid=3 type=item_store key=foo status=stored cmd=set ttl=0 clsid=1 cfd=25 size=3\n\
        ts=1795319052.384653 gid=7 type=item_store key=k%2525%C3%A9 status=stored cmd=set ttl=100 clsid=1 cfd=26 size=5\n\
        ts=1795319052.384736 gid=20 type=item_store key=n status=not_stored cmd=add ttl=0 clsid=1 cfd=25 size=1\n\
        ts=1795319053.57 gid=21 type=conn_new rip=127.0.0.1\n";

    #[test]
    fn lines_of_a_server_are_read() {
        assert_eq!(found(TRACE), "memcached-watch");
        let read = records(&FORMAT, TRACE);
        let expected = [TraceOperation::Get, TraceOperation::Put, TraceOperation::Put, TraceOperation::Insert];
        assert_eq!(read.iter().map(|record| record.operation).collect::<Vec<_>>(), expected);
        assert_eq!((read[0].succeeded, read[0].value_size), (Some(false), None));
        assert_eq!((read[1].value_size, read[1].client, read[1].key), (Some(3), Some(25), read[0].key));
        assert_eq!((read[2].key, read[2].ttl_s), (crate::key_id("k%25é".as_bytes()), Some(100)));
        assert_eq!(read[3].succeeded, Some(false));
        assert_eq!(time_ns(b"10.57"), Some(10_000_057_000));
    }

    #[test]
    fn what_the_server_left_out_is_counted() {
        assert_eq!(
            ["skipped=12", "[skipped: 3]", "skipped"].map(|line| skipped_lines(line.as_bytes())),
            [Some(12), Some(3), Some(1)]
        );
        assert_eq!(skipped_lines(b"ts=1.5 gid=1"), None);
        let trace = [TRACE, b"skipped=12\n", &TRACE[4..]].concat();
        let mut reader = reader(&FORMAT, &trace);
        assert_eq!(crate::read_first(&mut *reader, 100).0.len(), 8);
        assert_eq!(reader.lost(), 12);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (line, word) in [
            ("hello", "expected `ts="),
            ("ts=1.5 gid=1", "type="),
            ("ts=x gid=1 type=item_get key=a", "`ts` is `x`"),
            ("ts=1.5 type=item_get key=a%f", "`key`"),
            ("ts=1.5 type=item_get", "no key"),
            ("ts=1.5 type=item_store key=a cmd=jump", "jump"),
        ] {
            let (at, text) = damage(&FORMAT, [TRACE, line.as_bytes()].concat().as_slice());
            assert_eq!(at, TRACE.len() as u64);
            assert!(text.contains(word), "{text}");
        }
    }
}
