//! Whether an open loop kept its rate: dropped requests, and requests that waited before they were sent.

use manometer_measure::PhaseKind;
use manometer_measure::event::{Finding, Severity, ThreatTarget};
use manometer_measure::latency_log::response_tag;

use super::client_bottleneck::{HEADROOM_SHARE, headroom, primary_samples, rate};
use super::evidence::Evidence;
use super::rule::{Family, Rule, serious};
use super::text::phase_list;
use crate::criterion::Metric;
use crate::latencies::latencies;
use crate::phase_result::PhaseResult;
use crate::time_series::total;

/// A p99 response time above this many times the p99 service time is reported.
const WAITING_FACTOR: f64 = 2.0;

const DROPPED: Rule = Rule {
    id: "requests-dropped",
    severity: Severity::Warning,
    threat: serious(ThreatTarget::Result, "requests were dropped"),
    source: "Schroeder, Wierman & Harchol-Balter 2006 (open loops)",
    meaning: "requests of an open loop were dropped because the queue was full",
    remedy: "Lower the rate, or report it as not sustained.",
};

const WAITING: Rule = Rule {
    id: "coordinated-omission",
    severity: Severity::Info,
    threat: serious(ThreatTarget::Tail, "requests waited before they were sent"),
    source: "Tene 2013 (coordinated omission)",
    meaning: "the p99 response time, from when a request was due, is more than twice the p99 service time, from when it \
        was sent; where the criterion is a latency, of its operation. A criterion that is a response time counts that wait: \
        nothing is threatened then",
    remedy: "Use a `response.…` criterion.",
};

pub(crate) const PACED_THROUGHPUT: Rule = Rule {
    id: "paced-throughput",
    severity: Severity::Info,
    threat: None,
    source: "Schroeder, Wierman & Harchol-Balter 2006 (open loops)",
    meaning: "the criterion is the throughput of a primary that is paced and kept its rate in `w0`: the result is judged by the \
        p99 of its main operation instead: of the response time, or of the latency where requests have no time at which they are \
        due",
    remedy: "Set `criterion` to a latency, or leave out the rate to measure throughput.",
};

pub(crate) const PACED_WITHOUT_LATENCIES: Rule = Rule {
    id: "paced-without-latencies",
    severity: Severity::Warning,
    threat: serious(ThreatTarget::Result, "the primary paces itself, so that its throughput is its rate"),
    source: "Schroeder, Wierman & Harchol-Balter 2006 (open loops)",
    meaning: "the criterion is the throughput of a primary that is paced, and its latencies were not recorded",
    remedy: "Leave out the rate to measure throughput, or use a program that reports latencies.",
};

pub(super) const FAMILY: Family =
    Family { rules: &[DROPPED, WAITING, PACED_THROUGHPUT, PACED_WITHOUT_LATENCIES], evaluate };

fn evaluate(evidence: &Evidence<'_>) -> Vec<Finding> {
    dropped(evidence).into_iter().chain(waiting(evidence)).collect()
}

/// The dropped requests of a phase.
struct DroppedRequests<'a> {
    phase: &'a str,
    dropped: f64,
    /// Their share of the offered requests.
    share: f64,
    /// Only a client well below its headroom is known not to be the cause.
    is_below_headroom: bool,
}

fn dropped(evidence: &Evidence<'_>) -> Option<Finding> {
    let phases = evidence.results.iter().filter_map(|result| dropped_in(evidence, result));
    let phases: Vec<DroppedRequests<'_>> = phases.collect();
    let most = phases.iter().max_by(|one, other| one.share.total_cmp(&other.share))?;
    let ids: Vec<&str> = phases.iter().map(|one| one.phase).collect();
    let cause = if phases.iter().all(|one| one.is_below_headroom) { "The store" } else { "The client or the store" };
    let others = if ids.len() == 1 { String::new() } else { format!(", the most of {}", phase_list(&ids)) };
    let sentence = format!(
        "{:.0} requests of {} ({:.1} %{others}) were dropped because the queue was full, and are in no latency. {cause} \
         does not keep up with the offered rate.",
        most.dropped,
        most.phase,
        100.0 * most.share
    );
    Some(DROPPED.finding_in(&ids, &sentence))
}

/// The dropped requests of a phase; `None` without any.
fn dropped_in<'a>(evidence: &Evidence<'_>, result: &'a PhaseResult<'_>) -> Option<DroppedRequests<'a>> {
    let (samples, windows) = primary_samples(evidence, result)?;
    let dropped = total(samples, |name| name == "dropped", windows);
    let answered = total(samples, |name| name.ends_with(".requests"), windows);
    let is_below_headroom = headroom(evidence)
        .zip(rate(evidence, result))
        .is_some_and(|(headroom, rate)| rate <= HEADROOM_SHARE * headroom);
    let share = dropped / (dropped + answered);
    (dropped > 0.0).then(|| DroppedRequests { phase: result.id(), dropped, share, is_below_headroom })
}

/// A p99 response time and the p99 service time of the same operation, in microseconds.
struct QueueingDelay {
    operation: String,
    response: f64,
    service: f64,
}

impl QueueingDelay {
    fn factor(&self) -> f64 {
        self.response / self.service
    }
}

fn waiting(evidence: &Evidence<'_>) -> Option<Finding> {
    let phases = evidence.results.iter().filter_map(|result| Some((result.id(), waiting_in(evidence, result)?)));
    let phases: Vec<(&str, QueueingDelay)> = phases.filter(|(_, waiting)| waiting.factor() > WAITING_FACTOR).collect();
    let (phase, most) = phases.iter().max_by(|one, other| one.1.factor().total_cmp(&other.1.factor()))?;
    let ids: Vec<&str> = phases.iter().map(|(id, _)| *id).collect();
    let others = if ids.len() == 1 { String::new() } else { format!(", the most of {}", phase_list(&ids)) };
    let sentence = format!(
        "In {phase}{others}, the p99 response time of `{}` is {:.2} ms and its p99 service time {:.2} ms: requests waited \
         before they were sent. A closed loop would have hidden that wait (coordinated omission).",
        most.operation,
        most.response / 1e3,
        most.service / 1e3
    );
    Some(match criterion(evidence) {
        Some((_, true)) => {
            let finding = WAITING.finding_with_remedy(&ids, &sentence, "The criterion counts that wait.");
            Finding { threat: None, ..finding }
        }
        _ => WAITING.finding_in(&ids, &sentence),
    })
}

/// The operation of a criterion that is a latency, and whether it is a response time; `None` for a throughput.
fn criterion(evidence: &Evidence<'_>) -> Option<(String, bool)> {
    match Metric::of(&evidence.recording.plan.criterion) {
        Ok(Metric::Latency { operation, response, .. }) => Some((operation, response)),
        _ => None,
    }
}

/// The operation whose response time exceeds its service time most; that of the criterion where it is a latency.
fn waiting_in(evidence: &Evidence<'_>, result: &PhaseResult<'_>) -> Option<QueueingDelay> {
    if result.phase.kind == PhaseKind::Solo {
        return None;
    }
    let stretches_s = result.stretches_s(evidence.recording);
    let service = latencies(evidence.data, &stretches_s, str::to_owned);
    let response = latencies(evidence.data, &stretches_s, response_tag);
    let criterion = criterion(evidence);
    let is_judged = |operation: &str| criterion.as_ref().is_none_or(|(judged, _)| judged == operation);
    let waits = response.iter().filter(|(operation, _)| is_judged(operation)).filter_map(|(operation, response)| {
        let (response, service) = (response.p99?, service.get(operation)?.p99?);
        Some(QueueingDelay { operation: operation.clone(), response, service })
    });
    waits.max_by(|one, other| one.factor().total_cmp(&other.factor()))
}
