//! The output of `redis-cli MONITOR`: `seconds.microseconds [database client] "command" "argument" …`.
//!
//! Clients are identified by their address; databases are devices. Commands without a key are skipped.

use std::borrow::Cow;

use crate::error::RecordFault;
use crate::format::Format;
use crate::reader::{LineFormat, Lines, Reader, RecordSink};
use crate::record::{Record, TraceOperation};
use crate::text;

use super::redis_command::{Argument, requests};

const SECOND_NS: u64 = 1_000_000_000;

/// The entry in the registry.
pub(crate) static FORMAT: Format = Format {
    name: "redis-monitor",
    about: "redis MONITOR: time [database client] \"command\" \"argument\" ...",
    settings: &[],
    recognise: |head| head.fits(Monitor),
    open: |source, options| Ok(Box::new(Reader::new(Lines::new(source, Monitor), options.kept()))),
};

struct Monitor;

impl LineFormat for Monitor {
    fn name(&self) -> &'static str {
        FORMAT.name
    }

    fn line(&mut self, line: &[u8], sink: &mut RecordSink) -> Result<(), RecordFault> {
        let line = line.strip_prefix(b"+").unwrap_or(line);
        if line.is_empty() || line == b"OK" {
            sink.skip();
            return Ok(());
        }
        let wanted = || format!("the line is {}: expected `time [database client] \"command\"`", text::show(line));
        let at = memchr::memmem::find(line, b" [").ok_or_else(wanted)?;
        let end = at + memchr::memmem::find(&line[at..], b"] \"").ok_or_else(wanted)?;
        let (time, who, command) = (&line[..at], &line[at + 2..end], &line[end + 2..]);
        let space = memchr::memchr(b' ', who).ok_or_else(wanted)?;
        let mut base = Record::new(TraceOperation::Get, 0);
        base.time_ns = Some(text::time_ns(time, SECOND_NS).ok_or("the time is not a number of seconds")?);
        base.device = text::number_u32(&who[..space]).ok_or("the database is not a number")?;
        base.client = Some(crate::key_id(&who[space + 1..]));
        requests(&arguments(command)?, base, sink)
    }
}

/// The quoted words.
fn arguments(mut rest: &[u8]) -> Result<Vec<Argument<'_>>, RecordFault> {
    let mut arguments = Vec::new();
    while !rest.is_empty() {
        rest = rest.strip_prefix(b"\"").ok_or("a word does not start with a quote")?;
        let end = closing_quote(rest).ok_or("a word has no quote at its end")?;
        let word = unescaped(&rest[..end])?;
        arguments.push(Argument { size: word.len() as u64, bytes: Some(word) });
        rest = text::trim(&rest[end + 1..]);
    }
    Ok(arguments)
}

fn closing_quote(text: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + memchr::memchr2(b'"', b'\\', &text[from..])?;
        if text[at] == b'"' {
            return Some(at);
        }
        from = at + 2;
        if from > text.len() {
            return None;
        }
    }
}

/// The bytes that a word encodes.
fn unescaped(word: &[u8]) -> Result<Cow<'_, [u8]>, RecordFault> {
    if memchr::memchr(b'\\', word).is_none() {
        return Ok(Cow::Borrowed(word));
    }
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'\\' {
            bytes.push(*byte);
            continue;
        }
        let (kind, after) = rest.split_first().ok_or("a word ends in a backslash")?;
        rest = after;
        bytes.push(match kind {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'a' => 0x07,
            b'b' => 0x08,
            b'x' => {
                let (digits, after) = rest.split_at_checked(2).ok_or("a word ends inside `\\x`")?;
                rest = after;
                text::hexadecimal(digits).ok_or("`\\x` is not followed by two hexadecimal digits")? as u8
            }
            other => *other,
        });
    }
    Ok(Cow::Owned(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::tests::{damage, details, found, reader, records};

    /// Lines of Redis 7.0.15.
    const TRACE: &[u8] = br#"OK
1795319020.100360 [0 127.0.0.1:33816] "SET" "key:1" "value one"
1795319020.100531 [0 127.0.0.1:33816] "GET" "key:1"
1795319020.101218 [0 127.0.0.1:33816] "SET" "k\"q\\\x00\xff" "xxxx" "EX" "100"
1795319020.101269 [0 127.0.0.1:33816] "MGET" "key:1" "nokey"
1795319020.101292 [0 127.0.0.1:33816] "MSET" "a" "1" "b" "22"
1795319020.101312 [0 127.0.0.1:33816] "DEL" "a" "b"
1795319020.101368 [0 127.0.0.1:33816] "APPEND" "key:1" "more"
1795319020.101460 [0 127.0.0.1:33816] "PING"
1795319020.101490 [1 127.0.0.1:33816] "SETEX" "z" "30" "abc"
1795319020.101618 [1 lua] "get" "key:1"
1795319020.101678 [1 127.0.0.1:33816] "HSCAN" "h" "0"
"#;

    #[test]
    fn lines_of_a_server_are_read() {
        assert_eq!(found(TRACE), "redis-monitor");
        let read = records(&FORMAT, TRACE);
        let names: Vec<_> = read.iter().map(|record| record.operation.name()).collect();
        let expected = [
            "put",
            "get",
            "put",
            "get",
            "get",
            "put",
            "put",
            "delete",
            "delete",
            "read-modify-write",
            "put",
            "get",
            "scan",
        ];
        assert_eq!(names, expected);
        assert_eq!((read[0].key, read[0].value_size, read[0].key_size), (crate::key_id(b"key:1"), Some(9), Some(5)));
        assert_eq!(read[1].time_ns, Some(1_795_319_020_100_531_000));
        assert_eq!((read[2].key, read[2].ttl_s), (crate::key_id(b"k\"q\\\x00\xff"), Some(100)));
        assert_eq!((read[6].key, read[6].value_size), (crate::key_id(b"b"), Some(2)));
        assert_eq!((read[10].device, read[10].ttl_s), (1, Some(30)));
        // The same key in another database is another key, and the script another client.
        assert!(read[11].key != read[1].key && read[11].client != read[1].client);
    }

    #[test]
    fn commands_that_an_operation_does_not_tell_are_kept_as_they_are() {
        let read = details(&FORMAT, TRACE);
        let commands: Vec<(usize, &str)> =
            read.iter().enumerate().filter_map(|(at, one)| Some((at, one.command.as_deref()?))).collect();
        let expected = [
            (5, "*5\r\n$4\r\nmset\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\nb\r\n$2\r\n22\r\n"),
            (7, "*3\r\n$3\r\ndel\r\n$1\r\na\r\n$1\r\nb\r\n"),
            (9, "*3\r\n$6\r\nappend\r\n$5\r\nkey:1\r\n$4\r\nmore\r\n"),
            (12, "*3\r\n$5\r\nhscan\r\n$1\r\nh\r\n$1\r\n0\r\n"),
        ];
        assert_eq!(commands, expected);
        let joined: Vec<usize> = (0..read.len()).filter(|at| read[*at].is_joined).collect();
        assert_eq!(joined, [4, 6, 8], "the second keys of MGET, MSET and DEL");
        assert_eq!(read[2].key.as_deref(), Some(&b"k\"q\\\x00\xff"[..]));
    }

    #[test]
    fn a_moment_of_expiry_is_not_sent_again() {
        let line = |words: &str| format!("1.5 [0 a] {words}\n");
        let has_command = |words: &str| details(&FORMAT, line(words).as_bytes())[0].command.is_some();
        assert!(has_command(r#""SET" "k" "v" "NX""#) && has_command(r#""GETEX" "k" "EX" "5""#));
        for words in
            [r#""SET" "k" "nx""#, r#""SET" "k" "v" "NX" "PXAT" "1795319020000""#, r#""GETEX" "k" "EXAT" "1795319020""#]
        {
            assert!(!has_command(words), "{words}");
        }
    }

    #[test]
    fn requests_that_no_operation_expresses_are_counted() {
        let trace =
            [TRACE, b"1795319020.2 [0 a:1] \"EXPIRE\" \"key:1\" \"5\"\n1795319020.3 [0 a:1] \"INFO\"\n"].concat();
        let mut reader = reader(&FORMAT, &trace);
        assert_eq!(crate::read_first(&mut *reader, 100).0.len(), 13);
        assert_eq!((reader.lost(), reader.skipped()), (1, 4));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (line, word) in [
            ("hello", "expected `time"),
            ("x [0 a] \"GET\" \"a\"", "number of seconds"),
            ("1.5 [x a] \"GET\" \"a\"", "database"),
            ("1.5 [0 a] \"GET\" \"a", "at its end"),
            ("1.5 [0 a] \"GET\" \"a\\", "at its end"),
            ("1.5 [0 a] \"GET\" \"a\\x1\"", "\\x"),
            ("1.5 [0 a] \"SET\" \"a\"", "before its value"),
        ] {
            let (at, text) = damage(&FORMAT, &[TRACE, line.as_bytes()].concat());
            assert_eq!(at, TRACE.len() as u64);
            assert!(text.contains(word), "{text}");
        }
    }
}
