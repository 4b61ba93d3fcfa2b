//! The trace that a verb writes, and the message about it.

use std::path::PathBuf;

use manometer_trace::write::{self, WriteSummary, write_trace};
use manometer_trace::{TraceError, TraceReader};
use serde_json::{Map, Number, Value, json};

use crate::exit_status::ExitStatus;
use crate::output::{self, Format};

/// A trace to write.
#[derive(Debug, clap::Args)]
pub struct Output {
    /// File of the new trace; it must be new.
    pub out: PathBuf,
    #[command(flatten)]
    pub form: OutputForm,
}

/// The format of the new trace and of the message.
#[derive(Debug, Clone, clap::Args)]
pub struct OutputForm {
    /// The format of the new trace.
    #[arg(long, value_name = "FORMAT", help = output_format_help())]
    output_format: Option<String>,
    /// Write ids of keys instead of their texts, which take memory, and no recorded commands and bounds of scans.
    #[arg(long)]
    no_key_texts: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

fn output_format_help() -> String {
    format!("One of {}; by default from the name of the new file", write::names())
}

impl OutputForm {
    /// Whether the texts of keys are kept.
    pub fn keeps_keys(&self) -> bool {
        !self.no_key_texts
    }
}

impl Output {
    /// Writes the requests of the reader, up to damage.
    pub fn write(&self, reader: &mut dyn TraceReader) -> Result<WriteSummary, TraceError> {
        write_trace(reader, &self.out, self.form.output_format.as_deref())
    }

    /// Prints the counts with the additional facts of the verb.
    pub fn print(&self, input: &str, written: &WriteSummary, more: Value) -> anyhow::Result<ExitStatus> {
        let WriteSummary { requests, format: to, losses, dropped, damage } = written;
        for (what, count) in &dropped.0 {
            output::note(&format!("note: the new trace lacks this field of {count} requests: {what}"));
        }
        for (what, count) in &losses.0 {
            output::note(&format!("note: {to} cannot hold this field of {count} requests: {what}"));
        }
        self.form.format.print(
            || self.document(written, &more),
            || format!("{}: {requests} requests, {to}{}", self.out.display(), facts_text(&more)),
        )?;
        Ok(match damage {
            None => ExitStatus::Done,
            Some(error) => {
                output::note(&format!("warning: {input}: {error}; only what came before was read"));
                ExitStatus::Failed
            }
        })
    }

    fn document(&self, written: &WriteSummary, more: &Value) -> Value {
        let mut fields = Map::new();
        fields.insert("requests".to_owned(), json!(written.requests));
        if let Value::Object(more) = more {
            fields.extend(more.clone());
        }
        fields.insert("to".to_owned(), json!(written.format));
        fields.insert("file".to_owned(), json!(self.out));
        fields.insert("losses".to_owned(), json!(written.losses.0));
        fields.insert("dropped".to_owned(), json!(written.dropped.0));
        Value::Object(fields)
    }
}

/// The additional facts of a verb as text: its numbers and strings.
fn facts_text(more: &Value) -> String {
    let one = |(name, value): (&String, &Value)| match value {
        Value::Number(number) => Some(format!(", {} {}", name.replace('_', " "), rounded(number))),
        Value::String(text) => Some(format!(", {name} {text}")),
        _ => None,
    };
    more.as_object().into_iter().flatten().filter_map(one).collect()
}

/// A whole number, or six digits of any other.
fn rounded(number: &Number) -> String {
    let six =
        number.as_f64().filter(|_| number.is_f64()).and_then(|number| format!("{number:.5e}").parse::<f64>().ok());
    six.map_or_else(|| number.to_string(), |six| six.to_string())
}
