//! The search as text: a table and bars.

use std::fmt::Write as _;

use manometer_session::find_max::{FindMax, LatencyGoal, MeasuredRate};

use super::RULE;
use crate::number::number;

/// The width of the bars.
const BAR_WIDTH: usize = 40;

/// A table by rate, the bars, the rule, and the answer.
pub fn text(search: &FindMax<'_>) -> String {
    let goal = search.request.goal;
    let column = format!("{} ms", goal.percentile());
    let mut table = crate::table::table(&["offered ops/s", "trials", "met", "achieved", &column, "dropped"], 0);
    let sorted = search.sorted();
    for tried in search.rate_trials() {
        let own: Vec<&MeasuredRate> = sorted.iter().filter(|point| point.rate == Some(tried.rate)).collect();
        let latencies: Vec<f64> = own.iter().filter_map(|point| point.latency_us).collect();
        table.add_row([
            number(tried.rate),
            tried.trials.to_string(),
            format!("{} of {}", tried.met, tried.trials),
            number(own.iter().map(|point| point.achieved).sum::<f64>() / own.len() as f64),
            range_ms(&latencies),
            own.iter().map(|point| point.dropped).sum::<u64>().to_string(),
        ]);
    }
    format!("{table}\n\n{}\n{RULE}\n\n{}", plot(&sorted, goal), answer_text(search))
}

/// The least and the greatest of `latencies_us`, in milliseconds.
fn range_ms(latencies_us: &[f64]) -> String {
    let least = latencies_us.iter().copied().fold(f64::INFINITY, f64::min) / 1e3;
    let most = latencies_us.iter().copied().fold(0.0, f64::max) / 1e3;
    match latencies_us {
        [] => "–".to_owned(),
        [_] => format!("{most:.2}"),
        _ => format!("{least:.2} to {most:.2}"),
    }
}

/// The answer in one sentence: the capacity with its interval, or what is not shown.
pub(super) fn answer_text(search: &FindMax<'_>) -> String {
    let goal = search.request.goal;
    let met = format!("{} response time ≤ {}", goal.percentile(), goal.at_most);
    let capacity = search.answer.unwrap_or_default();
    match (capacity.low, capacity.high, capacity.rate) {
        (Some(low), Some(high), _) => format!(
            "Capacity: {} to {} ops/s ({met}). The lower rate is shown to meet the goal, the higher to miss it (5 % \
             significance each).",
            number(low),
            number(high)
        ),
        (Some(low), None, _) => format!(
            "Capacity: at least {} ops/s ({met}), which is shown to meet the goal (5 % significance). No rate is shown \
             to miss it.",
            number(low)
        ),
        (None, _, Some(rate)) => format!(
            "No rate is shown to meet the goal ({met}); the highest that met it in most trials is {} ops/s. Measure \
             each rate for longer (`--seconds`).",
            number(rate)
        ),
        (None, ..) => format!("No rate meets the goal ({met}), not even the lowest tried."),
    }
}

/// One measured rate in a line.
pub fn rate_text(point: &MeasuredRate, goal: LatencyGoal) -> String {
    let offered = point.rate.map_or("closed loop".to_owned(), |rate| format!("{} ops/s offered", number(rate)));
    let latency =
        point.latency_us.map_or("no answer".to_owned(), |us| format!("{} {:.2} ms", goal.percentile(), us / 1e3));
    let verdict = if point.rate.is_none() {
        ""
    } else if point.met {
        ", met"
    } else {
        ", missed"
    };
    format!("{offered}: {} achieved, {latency}{verdict}", number(point.achieved))
}

/// A bar for each rate, on a logarithmic scale of latency.
fn plot(points: &[MeasuredRate], goal: LatencyGoal) -> String {
    let latencies = || points.iter().filter_map(|point| point.latency_us).chain([goal.at_most.seconds() * 1e6]);
    let least = latencies().fold(f64::INFINITY, f64::min).max(1e-3).log10().floor();
    let most = latencies().fold(0.0, f64::max).max(1e-3).log10();
    let length = |us: f64| {
        let share = (us.max(1e-3).log10() - least) / (most - least).max(1e-9);
        1 + (share.clamp(0.0, 1.0) * (BAR_WIDTH - 1) as f64).round() as usize
    };
    let mut text =
        format!("{} of the response time against the rate (logarithmic; the goal is |)\n", goal.percentile());
    let at = length(goal.at_most.seconds() * 1e6);
    for point in points {
        let bar = point.latency_us.map_or(0, length);
        let line: String = (1..=BAR_WIDTH)
            .map(|place| {
                if place <= bar {
                    '█'
                } else if place == at {
                    '|'
                } else {
                    ' '
                }
            })
            .collect();
        let _ = writeln!(text, "{:>12} {}", point.rate.map_or("–".to_owned(), number), line.trim_end());
    }
    text
}
