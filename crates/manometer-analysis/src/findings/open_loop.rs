//! Whether an open loop kept its rate: dropped requests, and requests that waited before they were sent.

use manometer_measure::PhaseKind;
use manometer_measure::event::{Finding, Severity};
use manometer_measure::latency_log::response_tag;

use super::client_bottleneck::{HEADROOM_SHARE, headroom, primary_samples, rate};
use super::evidence::Evidence;
use super::rule::{Family, Rule};
use crate::latencies::latencies;
use crate::phase_result::PhaseResult;
use crate::time_series::total;

/// A p99 response time above this many times the p99 service time is reported.
const WAITING_FACTOR: f64 = 2.0;

const DROPPED: Rule = Rule {
    id: "requests-dropped",
    severity: Severity::Warning,
    source: "Schroeder, Wierman & Harchol-Balter 2006 (open loops)",
    meaning: "requests of an open loop were dropped because the queue was full",
    remedy: "Lower the rate, or report it as not sustained.",
};

const WAITING: Rule = Rule {
    id: "coordinated-omission",
    severity: Severity::Info,
    source: "Tene 2013 (coordinated omission)",
    meaning: "the p99 response time, from when a request was due, is more than twice the p99 service time, from when it \
        was sent",
    remedy: "Use a `response.…` criterion.",
};

pub(super) const FAMILY: Family = Family { rules: &[DROPPED, WAITING], evaluate };

fn evaluate(evidence: &Evidence<'_>) -> Vec<Finding> {
    let dropped = evidence.results.iter().filter_map(|result| dropped(evidence, result));
    dropped.chain(evidence.results.iter().filter_map(|result| waiting(evidence, result))).collect()
}

fn dropped(evidence: &Evidence<'_>, result: &PhaseResult<'_>) -> Option<Finding> {
    let (samples, window) = primary_samples(evidence, result)?;
    let dropped = total(samples, |name| name == "dropped", window);
    let answered = total(samples, |name| name.ends_with(".requests"), window);
    // Only a client with headroom is known not to be the cause.
    let has_headroom = headroom(evidence)
        .zip(rate(evidence, result))
        .is_some_and(|(headroom, rate)| rate <= HEADROOM_SHARE * headroom);
    let cause = if has_headroom { "The store" } else { "The client or the store" };
    let sentence = format!(
        "{dropped:.0} requests of {} ({:.1} %) were dropped because the queue was full, and are in no latency. {cause} \
         does not keep up with the offered rate.",
        result.id(),
        100.0 * dropped / (dropped + answered)
    );
    (dropped > 0.0).then(|| DROPPED.finding(Some(result.id()), &sentence))
}

/// The operation whose response time exceeds its service time most.
fn waiting(evidence: &Evidence<'_>, result: &PhaseResult<'_>) -> Option<Finding> {
    let bounds_s = result.bounds_s(evidence.recording).filter(|_| result.phase.kind != PhaseKind::Solo)?;
    let service = latencies(evidence.data, bounds_s, str::to_owned);
    let response = latencies(evidence.data, bounds_s, response_tag);
    let p99s = response
        .iter()
        .filter_map(|(operation, response)| Some((operation, response.p99?, service.get(operation)?.p99?)));
    let (operation, response, service) = p99s.max_by(|one, other| (one.1 / one.2).total_cmp(&(other.1 / other.2)))?;
    let sentence = format!(
        "In {} the p99 response time of `{operation}` is {:.2} ms and its p99 service time {:.2} ms: requests waited before \
         they were sent. A closed loop would have hidden that wait (coordinated omission).",
        result.id(),
        response / 1e3,
        service / 1e3
    );
    (response > WAITING_FACTOR * service).then(|| WAITING.finding(Some(result.id()), &sentence))
}
