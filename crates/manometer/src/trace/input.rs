//! The trace that a verb reads.

use std::io;
use std::path::{Path, PathBuf};

use manometer_trace::transform::span::TraceSpan;
use manometer_trace::{ReadOptions, Trace, TraceError, TraceForm, open, open_parts, open_stream};
use serde_json::{Value, json};

use crate::exit_status::ExitStatus;
use crate::output;

/// A trace to read.
#[derive(Debug, clap::Args)]
pub struct Input {
    /// Trace, plain or compressed by gzip, zstd, lz4 or xz; `-` is standard input.
    pub(crate) trace: PathBuf,
    #[command(flatten)]
    pub(crate) form: TraceForm,
}

/// A trace to read, in one file or in several.
#[derive(Debug, clap::Args)]
pub struct Parts {
    /// Trace, plain or compressed by gzip, zstd, lz4 or xz; `-` is standard input. Several files are read as one trace, in
    /// this order.
    #[arg(required = true, num_args = 1.., value_name = "TRACE")]
    traces: Vec<PathBuf>,
    #[command(flatten)]
    form: TraceForm,
    /// The trace's name in the output; by default that of its first file.
    #[arg(long)]
    name: Option<String>,
}

/// Several traces to read.
#[derive(Debug, clap::Args)]
pub struct Inputs {
    /// Traces, plain or compressed by gzip, zstd, lz4 or xz.
    #[arg(required = true, num_args = 1.., value_name = "TRACE")]
    traces: Vec<PathBuf>,
    #[command(flatten)]
    form: TraceForm,
}

impl Input {
    /// Opens the trace; with `key_texts` the texts of keys are kept.
    pub fn open_keeping(&self, key_texts: bool) -> Result<Trace, TraceError> {
        self.open(&self.form.options(key_texts)?)
    }

    /// Opens the trace; with `key_texts` the texts of keys are kept, and what it records beyond records.
    pub fn open_with_details(&self, key_texts: bool) -> Result<Trace, TraceError> {
        self.open(&ReadOptions { keep_details: key_texts, ..self.form.options(key_texts)? })
    }

    /// Opens the trace without the texts of its keys; with `details` what it records beyond records is kept.
    pub fn open_for_details(&self, details: bool) -> Result<Trace, TraceError> {
        self.open(&ReadOptions { keep_details: details, ..self.form.options(false)? })
    }

    fn open(&self, options: &ReadOptions) -> Result<Trace, TraceError> {
        match self.is_stream() {
            true => open_stream(Box::new(io::stdin()), options),
            false => open(&self.trace, options),
        }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.trace
    }

    fn is_stream(&self) -> bool {
        self.trace.as_os_str() == "-"
    }

    /// Refuses a stream, which cannot be read twice.
    pub fn need_file(&self, what: &str) -> Result<(), TraceError> {
        match self.is_stream() {
            true => Err(TraceError::Wrong(format!("{what} reads the trace more than once: name a file, not a stream"))),
            false => Ok(()),
        }
    }

    /// Reads the trace for its span.
    pub fn span(&self, what: &str) -> Result<TraceSpan, TraceError> {
        self.need_file(what)?;
        TraceSpan::read(self.open_keeping(false)?.reader.as_mut())
    }

    /// Its name.
    pub fn name(&self) -> String {
        self.trace.display().to_string()
    }
}

impl Parts {
    /// Opens the trace; with `key_texts` the texts of keys are kept.
    pub fn open(&self, key_texts: bool) -> Result<Trace, TraceError> {
        let options = self.form.options(key_texts)?;
        match &self.traces[..] {
            [only] if only.as_os_str() == "-" => open_stream(Box::new(io::stdin()), &options),
            all => open_parts(all, &options),
        }
    }

    /// Its name: the given one, or that of its first file and how many others there are.
    pub fn name(&self) -> String {
        if let Some(name) = &self.name {
            return name.clone();
        }
        let first = self.traces[0].display();
        match self.traces.len() - 1 {
            0 => first.to_string(),
            more => format!("{first} and {more} more"),
        }
    }
}

impl Inputs {
    /// Opens all of them; with `key_texts` the texts of keys are kept, and what they record beyond records.
    pub fn open_with_details(&self, key_texts: bool) -> Result<Vec<Trace>, TraceError> {
        let options = ReadOptions { keep_details: key_texts, ..self.form.options(key_texts)? };
        self.traces.iter().map(|trace| open(trace, &options)).collect()
    }

    /// Their number.
    pub fn len(&self) -> usize {
        self.traces.len()
    }

    /// The name of one of them.
    pub fn name(&self, number: usize) -> String {
        self.traces.get(number).map(|trace| trace.display().to_string()).unwrap_or_default()
    }
}

/// Prints why a trace cannot be read; a damaged trace is a failure, anything else a wrong request.
pub fn refuse(error: &TraceError) -> anyhow::Result<ExitStatus> {
    output::error(error);
    Ok(if matches!(error, TraceError::Damaged { .. }) { ExitStatus::Failed } else { ExitStatus::WrongRequest })
}

/// The damage of a trace as JSON; null if it is intact.
pub fn damage(damage: Option<&TraceError>) -> Value {
    let offset = |error: &TraceError| match error {
        TraceError::Damaged { offset, .. } => Some(*offset),
        _ => None,
    };
    damage.map(|error| json!({ "text": error.to_string(), "offset": offset(error) })).into()
}

/// Prints that a trace is damaged after `requests` requests.
pub fn warn_of_damage(name: &str, requests: u64, error: &TraceError) {
    output::note(&format!("warning: {name}: {error}; the {requests} requests before it were read"));
}
