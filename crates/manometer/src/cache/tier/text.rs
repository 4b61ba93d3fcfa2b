//! The results as text.

use manometer_cache::tier::workload::TraceRequests;
use manometer_cache::tier::{FlowBytes, Flows, TierResult};
use manometer_measure::human::bytes;

use super::simulation::Done;
use super::{By, Compared};
use crate::number::number;
use crate::table::table;

/// For people.
pub(super) fn text(done: &[Done]) -> String {
    let mut lines = vec![speeds(done)];
    if done.iter().any(|done| done.work.arrangement.cache.is_some()) {
        lines.push(flows(done));
    }
    for Done { work, compared, .. } in done {
        let Some(Compared { equal, by, count }) = compared else { continue };
        let (name, workload, device) = (&work.arrangement.name, &work.workload, &work.arrangement.origin.device);
        let fast = match by {
            By::Throughput => "as fast",
            By::Latency => "as fast to answer",
        };
        lines.push(match count {
            Some(count) => format!("{name}, {workload}: {fast} are {count} × {device} without a cache"),
            None => format!("{name}, {workload}: {} × {device} without a cache are not {fast}", equal.count_max),
        });
    }
    lines.join("\n")
}

fn speeds(done: &[Done]) -> String {
    let head =
        ["arrangement", "workload", "MB/s", "requests/s", "mean", "p99", "in RAM", "on SSD", "origin busy", "SSD busy"];
    let mut table = table(&head, 2);
    for Done { work, outcome, .. } in done {
        table.add_row([
            work.arrangement.name.clone(),
            work.workload.clone(),
            format!("{:.1}", outcome.mb_per_s),
            number(outcome.requests_per_s),
            time(outcome.latency_mean_us),
            time(outcome.latency_p99_us),
            share(outcome.ram_hit_ratio),
            share(outcome.hit_ratio),
            share(Some(outcome.origin_busy)),
            share(outcome.cache_busy),
        ]);
    }
    table.to_string()
}

/// The five flows, and what they wear off.
fn flows(done: &[Done]) -> String {
    let head =
        ["", "", "file, origin", "file, SSD", "promoted", "demoted", "cleaned", "metadata", "amplified", "bypassed"];
    let mut table = table(&head, 2);
    for Done { work, outcome, .. } in done.iter().filter(|done| done.work.arrangement.cache.is_some()) {
        let TierResult { flows: Flows { file, promotion, demotion, cleaning, metadata }, .. } = outcome;
        let both = |read: u64, written: u64| format!("{} r, {} w", bytes(read), bytes(written));
        table.add_row([
            work.arrangement.name.clone(),
            work.workload.clone(),
            both(file.origin_read, file.origin_written),
            both(file.cache_read, file.cache_written),
            bytes(promotion.cache_written),
            bytes(written_back(demotion)),
            bytes(written_back(cleaning)),
            bytes(metadata.cache_written),
            outcome.write_amplification.map_or("–".to_owned(), |times| format!("{times:.2} ×")),
            outcome.bypassed.map_or("–".to_owned(), |blocks| number(blocks as f64)),
        ]);
    }
    format!(
        "\nBytes of the five flows, how many times as much was written to flash, and blocks that went past the SSD:\n{table}"
    )
}

fn written_back(flow: &FlowBytes) -> u64 {
    flow.origin_written
}

fn share(ratio: Option<f64>) -> String {
    ratio.map_or("–".to_owned(), |ratio| format!("{:.1} %", 100.0 * ratio))
}

fn time(us: f64) -> String {
    match us {
        us if us >= 1e6 => format!("{:.2} s", us / 1e6),
        us if us >= 1e3 => format!("{:.2} ms", us / 1e3),
        us => format!("{us:.0} µs"),
    }
}

/// Which requests of a trace were not replayed as long as they were.
pub(super) fn cut(trace: &TraceRequests) -> Vec<String> {
    let too_long = "were for more than 1 GiB each, and were replayed as 1 GiB";
    let outgrown = "were for objects that had grown since they were first asked for, and were cut to their first size";
    let told = [(trace.too_long, too_long), (trace.outgrown, outgrown)];
    let cut = told.into_iter().filter(|(requests, _)| *requests > 0);
    cut.map(|(requests, text)| format!("{} of {} requests {text}", requests, trace.requests.len())).collect()
}
