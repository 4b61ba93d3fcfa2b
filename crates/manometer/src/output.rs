//! Output: the result on standard output, as text or as one JSON document; everything else on standard error.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, Write as _};

use clap::ValueEnum;
use serde::Serialize;

/// The output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Format {
    /// Tables and sentences.
    #[default]
    Text,
    /// One JSON document on standard output; everything else goes to standard error.
    Json,
}

impl Format {
    /// Prints a result in this format.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub fn print<D: Serialize>(
        self,
        document: impl FnOnce() -> D,
        text: impl FnOnce() -> String,
    ) -> anyhow::Result<()> {
        match self {
            Self::Json => print_json(&document()),
            Self::Text => print_text(&text()),
        }
    }
}

/// Prints one JSON document on standard output.
///
/// # Errors
/// Standard output cannot be written.
pub fn print_json(document: &impl Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(document)?;
    // Only texts in it hold such characters.
    let escaped = |letter| format!("\\u{:04x}", u32::from(letter));
    print_bytes(format!("{}\n", without_commands(&text, escaped)).as_bytes())
}

/// Prints text on standard output.
///
/// # Errors
/// Standard output cannot be written.
pub fn print_text(text: &str) -> anyhow::Result<()> {
    print_bytes(format!("{}\n", printable(text)).as_bytes())
}

/// Prints bytes on standard output. A reader that has closed it, as `head` does, has read enough: the verb ends with the
/// status of its work.
///
/// # Errors
/// Standard output cannot be written.
pub fn print_bytes(bytes: &[u8]) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(anyhow::Error::new(error).context("standard output"))
        }
        _ => Ok(()),
    }
}

/// Prints a message on standard error.
pub fn note(text: &str) {
    // A closed standard error must not end a measurement.
    let _ = writeln!(io::stderr().lock(), "{}", printable(text));
}

/// `text` with the characters visible that command a terminal or reverse its lines: names in recordings, traces and answers of
/// servers are anybody's.
pub fn printable(text: &str) -> Cow<'_, str> {
    without_commands(text, |letter| letter.escape_unicode().to_string())
}

/// `text` with each character that commands a terminal `escaped`.
fn without_commands(text: &str, escaped: impl Fn(char) -> String) -> Cow<'_, str> {
    let commands = |letter: char| {
        letter.is_control() && !matches!(letter, '\n' | '\t')
            || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(commands) {
        return Cow::Borrowed(text);
    }
    let visible = |letter: char| if commands(letter) { escaped(letter) } else { letter.to_string() };
    Cow::Owned(text.chars().map(visible).collect())
}

/// Prints an event as one line of JSON on standard error.
///
/// # Errors
/// Standard error is closed.
pub fn event(event: &impl Serialize) -> io::Result<()> {
    let line = serde_json::to_string(event).unwrap_or_else(|error| error.to_string());
    writeln!(io::stderr().lock(), "{line}")
}

/// Prints an error on standard error, with its causes.
pub fn error(error: impl Display) {
    note(&format!("manometer: {}", said_once(format!("{error:#}"))));
}

/// `text`, an error and its causes joined by colons, without the causes that it says already: most errors name their
/// cause in their own text.
fn said_once(mut text: String) -> String {
    while let Some((at, _)) = text.match_indices(": ").find(|(at, _)| text[..*at].contains(&text[*at + 2..])) {
        text.truncate(at);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_commands_the_terminal() {
        assert_eq!(printable("a\tb\nc µs — é"), "a\tb\nc µs — é");
        assert_eq!(printable("a\u{1b}]0;owned\u{7}\r"), "a\\u{1b}]0;owned\\u{7}\\u{d}");
        assert_eq!(printable("\u{9b}31m \u{202e}cod"), "\\u{9b}31m \\u{202e}cod");
    }

    #[test]
    fn a_cause_is_said_once() {
        for (all, once) in [
            ("a: not found: not found", "a: not found"),
            ("a: not found; name a file: not found", "a: not found; name a file"),
            ("run: a: denied: a: denied: denied", "run: a: denied"),
            ("removing: a: denied", "removing: a: denied"),
            ("nothing more", "nothing more"),
        ] {
            assert_eq!(said_once(all.to_owned()), once);
        }
    }
}
