//! The search as text: a table and bars.

use std::fmt::Write as _;

use manometer_session::find_max::{FindMax, Goal, MeasuredRate};

use crate::number::number;

/// The width of the bars.
const BAR_WIDTH: usize = 40;

/// A table, the bars, and the answer.
pub fn text(search: &FindMax<'_>) -> String {
    let goal = search.request.goal;
    let column = format!("{} ms", goal.percentile());
    let mut table = crate::table::table(&["offered ops/s", "achieved", &column, "dropped", "goal"], 0);
    for point in search.sorted() {
        table.add_row([
            point.rate.map_or("–".to_owned(), number),
            number(point.achieved),
            point.latency_us.map_or("–".to_owned(), |us| format!("{:.2}", us / 1e3)),
            point.dropped.to_string(),
            if point.met { "met" } else { "missed" }.to_owned(),
        ]);
    }
    format!("{table}\n\n{}\n{}", plot(&search.sorted(), goal), answer_text(search))
}

/// The answer in one sentence.
pub(super) fn answer_text(search: &FindMax<'_>) -> String {
    let goal = search.request.goal;
    match search.answer.flatten() {
        Some(rate) => format!(
            "The highest rate with {} of the response time at most {} is {} ops/s.",
            goal.percentile(),
            goal.at_most,
            number(rate)
        ),
        None => "No rate meets the goal, not even the lowest one tried.".to_owned(),
    }
}

/// One measured rate in a line.
pub fn rate_text(point: &MeasuredRate, goal: Goal) -> String {
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
fn plot(points: &[MeasuredRate], goal: Goal) -> String {
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
