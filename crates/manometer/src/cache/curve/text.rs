//! The curves as text.

use std::collections::BTreeMap;

use manometer_cache::curve::{CurvePoint, MissRatioCurve, MissRatioCurves, knees};
use manometer_cache::curve::{WorkingSetCurve, WorkingSetWindow};
use manometer_cache::trace_scan::ExcludedRequests;
use manometer_measure::human::bytes;

use super::args::Args;
use crate::cache::capacity::count;
use crate::number::number;
use crate::table::table;

/// The approximate number of sizes shown.
const ROWS: usize = 24;

pub(super) fn text(args: &Args, result: &MissRatioCurves) -> String {
    let mut lines = vec![format!("{}: {}", args.input.name(), facts(args, result).join(", "))];
    if let Some(smallest) = result.curves.iter().map(|curve| curve.smallest).find(|smallest| *smallest > 0.0) {
        let smallest = args.unit.text(smallest.ceil() as u64);
        lines.push(format!("caches below {smallest} need a larger sample: --samples"));
    }
    lines.push(points(args, result));
    if args.knee {
        lines.extend(args.named_curves(result).map(|(policy, curve)| match result.curves.len() {
            1 => knees_text(args, curve),
            _ => format!("{policy}: {}", knees_text(args, curve)),
        }));
    }
    lines.extend(result.working_set.as_ref().map(|set| working_set(args, set)));
    lines.extend(left_out(result));
    lines.extend(args.chart.iter().map(|path| format!("chart: {}", path.display())));
    lines.join("\n")
}

/// The requests, the footprint and the samples.
pub(super) fn facts(args: &Args, result: &MissRatioCurves) -> Vec<String> {
    let requests = format!("{} requests", count(result.requests));
    // The curve of the largest sample has the best estimate of the footprint.
    let best = result.curves.iter().max_by(|one, other| one.rate.total_cmp(&other.rate));
    let footprint = best.map(|curve| {
        let keys = if args.unit.size_aware { "" } else { " keys" };
        format!("for {}{keys}", args.unit.text(curve.footprint.round() as u64))
    });
    let mut sampled: Vec<String> = Vec::new();
    for (policy, curve) in args.named_curves(result).filter(|(_, curve)| curve.rate < 1.0) {
        let whose =
            if result.curves.iter().all(|curve| curve.rate < 1.0) { String::new() } else { format!("{policy}: ") };
        let text = format!("{whose}from a sample of {:.3} % of the keys", 100.0 * curve.rate);
        if !sampled.contains(&text) {
            sampled.push(text);
        }
    }
    let requests = std::iter::once(requests).chain(footprint).collect::<Vec<String>>().join(" ");
    std::iter::once(requests).chain(sampled).collect()
}

/// The requests that no curve counts, by reason.
pub(super) fn left_out(result: &MissRatioCurves) -> Vec<String> {
    let ExcludedRequests { deletes, without_size, without_time } = result.excluded;
    let left_out = [(deletes, "deletes"), (without_size, "requests without a size"), (without_time, "without a time")];
    let excluded = left_out.iter().filter(|(count, _)| *count > 0);
    excluded.map(|(count, what)| format!("left out: {count} {what}")).collect()
}

/// A row for each size; of many sizes some of those at which most policies have a point.
fn points(args: &Args, result: &MissRatioCurves) -> String {
    let mut rows: BTreeMap<u64, Vec<Option<&CurvePoint>>> = BTreeMap::new();
    for (at, curve) in result.curves.iter().enumerate() {
        for point in &curve.points {
            rows.entry(point.capacity).or_insert_with(|| vec![None; result.curves.len()])[at] = Some(point);
        }
    }
    let known = |row: &Vec<Option<&CurvePoint>>| row.iter().flatten().count();
    let most = rows.values().map(known).max().unwrap_or(0);
    if args.capacity.is_empty() {
        rows.retain(|_, row| known(row) == most);
    }
    let stride = if args.capacity.is_empty() { rows.len().div_ceil(ROWS).max(1) } else { 1 };
    let errors: Vec<bool> =
        result.curves.iter().map(|curve| curve.points.iter().any(|point| point.error.is_some())).collect();
    let names: Vec<String> = match result.curves.len() {
        1 => vec!["miss ratio".to_owned()],
        _ => args.policy.iter().map(ToString::to_string).collect(),
    };
    let mut head = vec!["capacity"];
    for (name, has_error) in names.iter().zip(&errors) {
        head.push(name);
        head.extend(has_error.then_some("±"));
    }
    let mut table = table(&head, 0);
    for (capacity, row) in rows.iter().rev().step_by(stride).collect::<Vec<_>>().into_iter().rev() {
        let mut cells = vec![args.unit.text(*capacity)];
        for (point, has_error) in row.iter().zip(&errors) {
            cells.push(point.map_or_else(|| "–".to_owned(), |point| format!("{:.4}", point.miss_ratio)));
            let error = point.and_then(|point| point.error).map(|error| format!("{error:.4}"));
            cells.extend(has_error.then(|| error.unwrap_or_default()));
        }
        table.add_row(cells);
    }
    table.to_string()
}

fn knees_text(args: &Args, curve: &MissRatioCurve) -> String {
    let knees = knees(&curve.points);
    let knees = knees.iter().map(|point| format!("{} ({:.4})", args.unit.text(point.capacity), point.miss_ratio));
    let knees: Vec<String> = knees.collect();
    match knees.is_empty() {
        true => "knees: none".to_owned(),
        false => format!("knees, from which the curve falls less steeply: {}", knees.join(", ")),
    }
}

/// The working set as text.
fn working_set(args: &Args, set: &WorkingSetCurve) -> String {
    let is_shown = |window: &&WorkingSetWindow| !args.window.is_empty() || window.length.is_power_of_two();
    let mut head = vec!["window", "keys", "±"];
    head.extend(args.unit.size_aware.then_some(["bytes", "±"]).into_iter().flatten());
    let mut table = table(&head, 0);
    let mut row = |length: String, window: &WorkingSetWindow| {
        let mut row = vec![length];
        row.extend([number(window.keys.mean), window.keys.error.map(number).unwrap_or_default()]);
        if args.unit.size_aware {
            let size = |amount: f64| bytes(amount.round() as u64);
            row.extend([size(window.bytes.mean), window.bytes.error.map(size).unwrap_or_default()]);
        }
        table.add_row(row);
    };
    for window in set.over_requests.iter().filter(is_shown) {
        row(format!("{} requests", count(window.length)), window);
    }
    for window in set.over_time.iter().flatten() {
        row(humantime::format_duration(std::time::Duration::from_nanos(window.length)).to_string(), window);
    }
    let none = set.over_time.is_none().then_some("\nno windows in time: some requests have no time");
    format!("working set, the mean over windows of the trace:\n{table}{}", none.unwrap_or_default())
}
