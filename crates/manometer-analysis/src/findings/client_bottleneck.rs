//! Whether the client itself limits the primary.

use manometer_measure::event::{Finding, Severity, ThreatTarget};
use manometer_measure::{PhaseKind, Samples};
use serde_json::Value;

use super::evidence::Evidence;
use super::rule::{Family, Rule, fatal};
use crate::criterion::ThroughputUnit;
use crate::phase_result::PhaseResult;
use crate::statistics::moments::mean;
use crate::time_series::{TimeWindow, throughput};

/// From this share of its own maximum throughput on, the client limits the result.
pub(super) const HEADROOM_SHARE: f64 = 0.7;

const CLIENT_BOTTLENECK: Rule = Rule {
    id: "client-bottleneck",
    severity: Severity::Warning,
    threat: fatal(ThreatTarget::Storage, "the client was the bottleneck"),
    source: "headroom, measured before each run",
    meaning: "the primary exceeded 70 % of the throughput that the client reaches on an engine that stores nothing; \
        always reported first",
    remedy: "Give the client more threads or processors, or use a simpler workload.",
};

pub(super) const FAMILY: Family = Family { rules: &[CLIENT_BOTTLENECK], evaluate };

/// The phase with the highest throughput, if that is near the client's maximum.
fn evaluate(evidence: &Evidence<'_>) -> Vec<Finding> {
    let finding = || {
        let headroom = headroom(evidence)?;
        let rates = evidence.results.iter().filter_map(|result| Some((rate(evidence, result)?, result.id())));
        let (rate, phase) = rates.max_by(|one, other| one.0.total_cmp(&other.0))?;
        let sentence = format!(
            "The client is the bottleneck: {phase} reached {rate:.0} ops/s, {:.0} % of the {headroom:.0} ops/s that the \
             client reaches on an engine that stores nothing. The result measures the client, not the engine.{}",
            100.0 * rate / headroom,
            least_client(evidence).unwrap_or_default()
        );
        (rate > HEADROOM_SHARE * headroom).then(|| CLIENT_BOTTLENECK.finding(None, &sentence))
    };
    finding().into_iter().collect()
}

/// The client's maximum throughput in operations per second, where it was measured.
pub(super) fn headroom(evidence: &Evidence<'_>) -> Option<f64> {
    evidence.primary_facts()?.get("headroom_ops_per_s")?.as_f64().filter(|headroom| *headroom > 0.0)
}

/// Which of several clients limits them all: each gets an equal part of the load.
fn least_client(evidence: &Evidence<'_>) -> Option<String> {
    let clients = evidence.primary_facts()?.get("clients")?.as_array()?;
    let headroom = |client: &Value| client.get("headroom_ops_per_s")?.as_f64();
    let known = (1..).zip(clients).filter_map(|(number, client)| Some((headroom(client)?, number, client)));
    let (least, number, client) = known.min_by(|one, other| one.0.total_cmp(&other.0))?;
    let on = client.get("on").and_then(Value::as_str).unwrap_or_default();
    Some(format!(
        " Each of the {} clients gets an equal part of the load, and client {number} on `{on}` has the least headroom, \
         {least:.0} ops/s.",
        clients.len()
    ))
}

/// The primary's throughput in a phase, in operations per second.
pub(super) fn rate(evidence: &Evidence<'_>, result: &PhaseResult<'_>) -> Option<f64> {
    let (samples, windows) = primary_samples(evidence, result)?;
    let interval_s = evidence.recording.plan.interval_s;
    let series = windows.iter().map(|window| throughput(samples, ThroughputUnit::Requests, *window, interval_s));
    mean(&series.flat_map(|series| series.values).collect::<Vec<_>>())
}

/// The primary's samples, and when a phase in which it ran was measured.
pub(super) fn primary_samples<'a>(
    evidence: &Evidence<'a>,
    result: &'a PhaseResult<'_>,
) -> Option<(&'a Samples, &'a [TimeWindow])> {
    let primary = evidence.recording.plan.primary()?;
    let time = result.outcome.time().ok().filter(|_| result.phase.kind != PhaseKind::Solo)?;
    Some((evidence.series(&primary.name)?, time.windows()))
}
