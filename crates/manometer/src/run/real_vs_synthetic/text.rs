//! The result as text.

use std::path::Path;

use manometer_analysis::real_vs_synthetic::{
    ComparedResult, Decomposition, Estimate, LoadComparison, TRACE, signed_points,
};
use manometer_measure::human;

use crate::number::number;
use crate::recordings::FILE;
use crate::table::table;

/// The headline, the findings, and a table for each engine.
pub(super) fn text(comparison: &LoadComparison, out: &Path) -> String {
    let mut text = format!("{} Verdict: {}.\n", comparison.headline, comparison.grade.name());
    for finding in &comparison.findings {
        text += &format!("\n{}\n", finding.text);
    }
    text += &decompositions(comparison);
    for engine in &comparison.engines {
        let head = ["load", "RMSE", "mean error", "largest error", "at cache", "speed-up", "its error"];
        let mut table = table(&head, 1);
        for curve in engine.curves.iter().filter(|curve| curve.load == TRACE) {
            let gaps = || "".to_owned();
            table.add_row([curve.load.clone(), gaps(), gaps(), gaps(), gaps(), times(&curve.speed_up), gaps()]);
        }
        for one in &engine.differences {
            let curve = engine.curves.iter().find(|curve| curve.load == one.load);
            let percent = |share: f64| format!("{:.2} %", 100.0 * share);
            table.add_row([
                one.load.clone(),
                percent(one.rmse),
                percent(one.mean_abs),
                percent(one.max_abs),
                format!("{:.0} %", 100.0 * one.max_at),
                curve.map_or_else(|| "-".to_owned(), |curve| times(&curve.speed_up)),
                error(&one.speed_up),
            ]);
        }
        text += &format!("\n{} {}\n{table}\n", engine.engine, engine.version);
    }
    text += &hot_spots(comparison);
    text += &slabs(comparison);
    text += &throughput(comparison);
    format!("{text}\nReport: {}", out.join(FILE).display())
}

/// The differences of the Zipf load from the trace, and their parts.
fn decompositions(comparison: &LoadComparison) -> String {
    let mut table = table(&["result", "on", "cache", "difference", "of which", "verdict"], 3);
    for one in &comparison.decompositions {
        let (name, value): (&str, fn(&Estimate) -> String) = match one.result {
            ComparedResult::MissRatio => ("miss ratio, points", signed_points),
            ComparedResult::SpeedUp => ("speed-up", error),
            ComparedResult::HotSpots => ("hot spots, means of a node", signed),
            ComparedResult::SlabWrites => ("write latency", error),
        };
        table.add_row([
            name.to_owned(),
            one.on.clone(),
            one.cache.map_or_else(String::new, |cache| format!("{:.0} %", 100.0 * cache)),
            value(&one.difference),
            parts(one, value),
            one.grade.name().to_owned(),
        ]);
    }
    format!("\nWhy Zipf-distributed keys differ from the trace\n{table}\n")
}

fn parts(of: &Decomposition, value: fn(&Estimate) -> String) -> String {
    let part = |effect: &manometer_analysis::real_vs_synthetic::PropertyEffect| {
        format!("{} {}", effect.property.name(), value(&effect.change))
    };
    of.effects.iter().map(part).collect::<Vec<_>>().join(", ")
}

fn signed(of: &Estimate) -> String {
    let interval = of.ci_low.zip(of.ci_high).map(|(low, high)| format!(" ({low:+.2} to {high:+.2})"));
    of.mean.map_or_else(|| "-".to_owned(), |mean| format!("{mean:+.2}") + &interval.unwrap_or_default())
}

fn hot_spots(comparison: &LoadComparison) -> String {
    let Some(spots) = &comparison.hot_spots else { return String::new() };
    let mut table =
        table(&["load", "arrivals", "least", "lower quartile", "median", "upper quartile", "most", "range"], 2);
    let computed = spots.loads.iter().map(|load| (load.load.clone(), load));
    let measured = spots.measured.iter().map(|own| (format!("{}, measured", own.nodes.load), &own.nodes));
    for (name, load) in computed.chain(measured) {
        let Some(plot) = &load.requests else { continue };
        let numbers = [plot.min, plot.q1, plot.median, plot.q3, plot.max, plot.range];
        let head = [name, load.arrivals.name().to_owned()];
        table.add_row(head.into_iter().chain(numbers.iter().map(|value| number(*value))));
    }
    match &spots.reason {
        Some(reason) => format!("\nHot spots: unknown, {reason}.\n"),
        None => format!("\nRequests of each of {} nodes in each second\n{table}\n", spots.nodes),
    }
}

fn throughput(comparison: &LoadComparison) -> String {
    let Some(throughput) = &comparison.throughput else { return String::new() };
    let mut table = table(&["threads", "trace ops/s", "ycsb ops/s", "trace / ycsb"], 1);
    let or_gap = |mean: &Estimate| mean.mean.map_or_else(|| "-".to_owned(), number);
    for one in &throughput.results {
        let row = [one.threads.to_string(), or_gap(&one.trace), or_gap(&one.stationary), or_gap(&one.ratio)];
        table.add_row(row);
    }
    format!("\nThroughput on {}\n{table}\n", throughput.engine)
}

fn slabs(comparison: &LoadComparison) -> String {
    let Some(slabs) = &comparison.slabs else { return String::new() };
    let mut table = table(&["values", "write µs", "miss ratio", "ops/s"], 1);
    let or_gap = |mean: &Estimate| mean.mean.map_or_else(|| "-".to_owned(), number);
    for load in &slabs.loads {
        let miss_ratio = load.miss_ratio.mean.map_or_else(|| "-".to_owned(), |ratio| format!("{:.2} %", 100.0 * ratio));
        table.add_row([load.sizes.clone(), or_gap(&load.write_us), miss_ratio, or_gap(&load.ops_per_s)]);
    }
    let mean = human::bytes(slabs.value_bytes_mean);
    format!("\nValues over {} classes of slabs, {mean} on average\n{table}\n", slabs.classes)
}

/// An error with its confidence interval, if known.
fn error(mean: &Estimate) -> String {
    let percent = |share: f64| format!("{:+.1} %", 100.0 * share);
    let interval = mean.ci_low.zip(mean.ci_high).map(|(low, high)| format!(" ({} to {})", percent(low), percent(high)));
    mean.mean.map_or_else(|| "-".to_owned(), |mean| percent(mean) + &interval.unwrap_or_default())
}

fn times(mean: &Estimate) -> String {
    mean.mean.map_or_else(|| "-".to_owned(), |mean| format!("{mean:.2} x"))
}
