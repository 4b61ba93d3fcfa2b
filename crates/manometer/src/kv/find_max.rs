//! What `manometer kv --find-max` prints: a table with bars, a document for machines, a page.

use std::fmt::Write as _;

use manometer_report::{RatePoint, RateSearch, rate_search};
use manometer_session::find_max::{FindMax, Goal, MeasuredRate};
use serde_json::{Value, json};

use super::outcome::plain;
use crate::table::number;

/// How wide the plot's bars are.
const BAR_WIDTH: usize = 40;

/// Whether the goal can be met at all.
///
/// # Errors
/// The workload refused a rate, or the search did not come to its end.
pub(super) fn is_met(search: &FindMax<'_>) -> anyhow::Result<bool> {
    if let Some(reason) = &search.refused {
        anyhow::bail!("{reason}");
    }
    search.answer.map(|answer| answer.is_some()).ok_or_else(|| anyhow::anyhow!("stopped before the search had ended"))
}

/// The search for machines.
pub(super) fn json(search: &FindMax<'_>) -> Value {
    let rate = search.answer.flatten();
    let goal = search.request.goal;
    let points: Vec<Value> = search.sorted().iter().map(|point| point_form(point, goal)).collect();
    let mut found = json!({
        "rate": rate,
        "unit": "ops/s",
        "goal": {goal.percentile(): goal.at_most.seconds() * 1e6, "unit": "us", "achieved": search.request.achieved},
        "seconds": search.request.seconds,
        "closed_loop": search.closed.map(|closed| point_form(&closed, goal)),
        "points": points,
    });
    if rate.is_none() {
        found["reason"] = "even the lowest rate that was tried misses the goal".into();
    }
    json!({"find_max": found, "facts": search.facts})
}

/// The page with latency against rate.
pub(super) fn page(search: &FindMax<'_>) -> String {
    let fact = |name: &str| search.facts.get(name).map(plain).unwrap_or_default();
    let point = |measured: &MeasuredRate| {
        let MeasuredRate { achieved, latency_us, dropped, requests, met, .. } = *measured;
        Some(RatePoint { rate: measured.rate?, achieved, latency_us, dropped, requests, met })
    };
    let closed = search.closed.map(|closed| format!("a closed loop reached {} ops/s", number(closed.achieved)));
    let facts = [
        format!("{} {}: {}", fact("engine"), fact("engine_version"), fact("durability")),
        fact("workload"),
        format!("{} records of {} B", fact("records"), fact("value_bytes")),
        fact("distribution"),
        format!("{} thread(s)", fact("threads")),
        format!("{} s for each rate", search.request.seconds),
    ];
    rate_search(&RateSearch {
        headline: answer_text(search),
        facts: facts.into_iter().chain(closed).collect(),
        percentile: search.request.goal.percentile().to_owned(),
        goal_us: search.request.goal.at_most.seconds() * 1e6,
        highest: search.answer.flatten(),
        points: search.sorted().iter().filter_map(point).collect(),
    })
}

fn answer_text(search: &FindMax<'_>) -> String {
    let goal = search.request.goal;
    match search.answer.flatten() {
        Some(rate) => format!(
            "The highest rate with {} of the response time at most {} is {} ops/s.",
            goal.percentile(),
            goal.at_most,
            number(rate)
        ),
        None => "No rate meets the goal, not even the lowest that was tried.".to_owned(),
    }
}

/// The search for people.
pub(super) fn text(search: &FindMax<'_>) -> String {
    let goal = search.request.goal;
    let column = format!("{} ms", goal.percentile());
    let mut table = crate::table::table(&["asked ops/s", "achieved", &column, "dropped", "goal"], 0);
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

fn point_form(point: &MeasuredRate, goal: Goal) -> Value {
    let mut form = json!({
        "rate": point.rate,
        "achieved": point.achieved,
        "p99_us": point.p99_us,
        "met": point.met,
        "dropped": point.dropped,
        "requests": point.requests,
    });
    if point.p99_us.is_none() {
        form["reason"] = "no request was answered".into();
    }
    if goal.percentile() != "p99" {
        form[format!("{}_us", goal.percentile())] = json!(point.latency_us);
    }
    form
}

/// One measured rate in a line.
pub(super) fn rate_text(point: &MeasuredRate, goal: Goal) -> String {
    let asked = point.rate.map_or("closed loop".to_owned(), |rate| format!("{} ops/s asked", number(rate)));
    let latency =
        point.latency_us.map_or("no answer".to_owned(), |us| format!("{} {:.2} ms", goal.percentile(), us / 1e3));
    let verdict = if point.rate.is_none() {
        ""
    } else if point.met {
        ", met"
    } else {
        ", missed"
    };
    format!("{asked}: {} achieved, {latency}{verdict}", number(point.achieved))
}

/// A bar for each rate, as long as the logarithm of its latency.
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
