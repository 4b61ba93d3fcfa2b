//! Java's properties syntax, as `java.util.Properties` reads it.
//!
//! A line is `name=value`, `name:value` or `name value`; blanks around the separator do not count, those at
//! the end of a value do. `#` or `!` begins a comment line; a `\` at the end of a line joins the next to it,
//! without its leading blanks. `\t`, `\n`, `\r`, `\f` and `\u0041` are escapes; before any other character
//! `\` means that character itself, also where it would separate. Every byte is one character (ISO 8859-1).

use std::iter::Peekable;
use std::str::Chars;

/// One property, and the number of the line it begins on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Property {
    pub(super) number: usize,
    pub(super) name: String,
    pub(super) value: String,
}

/// An invalid line, with its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MalformedLine {
    pub(super) number: usize,
    pub(super) line: String,
}

/// Reads properties.
pub(super) fn parse(bytes: &[u8]) -> Result<Vec<Property>, MalformedLine> {
    let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
    logical_lines(&text)
        .into_iter()
        .map(|(number, line)| {
            let mut rest = line.chars().peekable();
            let malformed = || MalformedLine { number, line: line.clone() };
            let name = unescape(&mut rest, |c| is_blank(c) || c == '=' || c == ':').ok_or_else(malformed)?;
            skip_separator(&mut rest);
            let value = unescape(&mut rest, |_| false).ok_or_else(malformed)?;
            Ok(Property { number, name, value })
        })
        .collect()
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\x0C')
}

/// Lines joined where they are continued, without comments and empty ones, each with its first number.
fn logical_lines(text: &str) -> Vec<(usize, String)> {
    let unified = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut continued = false;
    for (number, line) in (1..).zip(unified.split('\n')) {
        let line = line.trim_start_matches(is_blank);
        if !continued && (line.is_empty() || line.starts_with(['#', '!'])) {
            continue;
        }
        let backslashes = line.len() - line.trim_end_matches('\\').len();
        let goes_on = backslashes % 2 == 1;
        let own = if goes_on { &line[..line.len() - 1] } else { line };
        match lines.last_mut() {
            Some((_, before)) if continued => before.push_str(own),
            _ => lines.push((number, own.to_owned())),
        }
        continued = goes_on;
    }
    lines.retain(|(_, line)| !line.is_empty());
    lines
}

fn skip_separator(rest: &mut Peekable<Chars>) {
    let skip_blanks = |rest: &mut Peekable<Chars>| while rest.next_if(|c| is_blank(*c)).is_some() {};
    skip_blanks(rest);
    if rest.next_if(|c| matches!(c, '=' | ':')).is_some() {
        skip_blanks(rest);
    }
}

/// Everything up to a character that `ends` without a `\` before it; nothing where an escape is none.
fn unescape(rest: &mut Peekable<Chars>, ends: impl Fn(char) -> bool) -> Option<String> {
    // Java's characters are halves where one of ours does not fit into sixteen bits.
    let mut units: Vec<u16> = Vec::new();
    while let Some(c) = rest.next_if(|c| !ends(*c)) {
        let unit = match c {
            '\\' => match rest.next() {
                Some('t') => u16::from(b'\t'),
                Some('n') => u16::from(b'\n'),
                Some('r') => u16::from(b'\r'),
                Some('f') => 0x0C,
                Some('u') => {
                    let digits: Option<Vec<u32>> = (0..4).map(|_| rest.next()?.to_digit(16)).collect();
                    digits?.into_iter().fold(0, |unit, digit| unit << 4 | digit as u16)
                }
                Some(other) => other as u16,
                None => break,
            },
            // Every byte is one character: none lies above 255.
            other => other as u16,
        };
        units.push(unit);
    }
    Some(String::from_utf16_lossy(&units))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(String, String)> {
        parse(text.as_bytes()).unwrap().into_iter().map(|line| (line.name, line.value)).collect()
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn separators_and_blanks_are_javas() {
        for text in ["a=b", "a:b", "a b", "a = b", "  a\t:\tb", "a  b", "a\x0C=b"] {
            assert_eq!(pairs(text), [pair("a", "b")], "{text:?}");
        }
        assert_eq!(pairs("a"), [pair("a", "")]);
        assert_eq!(pairs("a = = b"), [pair("a", "= b")]);
        assert_eq!(pairs("a=b c "), [pair("a", "b c ")]);
        assert_eq!(pairs("=b"), [pair("", "b")]);
    }

    #[test]
    fn comments_and_empty_lines_are_skipped() {
        assert_eq!(
            pairs("# a=1\n\n  ! b=2\r\nc=3 # not a comment\rd=4"),
            [pair("c", "3 # not a comment"), pair("d", "4")]
        );
    }

    #[test]
    fn a_backslash_joins_lines_and_two_do_not() {
        assert_eq!(pairs("a=one,\\\n   two\nb=x\\\\\nc=y"), [pair("a", "one,two"), pair("b", "x\\"), pair("c", "y")]);
        // What a joined line begins with is no comment, and a comment is not joined.
        assert_eq!(pairs("a=1\\\n#2\n# no\\\nb=3"), [pair("a", "1#2"), pair("b", "3")]);
        assert_eq!(parse(b"\n\na=\\\n1\nb=2").unwrap()[1].number, 5);
    }

    #[test]
    fn escapes_are_javas() {
        assert_eq!(pairs(r"a\=\:\ b = \t\n\u0041\q\u00e9"), [pair("a=: b", "\t\nAq\u{e9}")]);
        assert_eq!(pairs(r"a=\ud83d\ude00"), [pair("a", "\u{1F600}")]);
        assert_eq!(parse(&[b'a', b'=', 0xE9]).unwrap()[0].value, "\u{e9}");
        assert_eq!(parse(b"a=1\nb=\\u00zz").unwrap_err().number, 2);
        assert!(parse(b"b=\\u00").is_err());
    }
}
