//! Output: the result on standard output, as text or as one JSON document; everything else on standard error.

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
    /// Standard output is closed.
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
/// Standard output is closed.
pub fn print_json(document: &impl Serialize) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    serde_json::to_writer_pretty(&mut stdout, document)?;
    writeln!(stdout)?;
    Ok(())
}

/// Prints text on standard output.
///
/// # Errors
/// Standard output is closed.
pub fn print_text(text: &str) -> anyhow::Result<()> {
    writeln!(io::stdout().lock(), "{text}")?;
    Ok(())
}

/// Prints a message on standard error.
pub fn note(text: &str) {
    // A closed standard error must not end a measurement.
    let _ = writeln!(io::stderr().lock(), "{text}");
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
    note(&format!("manometer: {error:#}"));
}
