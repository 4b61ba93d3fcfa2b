//! `manometer trace head`: the first requests, as parsed.

use manometer_trace::{KeyTable, Record, read_first};
use serde_json::{Value, json};

use super::input::{self, Input};
use crate::exit_status::ExitStatus;
use crate::output::Format;
use crate::table::table;

/// Print the first requests of a trace, as parsed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  manometer trace head OLTP.lis.zst --requests 20")]
pub struct Args {
    #[command(flatten)]
    input: Input,
    /// Number of requests.
    #[arg(long, short = 'n', default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    requests: u64,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Reads only what it prints.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let mut trace = match args.input.open_keeping(true) {
        Ok(trace) => trace,
        Err(error) => return input::refuse(&error),
    };
    let (records, damage) = read_first(trace.reader.as_mut(), args.requests as usize);
    let keys = trace.reader.keys();
    let rows = || records.iter().map(|record| row(record, keys)).collect::<Vec<Value>>();
    let document = || json!({ "format": trace.format.name, "requests": rows() });
    args.format.print(document, || lines(&records, keys))?;
    Ok(match damage {
        None => ExitStatus::Done,
        Some(error) => {
            input::warn_of_damage(&args.input.name(), records.len() as u64, &error);
            ExitStatus::Failed
        }
    })
}

fn text(record: &Record, keys: Option<&KeyTable>) -> Option<String> {
    keys?.text(record.key).map(|text| text.escape_ascii().to_string())
}

fn row(record: &Record, keys: Option<&KeyTable>) -> Value {
    json!({
        "time_ns": record.time_ns,
        "operation": record.operation.name(),
        "key": record.key,
        "key_text": text(record, keys),
        "key_size": record.key_size,
        "value_size": record.value_size,
        "client": record.client,
        "ttl_s": record.ttl_s,
        "offset": record.offset,
        "device": record.device,
        "succeeded": record.succeeded,
    })
}

fn lines(records: &[Record], keys: Option<&KeyTable>) -> String {
    let head = ["operation", "key", "time s", "offset", "key B", "value B", "client", "ttl s", "device", "succeeded"];
    let mut table = table(&head, 2);
    for record in records {
        let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
        table.add_row([
            record.operation.name().to_owned(),
            text(record, keys).unwrap_or_else(|| record.key.to_string()),
            record.time_ns.map(seconds).unwrap_or_default(),
            number(record.offset),
            number(record.key_size.map(u64::from)),
            number(record.value_size),
            number(record.client),
            number(record.ttl_s.map(u64::from)),
            record.device.to_string(),
            record.succeeded.map(|succeeded| if succeeded { "yes" } else { "no" }).unwrap_or_default().to_owned(),
        ]);
    }
    table.to_string()
}

fn seconds(time_ns: u64) -> String {
    format!("{}.{:09}", time_ns / 1_000_000_000, time_ns % 1_000_000_000)
}
