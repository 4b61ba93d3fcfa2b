//! Lines of JSON that carry their own checksum: a line with a changed byte is never read as another line.
//!
//! The last key of each object is `crc32c`, the CRC-32C of the line without that key. Lines of earlier versions have none.

use std::borrow::Cow;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::secrets::redact;

/// What stands before and after the checksum's eight hexadecimal digits.
const BEFORE: &[u8] = b",\"crc32c\":\"";
const AFTER: &[u8] = b"\"}";
const DIGITS: usize = 8;

/// A line that is not what was written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LineFault {
    /// It is not such a line.
    #[error("{}", without_place(.0))]
    Json(#[from] serde_json::Error),
    /// It was changed.
    #[error("its checksum contradicts it")]
    Changed,
}

impl LineFault {
    /// Whether the line is the beginning of one.
    pub fn is_cut(&self) -> bool {
        matches!(self, Self::Json(error) if error.is_eof())
    }
}

/// The line of `value`, an object, without its [secrets](crate::secrets) and with its line break.
pub fn encode(value: &impl Serialize) -> Vec<u8> {
    let text = serde_json::to_string(value).expect("plain data");
    let mut line = redact(&text).into_owned().into_bytes();
    let sum = format!("{:08x}", crc32c::crc32c(&line));
    line.pop();
    [&line, BEFORE, sum.as_bytes(), AFTER, b"\n"].concat()
}

/// The value of a line, and whether the line has a checksum.
///
/// # Errors
/// The line is not of that type, or its checksum contradicts it.
pub fn decode<T: DeserializeOwned>(line: &[u8]) -> Result<(T, bool), LineFault> {
    let (content, sum) = split(line.trim_ascii_end());
    if sum.is_some_and(|sum| sum != crc32c::crc32c(&content)) {
        return Err(LineFault::Changed);
    }
    Ok((serde_json::from_slice(&content)?, sum.is_some()))
}

/// A line without its checksum, and the checksum.
fn split(line: &[u8]) -> (Cow<'_, [u8]>, Option<u32>) {
    let parts = || {
        let line = line.strip_suffix(AFTER)?;
        let (line, digits) = line.split_at_checked(line.len().checked_sub(DIGITS)?)?;
        let sum = u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        Some((line.strip_suffix(BEFORE)?, sum))
    };
    match parts() {
        Some((line, sum)) => (Cow::Owned([line, b"}"].concat()), Some(sum)),
        None => (Cow::Borrowed(line), None),
    }
}

/// The text of an error without its place, whose line would be that within the line.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_line_is_read_back_and_others_read_it_as_json() {
        let value = json!({"t_ns": 1, "text": "a \"}\" b"});
        let line = encode(&value);
        assert_eq!(decode::<Value>(&line).unwrap(), (value.clone(), true));
        let plain: Value = serde_json::from_slice(&line).unwrap();
        assert_eq!((&plain["text"], plain["crc32c"].is_string()), (&value["text"], true));
        assert_eq!(decode::<Value>(b"{\"t_ns\":1}\n").unwrap(), (json!({"t_ns": 1}), false));
    }

    #[test]
    fn no_change_of_a_byte_is_read_as_another_value() {
        let value = json!({"t_ns": 123_456_789, "phase": "w0"});
        let line = encode(&value);
        for at in 0..line.len() - 1 {
            for change in [1_u8, 2, 4, 8, 16, 32, 64, 128, 255] {
                let mut changed = line.clone();
                changed[at] ^= change;
                if let Ok((read, has_sum)) = decode::<Value>(&changed) {
                    // Only a damaged name of the checksum goes unseen here; the reader of the file misses the checksum.
                    assert_eq!((&read["t_ns"], &read["phase"]), (&value["t_ns"], &value["phase"]), "{at}");
                    assert!(!has_sum || read == value, "{at}: {read}");
                }
            }
        }
    }
}
