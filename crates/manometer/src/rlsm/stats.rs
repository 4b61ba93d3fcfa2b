//! `manometer rlsm stats`: the shape and size of a database.

use std::path::PathBuf;

use manometer_measure::human::bytes;
use rlsm::{Options, Stats};
use serde_json::{Value, json};

use super::refuse;
use crate::exit_status::ExitStatus;
use crate::number::number;
use crate::output::Format;
use crate::table::table;

/// Print levels, ranges, runs, space and memory of a database.
///
/// The numbers are those after an opening: logs count as flushed. What a running program wrote is in its own recording.
/// No file is changed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  manometer rlsm stats manometer-data/kv/db --format json")]
pub struct Args {
    /// Directory of the database; no other process may have it open.
    dir: PathBuf,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Opens the database and prints its statistics.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let opened = Options::new().open_read_only(&args.dir);
    let stats = match opened.and_then(|database| database.stats()) {
        Ok(stats) => stats,
        Err(error) => return Ok(refuse(&error)),
    };
    args.format.print(|| document(&stats), || text(&stats))?;
    Ok(ExitStatus::Done)
}

fn document(stats: &Stats) -> Value {
    json!({
        "level0_runs": stats.level0_runs,
        "level0_bytes": stats.level0_bytes,
        "level0_entries": stats.level0_entries,
        "ranges": stats.ranges,
        "level1_runs": stats.level1_runs,
        "range_runs_mean": stats.range_runs_mean(),
        "range_runs_max": stats.range_runs_max,
        "level1_bytes": stats.level1_bytes,
        "level1_entries": stats.level1_entries,
        "superseded_entries": stats.superseded_entries,
        "sorted_entries": stats.sorted_entries,
        "entry_bytes": stats.entry_bytes,
        "space_bytes": stats.space_bytes,
        "data_files": stats.data_files,
        "index_bytes": stats.index_bytes,
        "index_bytes_per_entry": stats.index_bytes_per_entry(),
    })
}

fn text(stats: &Stats) -> String {
    let count = |value: u64| if value < 100 { value.to_string() } else { number(value as f64) };
    let mean = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), number);
    let mut rows = table(&["", "level 0", "level 1"], 1);
    rows.add_row(["runs".to_owned(), count(stats.level0_runs), count(stats.level1_runs)]);
    rows.add_row(["entries".to_owned(), count(stats.level0_entries), count(stats.level1_entries)]);
    rows.add_row(["on the device".to_owned(), bytes(stats.level0_bytes), bytes(stats.level1_bytes)]);
    let (ranges, runs, most) = (count(stats.ranges), mean(stats.range_runs_mean()), count(stats.range_runs_max));
    let (space, files) = (bytes(stats.space_bytes), count(stats.data_files));
    let (index, each) = (bytes(stats.index_bytes), mean(stats.index_bytes_per_entry()));
    format!(
        "{rows}\n\n{ranges} ranges with {runs} runs on average, {most} at most\n\
        {space} in all on the device, {files} data files, for {} of keys and values\n\
        about {} entries are superseded by newer ones, {} lie in the order of keys\n\
        {index} of tables and fences in memory, {each} B an entry",
        bytes(stats.entry_bytes),
        count(stats.superseded_entries),
        count(stats.sorted_entries),
    )
}
