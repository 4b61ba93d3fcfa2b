//! `manometer rlsm dump`: the content of a database.

use std::path::PathBuf;

use rlsm::{Database, Iter, Layout, Options, RunInfo};
use serde_json::{Value, json};

use super::bytes::{EscapedBytes, escape};
use super::refuse;
use crate::exit_status::ExitStatus;
use crate::output::{self, Format};
use crate::table::table;

/// Print the keys and values of a database in order, or its runs.
///
/// Bytes that are not printable ASCII are written as \xNN, here and in flags. No file is changed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  manometer rlsm dump manometer-data/kv/db --prefix user1 --limit 10\n  \
    manometer rlsm dump manometer-data/kv/db --runs")]
pub struct Args {
    /// Directory of the database; no other process may have it open.
    dir: PathBuf,
    /// First key.
    #[arg(long, value_name = "KEY")]
    from: Option<EscapedBytes>,
    /// Key after the last one.
    #[arg(long, value_name = "KEY")]
    to: Option<EscapedBytes>,
    /// Only keys with this prefix.
    #[arg(long, value_name = "KEY", conflicts_with_all = ["from", "to"])]
    prefix: Option<EscapedBytes>,
    /// Maximum number of keys.
    #[arg(long, value_name = "KEYS")]
    limit: Option<usize>,
    /// Omit the values.
    #[arg(long)]
    keys_only: bool,
    /// Print the runs by level and range instead.
    #[arg(long, conflicts_with_all = ["from", "to", "prefix", "limit", "keys_only"])]
    runs: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Reads the entries or the runs, and prints them.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let database = match Options::new().open_read_only(&args.dir) {
        Ok(database) => database,
        Err(error) => return Ok(refuse(&error)),
    };
    if args.runs {
        print_runs(&database.layout(), args.format)?;
    } else {
        print_entries(args, entries(args, &database)?.take(args.limit.unwrap_or(usize::MAX)))?;
    }
    Ok(ExitStatus::Done)
}

fn entries(args: &Args, database: &Database) -> rlsm::Result<Iter> {
    use std::ops::Bound::{Excluded, Included, Unbounded};
    if let Some(prefix) = &args.prefix {
        return database.prefix(&prefix.0);
    }
    let low = args.from.as_ref().map_or(Unbounded, |key| Included(key.0.as_slice()));
    let high = args.to.as_ref().map_or(Unbounded, |key| Excluded(key.0.as_slice()));
    database.range((low, high))
}

/// Prints entries one by one, so that a large database needs no more memory.
fn print_entries(args: &Args, entries: impl Iterator<Item = rlsm::Result<rlsm::KvPair>>) -> anyhow::Result<()> {
    if args.format == Format::Json {
        output::print_text("{\"entries\": [")?;
    }
    let mut comma = "";
    for entry in entries {
        let (key, value) = entry?;
        let (key, value) = (escape(&key), escape(&value));
        match (args.format, args.keys_only) {
            (Format::Text, true) => output::print_text(&key)?,
            (Format::Text, false) => output::print_text(&format!("{key} => {value}"))?,
            (Format::Json, true) => output::print_text(&format!("{comma}{}", json!({"key": key})))?,
            (Format::Json, false) => output::print_text(&format!("{comma}{}", json!({"key": key, "value": value})))?,
        }
        comma = ",";
    }
    if args.format == Format::Json {
        output::print_text("]}")?;
    }
    Ok(())
}

fn print_runs(layout: &Layout, format: Format) -> anyhow::Result<()> {
    format.print(|| document(layout), || text(layout))
}

fn document(layout: &Layout) -> Value {
    let runs = |runs: &[RunInfo]| runs.iter().map(run_document).collect::<Vec<_>>();
    let ranges = layout.ranges.iter().map(
        |range| json!({"lowest_key": escape(&range.low), "highest_key": escape(&range.high), "runs": runs(&range.runs)}),
    );
    json!({"level0": runs(&layout.level0), "ranges": ranges.collect::<Vec<_>>()})
}

fn run_document(run: &RunInfo) -> Value {
    json!({
        "file": run.file,
        "footer_offset": run.footer_offset,
        "entries": run.entries,
        "deletes": run.deletes,
        "range_deletes": run.range_tombstones,
        "user_bytes": run.user_bytes,
        "stored_bytes": run.stored_bytes,
        "lowest_key": escape(&run.low),
        "highest_key": escape(&run.high),
        "sequences": run.sequences,
    })
}

fn text(layout: &Layout) -> String {
    let mut rows =
        table(&["where", "file", "lowest key", "highest key", "footer at", "entries", "deletes", "bytes"], 4);
    let mut add = |place: String, run: &RunInfo| {
        let numbers = [run.footer_offset, run.entries, run.deletes + run.range_tombstones, run.stored_bytes];
        let head = [place, run.file.clone(), escape(&run.low), escape(&run.high)];
        rows.add_row(head.into_iter().chain(numbers.map(|number| number.to_string())));
    };
    layout.level0.iter().for_each(|run| add("level 0".to_owned(), run));
    for (number, range) in (1..).zip(&layout.ranges) {
        range.runs.iter().for_each(|run| add(format!("range {number}"), run));
    }
    rows.to_string()
}
