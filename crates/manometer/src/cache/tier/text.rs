//! The results as text.

use manometer_cache::tier::workload::TraceRequests;
use manometer_cache::tier::{
    ComparisonMetric, FlowBytes, Flows, OriginComparison, Steadiness, TierOutcome, TierResult,
};
use manometer_measure::human::{bytes, percent};

use super::notes::notes;
use crate::number::{gap, latency, number};
use crate::table::table;

/// A table of speeds, the flows, and the comparisons.
pub(super) fn text(outcomes: &[TierOutcome]) -> String {
    let mut lines = vec![speeds(outcomes)];
    if outcomes.iter().any(|outcome| outcome.arrangement.cache.is_some()) {
        lines.push(flows(outcomes));
    }
    for TierOutcome { arrangement, load, comparison, .. } in outcomes {
        let Some(OriginComparison { equal, by, count }) = comparison else { continue };
        let (name, workload, device) = (&arrangement.name, &load.name, &arrangement.origin.device);
        let fast = match by {
            ComparisonMetric::Throughput => "as fast",
            ComparisonMetric::Latency => "as fast to answer",
        };
        lines.push(match count {
            Some(count) => format!("{name}, {workload}: {fast} are {count} × {device} without a cache"),
            None => format!("{name}, {workload}: {} × {device} without a cache are not {fast}", equal.count_max),
        });
    }
    lines.extend(accuracy(outcomes));
    lines.join("\n")
}

/// The rows whose comparison with others contradicts the measurements of the cache thesis.
fn accuracy(outcomes: &[TierOutcome]) -> Option<String> {
    let of_each = |TierOutcome { arrangement, load, .. }: &TierOutcome| {
        let (name, workload) = (arrangement.name.clone(), load.name.clone());
        notes(arrangement, load).into_iter().map(move |note| format!("{name}, {workload}: {note}"))
    };
    let lines: Vec<String> = outcomes.iter().flat_map(of_each).collect();
    (!lines.is_empty()).then(|| {
        format!(
            "\nNot to be concluded from these rows, as the model contradicts what was measured (the cache thesis: at scale 8):\n{}",
            lines.join("\n")
        )
    })
}

fn speeds(outcomes: &[TierOutcome]) -> String {
    let head =
        ["arrangement", "workload", "MB/s", "requests/s", "mean", "p99", "in RAM", "on SSD", "origin busy", "SSD busy"];
    let head: Vec<&str> = head.into_iter().chain(["steady from"]).collect();
    let mut table = table(&head, 2);
    for TierOutcome { arrangement, load, result, series, .. } in outcomes {
        table.add_row([
            arrangement.name.clone(),
            load.name.clone(),
            format!("{:.1}", result.mb_per_s),
            number(result.requests_per_s),
            latency(result.latency_mean_us),
            latency(result.latency_p99_us),
            share(result.ram_hit_ratio),
            share(result.hit_ratio),
            share(Some(result.origin_busy)),
            share(result.cache_busy),
            Steadiness::of(series).map_or_else(gap, steady_from),
        ]);
    }
    table.to_string()
}

/// From when on a row is steady, and when its figures begin if that is before.
fn steady_from(steadiness: Steadiness) -> String {
    let from = steadiness.from_s.map_or_else(|| "never".to_owned(), |from_s| format!("{} s", number(from_s)));
    match steadiness.is_late() {
        true => format!("{from}, counted from {} s", number(steadiness.warm_up_s)),
        false => from,
    }
}

/// The five flows and the write amplification.
fn flows(outcomes: &[TierOutcome]) -> String {
    let head =
        ["", "", "file, origin", "file, SSD", "promoted", "demoted", "cleaned", "metadata", "amplified", "bypassed"];
    let mut table = table(&head, 2);
    for TierOutcome { arrangement, load, result, .. } in
        outcomes.iter().filter(|outcome| outcome.arrangement.cache.is_some())
    {
        let TierResult { flows: Flows { file, promotion, demotion, cleaning, metadata }, .. } = result;
        let both = |read: u64, written: u64| format!("{} r, {} w", bytes(read), bytes(written));
        table.add_row([
            arrangement.name.clone(),
            load.name.clone(),
            both(file.origin_read, file.origin_written),
            both(file.cache_read, file.cache_written),
            bytes(promotion.cache_written),
            bytes(written_back(demotion)),
            bytes(written_back(cleaning)),
            bytes(metadata.cache_written),
            result.write_amplification.map_or_else(gap, |times| format!("{times:.2} ×")),
            result.bypassed.map_or_else(gap, |blocks| number(blocks as f64)),
        ]);
    }
    format!("\nBytes of the five flows, write amplification of the flash, and blocks that bypassed the SSD:\n{table}")
}

fn written_back(flow: &FlowBytes) -> u64 {
    flow.origin_written
}

fn share(ratio: Option<f64>) -> String {
    ratio.map_or_else(gap, percent)
}

/// The requests of a trace that were shortened.
pub(super) fn truncation_notes(trace: &TraceRequests) -> Vec<String> {
    let too_long = "were for more than 1 GiB each, and were replayed as 1 GiB";
    let outgrown = "were for objects that had grown since their first request, and were cut to their first size";
    let kinds = [(trace.too_long, too_long), (trace.outgrown, outgrown)];
    let cut = kinds.into_iter().filter(|(requests, _)| *requests > 0);
    cut.map(|(requests, text)| format!("{} of {} requests {text}", requests, trace.requests.len())).collect()
}
