//! memcached's meta commands, as far as look-ups and writes need them. Existing crates take keys as text only and wait
//! for each answer; here keys are any bytes, and many requests are sent in one write.

use std::io::{self, ErrorKind};
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use manometer_measure::clock::WallAnchor;

use crate::engine::server::{Protocol, Refusal, Wire, decimal};

/// memcached's limit for a key as sent, in bytes.
pub(super) const KEY_BYTES_MAX: usize = 250;

/// The longest time to live that memcached reads as one, in seconds; a larger number is a date.
const TTL_S_MAX: u32 = 30 * 24 * 60 * 60;

/// The protocol of look-ups and writes.
pub(super) enum Meta {}

impl Protocol for Meta {
    #[inline]
    fn write_get(out: &mut Vec<u8>, key: &[u8]) -> Result<(), Refusal> {
        out.extend_from_slice(b"mg ");
        let encoded = write_key(out, key)?;
        out.extend_from_slice(if encoded { b" b v\r\n" } else { b" v\r\n" });
        Ok(())
    }

    #[inline]
    fn write_put(out: &mut Vec<u8>, key: &[u8], value: &[u8]) -> Result<(), Refusal> {
        write_set(out, key, value, None)
    }

    fn write_put_expiring(out: &mut Vec<u8>, key: &[u8], value: &[u8], ttl_s: u32) -> Result<(), Refusal> {
        let now_s = || WallAnchor::now().unix_s();
        write_set(out, key, value, Some(exptime(ttl_s, now_s)))
    }

    fn write_delete(out: &mut Vec<u8>, key: &[u8]) -> Result<(), Refusal> {
        out.extend_from_slice(b"md ");
        let encoded = write_key(out, key)?;
        out.extend_from_slice(if encoded { b" b\r\n" } else { b"\r\n" });
        Ok(())
    }

    #[inline]
    fn read_value(wire: &mut Wire) -> Result<Option<Range<usize>>, Refusal> {
        let line = wire.line()?;
        match wire.at(line.clone()) {
            b"EN" => Ok(None),
            [b'V', b'A', b' ', bytes @ ..] => match length(bytes) {
                Some(bytes) => Ok(Some(wire.block(bytes)?)),
                None => Err(unexpected().into()),
            },
            _ => Err(refusal(wire, line)),
        }
    }

    #[inline]
    fn read_put(wire: &mut Wire) -> Result<(), Refusal> {
        let line = wire.line()?;
        match wire.at(line.clone()) {
            b"HD" => Ok(()),
            _ => Err(refusal(wire, line)),
        }
    }

    fn read_delete(wire: &mut Wire) -> Result<(), Refusal> {
        let line = wire.line()?;
        match wire.at(line.clone()) {
            b"HD" | b"NF" => Ok(()),
            _ => Err(refusal(wire, line)),
        }
    }
}

/// The number that stands for a time to live: itself, or the date where it is too long; `now_s` is now, in seconds since
/// 1970.
fn exptime(ttl_s: u32, now_s: impl FnOnce() -> u64) -> u64 {
    if ttl_s > TTL_S_MAX { now_s() + u64::from(ttl_s) } else { u64::from(ttl_s) }
}

#[inline]
fn write_set(out: &mut Vec<u8>, key: &[u8], value: &[u8], exptime: Option<u64>) -> Result<(), Refusal> {
    out.extend_from_slice(b"ms ");
    let encoded = write_key(out, key)?;
    out.push(b' ');
    decimal(out, value.len());
    if let Some(exptime) = exptime {
        out.extend_from_slice(b" T");
        decimal(out, exptime as usize);
    }
    out.extend_from_slice(if encoded { b" b\r\n" } else { b"\r\n" });
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
    Ok(())
}

/// Writes a key, base64-encoded if it is not a word. Returns whether it was encoded.
#[inline]
fn write_key(out: &mut Vec<u8>, key: &[u8]) -> Result<bool, Refusal> {
    let encoded = key.iter().any(|byte| *byte <= b' ' || *byte == 0x7f);
    let sent = if encoded { key.len().div_ceil(3) * 4 } else { key.len() };
    if key.is_empty() || sent > KEY_BYTES_MAX {
        return Err(Refusal::Refused(format!(
            "a key of {} bytes: memcached takes from 1 to {KEY_BYTES_MAX}, and 186 when there are blanks or control \
             characters in it; choose shorter keys",
            key.len()
        )));
    }
    if encoded {
        out.extend_from_slice(BASE64.encode(key).as_bytes());
    } else {
        out.extend_from_slice(key);
    }
    Ok(encoded)
}

/// The number at the start of `text`.
#[inline]
fn length(text: &[u8]) -> Option<usize> {
    let digits = text.split(|byte| *byte == b' ').next().filter(|digits| !digits.is_empty())?;
    digits.iter().try_fold(0_usize, |number, digit| {
        let digit = digit.is_ascii_digit().then(|| usize::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

/// The refusal for an unexpected answer, with advice where it is known.
fn refusal(wire: &Wire, line: Range<usize>) -> Refusal {
    let message = wire.text(line);
    let remedy = match message.as_str() {
        "SERVER_ERROR object too large for cache" => "; choose smaller values, or allow larger ones (`max_item_size`)",
        text if text.starts_with("SERVER_ERROR out of memory") => "; give it more memory (`memory_mib`)",
        "ERROR" => "; memcached 1.6 or later is needed",
        text if text.contains("ERROR") => "",
        _ => return unexpected().into(),
    };
    Refusal::Refused(format!("{message}{remedy}"))
}

pub(super) fn unexpected() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "it does not answer as memcached does")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(key: &[u8]) -> Result<Vec<u8>, String> {
        let mut out = Vec::new();
        match Meta::write_get(&mut out, key) {
            Ok(()) => Ok(out),
            Err(Refusal::Refused(text)) => Err(text),
            Err(Refusal::Broken(error)) => panic!("{error}"),
        }
    }

    #[test]
    fn keys_that_are_no_words_are_sent_in_base64() {
        assert_eq!(get(b"user1").unwrap(), b"mg user1 v\r\n");
        assert_eq!(get(b"\0\x01").unwrap(), b"mg AAE= b v\r\n");
        assert_eq!(get(b"a b").unwrap(), b"mg YSBi b v\r\n");
    }

    #[test]
    fn keys_that_are_too_long_are_refused() {
        assert!(get(&[b'a'; 250]).is_ok() && get(&[0; 186]).is_ok());
        for key in [&[b'a'; 251][..], &[0; 187], b""] {
            assert!(get(key).unwrap_err().contains(&format!("a key of {} bytes", key.len())));
        }
    }

    #[test]
    fn a_long_time_to_live_is_sent_as_a_date() {
        let mut out = Vec::new();
        assert!(Meta::write_put_expiring(&mut out, b"a", b"xy", 100).is_ok());
        assert_eq!(out, b"ms a 2 T100\r\nxy\r\n");
        assert_eq!([exptime(TTL_S_MAX, || 7), exptime(TTL_S_MAX + 1, || 7)], [2_592_000, 2_592_008]);
    }

    #[test]
    fn lengths_are_read_up_to_the_flags() {
        assert_eq!([length(b"100"), length(b"7 f0"), length(b"")], [Some(100), Some(7), None]);
        assert_eq!(length(b"12x"), None);
    }
}
