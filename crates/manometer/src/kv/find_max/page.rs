//! The search as a page with a chart of latency against rate.

use manometer_report::{RatePoint, RateSearch, rate_search};
use manometer_session::find_max::{FindMax, MeasuredRate};

use super::text::answer_text;
use crate::number::number;
use crate::text::plain;

/// The page with latency against rate.
pub fn page(search: &FindMax<'_>) -> String {
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
        highest: search.answer.and_then(|capacity| capacity.low),
        points: search.sorted().iter().filter_map(point).collect(),
    })
}
