//! What a reader must know of how requests were sent: whether the client kept up, and whether the store did.

use manometer_measure::event::{Finding, Severity};
use manometer_measure::latency_log::response_tag;
use manometer_measure::{PhaseKind, Recording, Samples};

use super::Rule;
use super::evidence::Evidence;
use crate::criterion::Throughput;
use crate::series::{Window, throughput, total};
use crate::sources::Sources;
use crate::summarise::{Judged, latencies};

/// From this share of its own speed on, the client is what is measured.
const HEADROOM_USED: f64 = 0.7;
/// A response time this much longer than the service time is waiting that a closed loop would have hidden.
const WAITING_FACTOR: f64 = 2.0;

const BOTTLENECK: Rule = Rule {
    id: "client-bottleneck",
    severity: Severity::Warning,
    source: "headroom, measured before each run",
    meaning: "the primary exceeded 70 % of what the client reaches on an engine that answers at once; always first",
    remedy: "Give the client more threads or processors, or a simpler workload.",
};

const DROPPED: Rule = Rule {
    id: "requests-dropped",
    severity: Severity::Warning,
    source: "Schroeder, Wierman & Harchol-Balter 2006 (open loops)",
    meaning: "requests of an open loop found the queue full",
    remedy: "Ask for a lower rate, or judge the rate as not sustained.",
};

const WAITING: Rule = Rule {
    id: "coordinated-omission",
    severity: Severity::Info,
    source: "Tene 2013 (coordinated omission)",
    meaning: "the p99 from when requests were due is more than twice that from when they were sent",
    remedy: "Judge by `response.…`.",
};

pub(super) const LIMIT: &[Rule] = &[BOTTLENECK];

pub(super) const PACE: &[Rule] = &[DROPPED, WAITING];

pub(super) fn limit(evidence: &Evidence<'_>) -> Vec<Finding> {
    client_bottleneck(evidence).into_iter().collect()
}

pub(super) fn pace(evidence: &Evidence<'_>) -> Vec<Finding> {
    let Evidence { recording, sources, judged } = *evidence;
    let dropped = judged.iter().filter_map(|one| dropped(evidence, one));
    dropped.chain(judged.iter().filter_map(|one| waiting(recording, sources, one))).collect()
}

/// That the client's own speed limits the primary, with the phase that shows it most.
fn client_bottleneck(evidence: &Evidence<'_>) -> Option<Finding> {
    let Evidence { recording, sources, judged } = *evidence;
    let headroom = headroom(evidence)?;
    let reached = judged.iter().filter_map(|one| Some((rate(recording, sources, one)?, one.phase.id.as_str())));
    let (rate, phase) = reached.max_by(|one, other| one.0.total_cmp(&other.0))?;
    (rate > HEADROOM_USED * headroom).then(|| {
        let text = format!(
            "The client is the bottleneck: {phase} reached {rate:.0} ops/s, {:.0} % of the {headroom:.0} ops/s that the \
             client reaches on an engine that answers at once. What is measured is the client.",
            100.0 * rate / headroom
        );
        BOTTLENECK.tell(None, &text)
    })
}

/// That requests of an open loop found no place in the queue.
fn dropped(evidence: &Evidence<'_>, one: &Judged<'_>) -> Option<Finding> {
    let Evidence { recording, sources, .. } = *evidence;
    let (samples, window) = primary_samples(recording, sources, one)?;
    let dropped = total(samples, |name| name == "dropped", window);
    let answered = total(samples, |name| name.ends_with(".requests"), window);
    // Only of a client that could have asked much faster is it known that it was not the one that was too slow.
    let could_ask = headroom(evidence)
        .zip(rate(recording, sources, one))
        .is_some_and(|(headroom, reached)| reached <= HEADROOM_USED * headroom);
    let who = if could_ask { "The store" } else { "The client or the store" };
    (dropped > 0.0).then(|| {
        let text = format!(
            "{dropped:.0} requests of {} ({:.1} %) came due and found the queue full: they were dropped and are in no \
             latency. {who} does not keep up with the rate that was asked.",
            one.phase.id,
            100.0 * dropped / (dropped + answered)
        );
        DROPPED.tell(Some(&one.phase.id), &text)
    })
}

/// That requests of an open loop waited much longer for their turn than for their answer.
fn waiting(recording: &Recording, sources: &Sources, one: &Judged<'_>) -> Option<Finding> {
    let window = one.fate.window().ok().filter(|_| one.phase.kind != PhaseKind::Solo)?;
    let bounds_s = (recording.seconds(window.begin_ns), recording.seconds(window.end_ns));
    let service = latencies(sources, bounds_s, str::to_owned);
    let response = latencies(sources, bounds_s, response_tag);
    let p99s =
        response.iter().filter_map(|(operation, late)| Some((operation, late.p99?, service.get(operation)?.p99?)));
    let (operation, late, sent) = p99s.max_by(|one, other| (one.1 / one.2).total_cmp(&(other.1 / other.2)))?;
    (late > WAITING_FACTOR * sent).then(|| {
        let text = format!(
            "In {} the p99 of `{operation}` is {:.2} ms from when requests were due and {:.2} ms from when they were \
             sent: they waited for their turn. A closed loop would have shown the second alone (coordinated omission).",
            one.phase.id,
            late / 1e3,
            sent / 1e3
        );
        WAITING.tell(Some(&one.phase.id), &text)
    })
}

/// What the client alone reaches, where that was measured.
fn headroom(evidence: &Evidence<'_>) -> Option<f64> {
    evidence.facts()?.get("headroom_ops_per_s")?.as_f64().filter(|headroom| *headroom > 0.0)
}

fn rate(recording: &Recording, sources: &Sources, one: &Judged<'_>) -> Option<f64> {
    let (samples, window) = primary_samples(recording, sources, one)?;
    let series = throughput(samples, Throughput::Requests, window, recording.plan.interval_s);
    (!series.values.is_empty()).then(|| series.values.iter().sum::<f64>() / series.values.len() as f64)
}

/// The primary's samples, where it ran in the phase.
fn primary_samples<'a>(recording: &Recording, sources: &'a Sources, one: &Judged<'_>) -> Option<(&'a Samples, Window)> {
    let primary = recording.plan.primary()?;
    let window = one.fate.window().ok().filter(|_| one.phase.kind != PhaseKind::Solo)?;
    Some((sources.samples(&primary.name)?, window))
}
