//! The trace that a verb reads: which, and in what format.

use std::io;
use std::path::{Path, PathBuf};

use manometer_trace::transform::span::Span;
use manometer_trace::{Trace, TraceError, TraceForm, open, open_stream};
use serde_json::{Value, json};

use crate::exit_status::ExitStatus;
use crate::output;

/// A trace to read.
#[derive(Debug, clap::Args)]
pub struct Input {
    /// The trace, plain or compressed by gzip, zstd, lz4 or xz; `-` is standard input.
    pub(crate) trace: PathBuf,
    #[command(flatten)]
    pub(crate) form: TraceForm,
}

/// Several traces to read.
#[derive(Debug, clap::Args)]
pub struct Inputs {
    /// The traces, plain or compressed by gzip, zstd, lz4 or xz.
    #[arg(required = true, num_args = 1.., value_name = "TRACE")]
    traces: Vec<PathBuf>,
    #[command(flatten)]
    form: TraceForm,
}

impl Input {
    /// Opens it, and keeps the texts of keys where asked to.
    pub fn open_keeping(&self, key_texts: bool) -> Result<Trace, TraceError> {
        let options = self.form.options(key_texts)?;
        match self.is_stream() {
            true => open_stream(Box::new(io::stdin()), &options),
            false => open(&self.trace, &options),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.trace
    }

    fn is_stream(&self) -> bool {
        self.trace.as_os_str() == "-"
    }

    /// That it can be read twice.
    pub fn need_file(&self, what: &str) -> Result<(), TraceError> {
        match self.is_stream() {
            true => Err(TraceError::Wrong(format!("{what} reads the trace more than once: name a file, not a stream"))),
            false => Ok(()),
        }
    }

    /// Reads it to know its span.
    pub fn span(&self, what: &str) -> Result<Span, TraceError> {
        self.need_file(what)?;
        Span::read(self.open_keeping(false)?.reader.as_mut())
    }

    /// What it is called.
    pub fn name(&self) -> String {
        self.trace.display().to_string()
    }
}

impl Inputs {
    /// Opens them all.
    pub fn open_keeping(&self, key_texts: bool) -> Result<Vec<Trace>, TraceError> {
        let options = self.form.options(key_texts)?;
        self.traces.iter().map(|trace| open(trace, &options)).collect()
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.traces.len()
    }

    /// What one of them is called.
    pub fn name(&self, number: usize) -> String {
        self.traces.get(number).map(|trace| trace.display().to_string()).unwrap_or_default()
    }
}

/// Refuses what cannot be read at all, and fails at what broke.
pub fn refuse(error: &TraceError) -> anyhow::Result<ExitStatus> {
    output::note(&format!("manometer: {error}"));
    Ok(if matches!(error, TraceError::Damaged { .. }) { ExitStatus::Failed } else { ExitStatus::WrongRequest })
}

/// What ended the reading of a trace, for machines; null where nothing did.
pub fn damage(damage: Option<&TraceError>) -> Value {
    let offset = |error: &TraceError| match error {
        TraceError::Damaged { offset, .. } => Some(*offset),
        _ => None,
    };
    damage.map(|error| json!({ "text": error.to_string(), "offset": offset(error) })).into()
}

/// Tells what of a trace cannot be read; all before it was.
pub fn tell_damage(name: &str, requests: u64, error: &TraceError) {
    output::note(&format!("warning: {name}: {error}; the {requests} requests before it were read"));
}
