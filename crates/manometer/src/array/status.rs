//! `manometer array status`.

use std::path::PathBuf;

use manometer_lab::array::{self, ArrayCounters, BuiltArray, CacheKind};
use manometer_measure::ByteSize;
use manometer_measure::host::CacheCounters;
use serde_json::json;

use super::refuse;
use crate::exit_status::ExitStatus;
use crate::output::{self, Format};
use crate::table::table;

/// Show the arrays, what their caches hit and miss, and what each device reads and writes.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  manometer array status\n  manometer array status small --format json")]
pub struct Args {
    /// Name of an array; by default all.
    name: Option<String>,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Prints the arrays.
pub fn run(args: &Args) -> anyhow::Result<ExitStatus> {
    let names = args.name.clone().map_or_else(array::names, |name| vec![name]);
    let mut arrays = Vec::new();
    let mut end = ExitStatus::Done;
    for name in names {
        match array::status(&name) {
            Ok(status) => arrays.push(status),
            Err(error) if args.name.is_some() => return refuse(error),
            Err(error) => {
                output::error(error);
                end = ExitStatus::Failed;
            }
        }
    }
    let one = |(built, counters): &(BuiltArray, ArrayCounters)| json!({ "array": built, "counters": counters });
    args.format.print(|| json!({ "arrays": arrays.iter().map(one).collect::<Vec<_>>() }), || text(&arrays))?;
    Ok(end)
}

fn text(arrays: &[(BuiltArray, ArrayCounters)]) -> String {
    if arrays.is_empty() {
        return "There are no arrays: `manometer array create` builds one.".to_owned();
    }
    arrays.iter().map(|(built, counters)| array_text(built, counters)).collect::<Vec<_>>().join("\n\n")
}

fn array_text(built: &BuiltArray, counters: &ArrayCounters) -> String {
    let place = |path: &Option<PathBuf>| path.as_deref().map(|path| path.display().to_string());
    let device = place(&built.device).unwrap_or_else(|| "not complete".to_owned());
    let mounted = place(&built.mounted_at).filter(|_| built.device.is_some());
    let mounted = mounted.map(|point| format!(", mounted at {point}")).unwrap_or_default();
    format!("{}: {device}{mounted}\n{}", built.name, counters_text(counters, built.cache))
}

/// What the cache and the devices counted.
pub(super) fn counters_text(counters: &ArrayCounters, kind: Option<CacheKind>) -> String {
    let cache = counters.cache.map_or_else(String::new, |cache| cache_text(&cache, kind));
    let mut rows = table(&["device", "reads", "read MiB", "writes", "written MiB"], 1);
    for device in &counters.devices {
        let mib = |bytes: u64| format!("{:.1}", ByteSize(bytes).mib());
        rows.add_row([
            device.place.clone(),
            device.reads.to_string(),
            mib(device.read_bytes),
            device.writes.to_string(),
            mib(device.written_bytes),
        ]);
    }
    cache + &rows.trim_fmt()
}

fn cache_text(cache: &CacheCounters, kind: Option<CacheKind>) -> String {
    let mut parts = vec![format!("reads: {} hits, {} misses", cache.read_hits, cache.read_misses)];
    if let (Some(hits), Some(misses)) = (cache.write_hits, cache.write_misses) {
        parts.push(format!("writes: {hits} hits, {misses} misses"));
    }
    if let Some(bypassed) = cache.bypassed_reads {
        parts.push(format!("{bypassed} reads bypassed the cache"));
    }
    if let (Some(promotions), Some(demotions)) = (cache.promotions, cache.demotions) {
        parts.push(format!("{promotions} promotions, {demotions} demotions"));
    }
    parts.push(format!("dirty: {:.1} MiB", ByteSize(cache.dirty_bytes).mib()));
    let resolution = match kind {
        Some(CacheKind::Bcache) => " (bcache brings its counts up to date every 13.6 s, and does not count writes)",
        _ => "",
    };
    format!("{}{resolution}\n", parts.join("; "))
}
