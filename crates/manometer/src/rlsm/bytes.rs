//! Keys and values in escaped form.

use std::str::FromStr;

/// Bytes in escaped form: bytes that are not printable ASCII are `\xNN`, `\n`, `\t`, `\r`, and a backslash is `\\`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EscapedBytes(pub Vec<u8>);

impl FromStr for EscapedBytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut bytes = Vec::new();
        let mut rest = text.as_bytes();
        while let Some((&first, after)) = rest.split_first() {
            rest = after;
            let byte = if first == b'\\' { escaped(&mut rest)? } else { first };
            bytes.push(byte);
        }
        Ok(Self(bytes))
    }
}

/// The byte of an escape sequence.
fn escaped(rest: &mut &[u8]) -> Result<u8, String> {
    let wrong = || "write a backslash as \\\\, and other bytes as \\xNN".to_owned();
    let (&letter, after) = rest.split_first().ok_or_else(wrong)?;
    *rest = after;
    match letter {
        b'n' => Ok(b'\n'),
        b't' => Ok(b'\t'),
        b'r' => Ok(b'\r'),
        b'\\' | b'\'' | b'"' => Ok(letter),
        b'x' => {
            let (digits, after) = rest.split_at_checked(2).ok_or_else(wrong)?;
            *rest = after;
            let digit = |at: usize| char::from(digits[at]).to_digit(16).ok_or_else(wrong);
            Ok((16 * digit(0)? + digit(1)?) as u8)
        }
        _ => Err(wrong()),
    }
}

/// The escaped form of bytes.
pub fn escape(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_bytes_parse_to_themselves() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(escape(&all).parse(), Ok(EscapedBytes(all)));
        assert_eq!(escape(b"user1\0\xff\\"), "user1\\x00\\xff\\\\");
        assert_eq!("ä".parse(), Ok(EscapedBytes("ä".as_bytes().to_vec())));
    }

    #[test]
    fn half_an_escape_is_refused() {
        for text in ["\\", "\\x", "\\x1", "\\xgg", "\\q", "\\x+1", "\\xä"] {
            assert!(text.parse::<EscapedBytes>().is_err(), "{text}");
        }
    }
}
