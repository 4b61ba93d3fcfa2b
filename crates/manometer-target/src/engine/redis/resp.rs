//! Redis's protocol RESP2, as far as look-ups and writes need it. The `redis` crate allocates a value for every answer;
//! here an answer stays in the read buffer.

use std::io::{self, ErrorKind};
use std::ops::Range;

use crate::engine::CommandReply;
use crate::engine::server::{Protocol, Refusal, Wire, decimal};

/// The protocol of look-ups and writes.
pub(super) enum Resp {}

impl Protocol for Resp {
    const HAS_MULTI_GET: bool = true;

    #[inline]
    fn write_get(out: &mut Vec<u8>, key: &[u8]) -> Result<(), Refusal> {
        out.extend_from_slice(b"*2\r\n$3\r\nGET\r\n");
        argument(out, key);
        Ok(())
    }

    #[inline]
    fn write_put(out: &mut Vec<u8>, key: &[u8], value: &[u8]) -> Result<(), Refusal> {
        out.extend_from_slice(b"*3\r\n$3\r\nSET\r\n");
        argument(out, key);
        argument(out, value);
        Ok(())
    }

    fn write_put_expiring(out: &mut Vec<u8>, key: &[u8], value: &[u8], ttl_s: u32) -> Result<(), Refusal> {
        out.extend_from_slice(b"*5\r\n$3\r\nSET\r\n");
        argument(out, key);
        argument(out, value);
        out.extend_from_slice(b"$2\r\nEX\r\n");
        let mut digits = Vec::new();
        decimal(&mut digits, ttl_s as usize);
        argument(out, &digits);
        Ok(())
    }

    fn write_delete(out: &mut Vec<u8>, key: &[u8]) -> Result<(), Refusal> {
        out.extend_from_slice(b"*2\r\n$3\r\nDEL\r\n");
        argument(out, key);
        Ok(())
    }

    #[inline]
    fn read_value(wire: &mut Wire) -> Result<Option<Range<usize>>, Refusal> {
        match header(wire)? {
            (b'$', -1) => Ok(None),
            (b'$', bytes @ 0..) => Ok(Some(wire.block(bytes as usize)?)),
            _ => Err(unexpected().into()),
        }
    }

    #[inline]
    fn read_put(wire: &mut Wire) -> Result<(), Refusal> {
        let line = wire.line()?;
        match wire.at(line.clone()) {
            b"+OK" => Ok(()),
            _ => Err(refusal(wire, line)),
        }
    }

    fn read_delete(wire: &mut Wire) -> Result<(), Refusal> {
        match header(wire)? {
            (b':', _) => Ok(()),
            _ => Err(unexpected().into()),
        }
    }

    /// Reads a reply of any kind: a line, a number, a value, or a list of replies, which may hold lists.
    fn read_command(wire: &mut Wire) -> Result<CommandReply, Refusal> {
        let mut reply = CommandReply { bytes: 0, is_missing: false };
        let (mut left, mut is_first) = (1_u64, true);
        while left > 0 {
            left -= 1;
            let line = wire.line()?;
            let is_line = wire.at(line.clone()).starts_with(b"+");
            if is_line {
                reply.bytes += line.len() - 1;
            } else {
                match parsed_header(wire, line)? {
                    (b'$', bytes @ 0..) => reply.bytes += wire.block(bytes as usize)?.len(),
                    (b'*', replies @ 1..) => left = left.saturating_add(replies as u64),
                    (b'$' | b'*', _) => reply.is_missing |= is_first,
                    _ => {}
                }
            }
            is_first = false;
        }
        Ok(reply)
    }

    fn write_get_many(out: &mut Vec<u8>, keys: &[&[u8]]) -> bool {
        out.push(b'*');
        decimal(out, keys.len() + 1);
        out.extend_from_slice(b"\r\n$4\r\nMGET\r\n");
        keys.iter().for_each(|key| argument(out, key));
        true
    }

    fn read_many(wire: &mut Wire, keys: usize) -> Result<(), Refusal> {
        match header(wire)? {
            (b'*', values) if usize::try_from(values) == Ok(keys) => Ok(()),
            _ => Err(unexpected().into()),
        }
    }
}

#[inline]
fn argument(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'$');
    decimal(out, bytes.len());
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

/// The type of the next answer and the number after it.
#[inline]
fn header(wire: &mut Wire) -> Result<(u8, i64), Refusal> {
    let line = wire.line()?;
    parsed_header(wire, line)
}

#[inline]
fn parsed_header(wire: &Wire, line: Range<usize>) -> Result<(u8, i64), Refusal> {
    let number = match wire.at(line.clone()) {
        [kind @ (b'$' | b'*' | b':'), digits @ ..] => number(digits).map(|number| (*kind, number)),
        _ => None,
    };
    number.ok_or_else(|| refusal(wire, line))
}

#[inline]
fn number(digits: &[u8]) -> Option<i64> {
    match digits {
        [b'-', digits @ ..] => number(digits).map(|number| -number),
        [] => None,
        _ => digits.iter().try_fold(0_i64, |number, digit| {
            let digit = digit.is_ascii_digit().then(|| i64::from(digit - b'0'))?;
            number.checked_mul(10)?.checked_add(digit)
        }),
    }
}

/// The refusal for an unexpected answer, with advice where it is known.
fn refusal(wire: &Wire, line: Range<usize>) -> Refusal {
    let text = wire.text(line);
    let Some(message) = text.strip_prefix('-') else { return unexpected().into() };
    let remedy = match message.split(' ').next() {
        Some("OOM") => {
            "; give it more memory (`maxmemory`), load fewer records, or allow eviction (`maxmemory-policy`)"
        }
        Some("NOAUTH") => "; servers with a password are not supported",
        Some("MOVED" | "ASK") => "; set `cluster = true` for a cluster; its slots must not move during a run",
        Some("CLUSTERDOWN") => "; see that every server of the cluster is there",
        Some("MISCONF") => "; see its log for why it cannot write its snapshot",
        Some("READONLY") => "; give the address of a master",
        _ => "",
    };
    Refusal::Refused(format!("{message}{remedy}"))
}

fn unexpected() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "it does not answer as Redis does")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_arrays_of_bulk_strings() {
        let mut out = Vec::new();
        assert!(Resp::write_put(&mut out, b"a\r\n", b"").is_ok());
        assert_eq!(out, b"*3\r\n$3\r\nSET\r\n$3\r\na\r\n\r\n$0\r\n\r\n");
        out.clear();
        assert!(Resp::write_get_many(&mut out, &[b"a", b"b"]));
        assert_eq!(out, b"*3\r\n$4\r\nMGET\r\n$1\r\na\r\n$1\r\nb\r\n");
        out.clear();
        assert!(Resp::write_put_expiring(&mut out, b"a", b"b", 100).is_ok());
        assert_eq!(out, b"*5\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nb\r\n$2\r\nEX\r\n$3\r\n100\r\n");
    }

    #[test]
    fn only_whole_numbers_are_numbers() {
        assert_eq!([number(b"-1"), number(b"0"), number(b"512")], [Some(-1), Some(0), Some(512)]);
        for text in [b"".as_slice(), b"-", b"1x", b"99999999999999999999", b"+1"] {
            assert_eq!(number(text), None);
        }
    }
}
