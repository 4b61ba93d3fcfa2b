//! `manometer lab counts`.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use manometer_cache::tier::WriteMode;
use manometer_cache::tier::workload::{TraceRequests, read_trace};
use manometer_lab::counts::{self, CountsComparison};
use manometer_lab::guest::GuestMachine;
use manometer_lab::{ArrangementChoice, LabError};
use manometer_measure::{ByteSize, Share};
use manometer_trace::{TraceForm, open};
use serde::Serialize;
use serde_json::json;

use super::{GuestArgs, mode_name, mode_named};
use crate::array::refuse;
use crate::exit_status::{ExitStatus, wrong_request};
use crate::output::Format;
use crate::process;
use crate::table::table;

/// The size of requests that have none in the trace.
const OBJECT_BYTES: u64 = 4096;

/// Compare the hits of a real cache of Linux with those of `cache tier`, on a trace of block requests.
///
/// The requests are widened to 4 KiB and cut at the cache's blocks, and replayed one at a time past the page cache. Origin
/// and cache are one device each; the other settings are those of the arrangement.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  manometer lab counts trace.csv --array mine.toml --cache-share 0.05,0.2\n  \
    manometer lab counts trace.csv --array mine.toml --mode write-back,write-through --requests 50000 --format json")]
pub struct Args {
    /// The trace, plain or compressed.
    trace: PathBuf,
    #[command(flatten)]
    form: TraceForm,
    /// Files of arrangements with a cache, as `cache tier` reads them, separated by commas.
    #[arg(long, required = true, value_delimiter = ',', value_name = "FILE")]
    array: Vec<PathBuf>,
    /// Sizes of the cache, as shares of the cache's blocks that the trace touches.
    #[arg(long, value_delimiter = ',', default_value = "0.05,0.1,0.2,0.4,0.8")]
    cache_share: Vec<Share>,
    /// Handling of writes; by default that of the arrangement.
    #[arg(long, value_delimiter = ',', value_parser = mode_named)]
    mode: Vec<WriteMode>,
    /// Replay the first of the trace's requests only.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    requests: Option<u64>,
    #[command(flatten)]
    guest: GuestArgs,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// One size of one arrangement.
#[derive(Debug, Serialize)]
struct Row {
    arrangement: String,
    mode: WriteMode,
    cache_share: f64,
    cache_bytes: u64,
    kernel_release: String,
    #[serde(flatten)]
    counts: CountsComparison,
}

/// Compares the counts.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let mut trace = match args.form.options(false).and_then(|options| open(&args.trace, &options)) {
        Ok(trace) => trace,
        Err(error) => return Ok(wrong_request(error)),
    };
    let mut trace = read_trace(&mut *trace.reader, OBJECT_BYTES)?;
    if let Some(damage) = trace.damage {
        return Ok(wrong_request(damage));
    }
    trace.requests.truncate(args.requests.map_or(usize::MAX, |requests| requests as usize));
    let rows = args.guest.machine(&std::env::temp_dir()).and_then(|machine| {
        let interrupted = process::interruption().map_err(|error| LabError::Guest(error.to_string()))?;
        choices(args).iter().map(|choice| row(&machine, choice, &trace, &interrupted)).collect::<Result<Vec<_>, _>>()
    });
    match rows {
        Ok(rows) => {
            args.format.print(|| json!({ "counts": rows }), || text(&rows))?;
            Ok(ExitStatus::Done)
        }
        Err(error) => refuse(error),
    }
}

/// An arrangement, how it handles writes, and the share of the touched storage that its cache holds.
struct Choice {
    arrangement: ArrangementChoice,
    cache_share: f64,
}

/// Each arrangement in each mode at each size.
fn choices(args: &Args) -> Vec<Choice> {
    let mut modes: Vec<Option<WriteMode>> = args.mode.iter().copied().map(Some).collect();
    if modes.is_empty() {
        modes.push(None);
    }
    let mut choices = Vec::new();
    for file in &args.array {
        for mode in &modes {
            let arrangement = ArrangementChoice { file: file.clone(), sizes: None, mode: *mode };
            let choice = |share: &Share| Choice { arrangement: arrangement.clone(), cache_share: share.0 };
            choices.extend(args.cache_share.iter().map(choice));
        }
    }
    choices
}

fn row(
    machine: &GuestMachine,
    choice: &Choice,
    trace: &TraceRequests,
    interrupted: &AtomicBool,
) -> Result<Row, LabError> {
    let file = std::path::absolute(&choice.arrangement.file).map_err(|error| LabError::Refused(error.to_string()))?;
    let arrangement = ArrangementChoice { file, ..choice.arrangement.clone() };
    let (arrangement, requests) = counts::prepare(&arrangement, trace, choice.cache_share)?;
    let (kernel_release, counts) = counts::measure(machine, &arrangement, &requests, interrupted)?;
    let mode = arrangement.load()?.cache.map(|cache| cache.mode);
    let name = arrangement.file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let cache_bytes = arrangement.sizes.map_or(0, |(_, cache)| cache);
    let cache_share = choice.cache_share;
    Ok(Row { arrangement: name, mode: mode.unwrap_or_default(), cache_share, cache_bytes, kernel_release, counts })
}

fn text(rows: &[Row]) -> String {
    let head = [
        "arrangement",
        "mode",
        "cache MiB",
        "counted",
        "kernel hits",
        "tier error",
        "policy error",
        "bypassed",
        "promotions",
    ];
    let mut lines = table(&head, 2);
    for row in rows {
        let counts = &row.counts;
        let share = |hits: f64| format!("{:.2} %", 100.0 * hits / counts.counted.max(1) as f64);
        let points = |error: f64| format!("{:+.2}", 100.0 * error);
        let hits = counts.kernel.read_hits + counts.kernel.write_hits.unwrap_or(0);
        let count = |count: Option<u64>| count.map_or("–".to_owned(), |count| count.to_string());
        lines.add_row([
            row.arrangement.clone(),
            mode_name(row.mode).to_owned(),
            format!("{:.1}", ByteSize(row.cache_bytes).mib()),
            counts.counted.to_string(),
            share(hits as f64),
            points(counts.tier_error),
            points(counts.policy_error),
            count(counts.kernel.bypassed_reads),
            count(counts.kernel.promotions),
        ]);
    }
    let release = rows.first().map_or("", |row| row.kernel_release.as_str());
    format!(
        "{}\n\nThe kernel is Linux {release} in a guest; one run each. Errors are the simulation's hits less the kernel's, in \
         points of the counted requests, which of bcache are the reads. The simulation gets the times at which the guest's \
         requests ended, and devices that take next to no time. Of dm-cache another run differs by points, as promotion \
         depends on these times: repeat it before you compare rows.",
        lines.trim_fmt()
    )
}
