//! What is common to all output: for people on a terminal, for machines on standard output.

use std::io::{self, Write as _};

use clap::ValueEnum;
use serde::Serialize;

/// For whom to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Format {
    /// Tables and sentences.
    #[default]
    Text,
    /// One JSON document on standard output; all else goes to standard error.
    Json,
}

/// Prints one JSON document on standard output.
///
/// # Errors
/// Nobody reads it.
pub fn json(document: &impl Serialize) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    serde_json::to_writer_pretty(&mut stdout, document)?;
    writeln!(stdout)?;
    Ok(())
}

/// Prints text for people on standard output.
///
/// # Errors
/// Nobody reads it.
pub fn text(text: &str) -> anyhow::Result<()> {
    writeln!(io::stdout().lock(), "{text}")?;
    Ok(())
}

/// Tells what is going on, on standard error, so that standard output stays the result's.
pub fn note(text: &str) {
    // A closed standard error must not end a measurement.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Tells an event to the program that listens, as one line of JSON; what cannot be JSON is told as text.
///
/// # Errors
/// Nobody listens any more.
pub fn event(event: &impl Serialize) -> io::Result<()> {
    let line = serde_json::to_string(event).unwrap_or_else(|error| error.to_string());
    writeln!(io::stderr().lock(), "{line}")
}

/// Tells why the work failed, cause by cause.
pub fn problem(error: &anyhow::Error) {
    note(&format!("manometer: {error:#}"));
}
