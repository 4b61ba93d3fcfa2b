//! The trace that a verb writes, and what it tells of it.

use std::path::PathBuf;

use manometer_trace::write::{Losses, OutputFormat, copy, create};
use manometer_trace::{TraceError, TraceReader};
use serde_json::{Map, Number, Value, json};

use crate::exit_status::ExitStatus;
use crate::output::{self, Format};

/// A trace to write.
#[derive(Debug, clap::Args)]
pub struct Output {
    /// The new trace; made, and never replaced.
    pub out: PathBuf,
    #[command(flatten)]
    pub form: OutputForm,
}

/// How to write it, and how to tell.
#[derive(Debug, clap::Args)]
pub struct OutputForm {
    /// parquet, oracle-general, kv-replay, csv or fio-iolog, where the name of the new file does not say it.
    #[arg(long, value_name = "FORMAT")]
    output_format: Option<String>,
    /// Do not keep the texts of keys, which take memory: write their ids.
    #[arg(long)]
    no_key_texts: bool,
    /// For people or for machines.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// What was written.
pub struct Written {
    requests: u64,
    format: &'static str,
    losses: Losses,
    /// What ended the trace that was read.
    pub damage: Option<TraceError>,
}

impl OutputForm {
    /// Whether the texts of keys are to be kept.
    pub fn keeps_keys(&self) -> bool {
        !self.no_key_texts
    }
}

impl Output {
    /// Writes what the reader gives, up to where its trace is damaged. Half a trace in a format that cannot hold it, or
    /// of a request that was wrong, does not stay.
    pub fn write(&self, reader: &mut dyn TraceReader) -> Result<Written, TraceError> {
        let output_format = match &self.form.output_format {
            Some(name) => OutputFormat::find(name)?,
            None => OutputFormat::of_path(&self.out)?,
        };
        let mut writer = create(&self.out, output_format)?;
        let written = copy(reader, writer.as_mut()).and_then(|(requests, damage)| {
            let losses = writer.finish()?;
            Ok(Written { requests, format: output_format.name, losses, damage })
        });
        if written.is_err() {
            let _ = std::fs::remove_file(&self.out);
        }
        written
    }

    /// Tells what was written, with what a verb has to say beyond that.
    pub fn tell(&self, input: &str, written: &Written, more: Value) -> anyhow::Result<ExitStatus> {
        let Written { requests, format: to, losses, damage } = written;
        for (what, count) in &losses.0 {
            output::note(&format!("note: {to} does not hold this of {count} requests: {what}"));
        }
        self.form.format.print(
            || self.document(written, &more),
            || format!("{}: {requests} requests, {to}{}", self.out.display(), said(&more)),
        )?;
        Ok(match damage {
            None => ExitStatus::Done,
            Some(error) => {
                output::note(&format!("warning: {input}: {error}; only what came before was read"));
                ExitStatus::Failed
            }
        })
    }

    fn document(&self, written: &Written, more: &Value) -> Value {
        let mut fields = Map::new();
        fields.insert("requests".to_owned(), json!(written.requests));
        if let Value::Object(more) = more {
            fields.extend(more.clone());
        }
        fields.insert("to".to_owned(), json!(written.format));
        fields.insert("file".to_owned(), json!(self.out));
        fields.insert("losses".to_owned(), json!(written.losses.0));
        Value::Object(fields)
    }
}

/// What a verb has to say beyond the file, for people: its numbers and words.
fn said(more: &Value) -> String {
    let one = |(name, value): (&String, &Value)| match value {
        Value::Number(number) => Some(format!(", {} {}", name.replace('_', " "), rounded(number))),
        Value::String(text) => Some(format!(", {name} {text}")),
        _ => None,
    };
    more.as_object().into_iter().flatten().filter_map(one).collect()
}

/// A whole number, or six digits of another one.
fn rounded(number: &Number) -> String {
    let six =
        number.as_f64().filter(|_| number.is_f64()).and_then(|number| format!("{number:.5e}").parse::<f64>().ok());
    six.map_or_else(|| number.to_string(), |six| six.to_string())
}
