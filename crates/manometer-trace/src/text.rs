//! Parsers of the parts of a line: numbers, times, fields.

/// A whole number of decimal digits, and nothing else.
#[inline]
pub(crate) fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 20 {
        return None;
    }
    let mut value = 0_u64;
    if text.len() < 20 {
        for byte in text {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                return None;
            }
            value = value * 10 + u64::from(digit);
        }
        return Some(value);
    }
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(value)
}

/// A number as [`number`] reads it, that fits 32 bits.
pub(crate) fn number_u32(text: &[u8]) -> Option<u32> {
    number(text).and_then(|number| u32::try_from(number).ok())
}

/// A number in hexadecimal digits, with or without `0x`.
pub(crate) fn hexadecimal(text: &[u8]) -> Option<u64> {
    let digits = text.strip_prefix(b"0x").unwrap_or(text);
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    digits.iter().try_fold(0, |value, byte| Some(value << 4 | u64::from(char::from(*byte).to_digit(16)?)))
}

/// A time such as `12.345` in units of `unit_ns`, as whole nanoseconds; finer digits are truncated.
pub(crate) fn time_ns(text: &[u8], unit_ns: u64) -> Option<u64> {
    let (whole, fraction) = match memchr::memchr(b'.', text) {
        None => return number(text)?.checked_mul(unit_ns),
        Some(point) => (&text[..point], &text[point + 1..]),
    };
    let mut time = number(whole)?.checked_mul(unit_ns)?;
    let mut unit = unit_ns;
    let mut exact = true;
    for byte in fraction {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        exact &= unit.is_multiple_of(10);
        unit /= 10;
        if exact {
            time = time.checked_add(u64::from(digit) * unit)?;
        }
    }
    Some(time)
}

/// The text without white space around it.
#[inline]
pub(crate) fn trim(text: &[u8]) -> &[u8] {
    match text {
        // The common case: no surrounding white space.
        [first, .., last] if *first > b' ' && *last > b' ' => text,
        [only] if *only > b' ' => text,
        _ => text.trim_ascii(),
    }
}

/// Splits a line at each `delimiter` into exactly `N` trimmed fields.
pub(crate) fn fields<const N: usize>(line: &[u8], delimiter: u8) -> Option<[&[u8]; N]> {
    let mut fields = [&b""[..]; N];
    let mut pieces = line.split(|byte| *byte == delimiter);
    for field in &mut fields {
        *field = trim(pieces.next()?);
    }
    pieces.next().is_none().then_some(fields)
}

/// Splits a line at white space into exactly `N` fields.
pub(crate) fn words<const N: usize>(line: &[u8]) -> Option<[&[u8]; N]> {
    let mut fields = [&b""[..]; N];
    let mut pieces = line.split(u8::is_ascii_whitespace).filter(|piece| !piece.is_empty());
    for field in &mut fields {
        *field = pieces.next()?;
    }
    pieces.next().is_none().then_some(fields)
}

/// A part of a line for an error's text: short and printable.
pub(crate) fn show(text: &[u8]) -> String {
    const SHOWN_BYTES_MAX: usize = 60;
    let shown = &text[..text.len().min(SHOWN_BYTES_MAX)];
    let more = if shown.len() < text.len() { "…" } else { "" };
    format!("`{}{more}`", shown.escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_digits_and_nothing_else() {
        assert_eq!(number(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(number(b"00000000000000000001"), Some(1));
        for wrong in [&b""[..], b"18446744073709551616", b"1a", b"+1", b"-1", b" 1", b"999999999999999999999"] {
            assert_eq!(number(wrong), None);
        }
        assert_eq!(hexadecimal(b"0x1fffff50"), Some(0x1fff_ff50));
        assert_eq!(hexadecimal(b"ffffffffffffffff"), Some(u64::MAX));
        assert_eq!(hexadecimal(b"0x"), None);
        assert_eq!(hexadecimal(b"fffffffffffffffff"), None);
    }

    #[test]
    fn times_are_exact_to_the_nanosecond() {
        let second = 1_000_000_000;
        assert_eq!(time_ns(b"3599.890074831", second), Some(3_599_890_074_831));
        assert_eq!(time_ns(b"1339518083.107412", second), Some(1_339_518_083_107_412_000));
        assert_eq!(time_ns(b"1.5", 1_000_000), Some(1_500_000));
        assert_eq!(time_ns(b"0.1234567899", second), Some(123_456_789));
        assert_eq!(time_ns(b"7", second), Some(7 * second));
        assert_eq!(time_ns(b"7.", second), Some(7 * second));
        assert_eq!(time_ns(b"7.9", 1), Some(7));
        for wrong in [&b""[..], b".5", b"1.x", b"99999999999999999999", b"-1"] {
            assert_eq!(time_ns(wrong, second), None);
        }
    }

    #[test]
    fn fields_are_counted() {
        assert_eq!(fields::<2>(b"a , b", b','), Some([&b"a"[..], b"b"]));
        assert_eq!(fields::<2>(b"a,b,c", b','), None);
        assert_eq!(words::<2>(b"  a\t b "), Some([&b"a"[..], b"b"]));
        assert_eq!(words::<3>(b"a b"), None);
    }

    #[test]
    fn what_is_shown_is_short_and_printable() {
        assert_eq!(show(b"a\x00"), "`a\\x00`");
        assert!(show(&[b'x'; 1000]).len() < 100);
    }
}
