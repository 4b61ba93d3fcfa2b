//! The search as JSON.

use manometer_session::find_max::{FindMax, LatencyGoal, MeasuredRate, RateTrials};
use serde_json::{Value, json};

/// One document.
pub fn document(search: &FindMax<'_>) -> Value {
    let capacity = search.answer.unwrap_or_default();
    let rate = capacity.low;
    let goal = search.request.goal;
    let points: Vec<Value> = search.sorted().iter().map(|point| point_form(point, goal)).collect();
    let mut found = json!({
        "rate": rate,
        "capacity": {"value": capacity.rate, "ci_low": capacity.low, "ci_high": capacity.high},
        "rule": super::RULE,
        "tried": search.rate_trials().iter().map(tried).collect::<Vec<_>>(),
        "unit": "ops/s",
        "goal": {goal.percentile(): goal.at_most.seconds() * 1e6, "unit": "us", "achieved": search.request.achieved},
        "seconds": search.request.seconds,
        "closed_loop": search.closed.map(|closed| point_form(&closed, goal)),
        "points": points,
    });
    if rate.is_none() {
        found["reason"] = match capacity.rate {
            None => "even the lowest rate tried misses the goal",
            Some(_) => "no rate is shown to meet the goal: every rate that met it also missed it",
        }
        .into();
    }
    json!({"find_max": found, "facts": search.facts})
}

fn tried(one: &RateTrials) -> Value {
    json!({"rate": one.rate, "tries": one.trials, "met": one.met})
}

fn point_form(point: &MeasuredRate, goal: LatencyGoal) -> Value {
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
