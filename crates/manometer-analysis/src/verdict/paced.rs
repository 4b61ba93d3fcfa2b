//! The criterion of a paced primary: a primary that keeps its rate has the same throughput in every phase, by construction.

use std::borrow::Cow;

use manometer_measure::event::{Event, EventLine, Finding};
use manometer_measure::latency_log::response_tag;
use manometer_measure::operation::is_background;
use manometer_measure::plan::{BetterDirection, Criterion, Phase};
use manometer_measure::{PhaseKind, Rate, Recording, Samples};
use serde_json::Value;

use crate::findings::{PACED_THROUGHPUT, PACED_WITHOUT_LATENCIES};
use crate::phase_outcome::phase_outcome;
use crate::recording_data::RecordingData;
use crate::time_series::{TimeWindow, total};

/// A primary keeps its rate if it reaches this share of it in `w0`.
const KEPT_SHARE: f64 = 0.95;

/// `recording` with the criterion by which it is judged: where its primary is paced and kept its rate in `w0`, the p99 of its
/// main operation instead of the throughput, and a finding that says so. Where there are no latencies, the finding says that
/// the throughput says little.
pub(crate) fn judged_by<'a>(recording: &'a Recording, data: &RecordingData) -> Cow<'a, Recording> {
    let pace =
        Some(()).filter(|()| recording.plan.criterion.metric == "throughput").and_then(|()| pace(recording, data));
    let Some(Pace { cause, metric }) = pace else { return Cow::Borrowed(recording) };
    let its = "its throughput is that rate, whatever a neighbour costs.";
    let Some(metric) = metric else {
        let sentence = format!("{cause}: {its} There are no latencies by which to judge it instead.");
        return Cow::Owned(with_finding(recording.clone(), PACED_WITHOUT_LATENCIES.finding(None, &sentence)));
    };
    let sentence = format!("{cause}: {its} It is judged by `{metric}` instead of `throughput`.");
    let finding = PACED_THROUGHPUT.finding(None, &sentence);
    let criterion = Criterion { metric, unit: "us".to_owned(), better: BetterDirection::Lower };
    Cow::Owned(with_finding(with_criterion(recording, criterion), finding))
}

/// The same recording, judged by `criterion`.
pub(crate) fn with_criterion(recording: &Recording, criterion: Criterion) -> Recording {
    let mut judged = recording.clone();
    judged.plan.criterion = criterion;
    judged
}

fn with_finding(mut recording: Recording, finding: Finding) -> Recording {
    recording.events.push(EventLine { t_ns: 0, event: Event::Finding(finding) });
    recording
}

/// How a primary is paced, and what it can be judged by.
struct Pace {
    /// That it is paced, and by what, as the beginning of a sentence.
    cause: String,
    /// The p99 of its main operation; `None` without latencies.
    metric: Option<String>,
}

/// The pace of the primary, if it kept it in `w0`; `None` for one in a closed loop, or with dropped requests.
fn pace(recording: &Recording, data: &RecordingData) -> Option<Pace> {
    let primary = recording.plan.primary()?;
    let baselines = recording.plan.phases.iter().filter(|phase| phase.kind == PhaseKind::Baseline);
    let outcomes = baselines.map(|phase| (phase, phase_outcome(recording, data, phase)));
    let (w0, windows) =
        outcomes.filter_map(|(w0, outcome)| Some((w0, outcome.time().ok()?.windows().to_vec()))).next()?;
    let samples = data.samples(&primary.name)?;
    let operation = main_operation(samples, &windows);
    let has = |tag: &str| {
        let mut bounds = windows.iter().map(|window| window.bounds_s(recording));
        bounds.any(|(begin_s, end_s)| data.latency.intervals_between(tag, begin_s, end_s).next().is_some())
    };
    let dropped = total(samples, |name| name == "dropped", &windows);
    let response = operation.as_ref().filter(|operation| has(&response_tag(operation)));
    if let Some(operation) = response.filter(|_| dropped == 0.0) {
        let cause = "The primary is paced and kept its rate in w0".to_owned();
        return Some(Pace { cause, metric: Some(format!("response.{operation}.p99")) });
    }
    // A workload that is only held back has no time at which a request was due.
    let service =
        operation.as_ref().filter(|operation| has(operation)).map(|operation| format!("latency.{operation}.p99"));
    held_back(recording, w0, samples, &windows)
        .filter(|_| response.is_none())
        .map(|cause| Pace { cause, metric: service })
}

/// What holds the primary back, as the beginning of a sentence; `None` where nothing does, or it is slower than that.
fn held_back(recording: &Recording, w0: &Phase, samples: &Samples, windows: &[TimeWindow]) -> Option<String> {
    let name = &recording.plan.primary()?.name;
    let facts = recording.events.iter().rev().find_map(|line| match &line.event {
        Event::Ready { workload, facts } if workload == name => Some(facts),
        _ => None,
    })?;
    if let Some(option) = facts.get("paced_by").and_then(Value::as_str) {
        return Some(format!("The primary paces itself (`{option}`)"));
    }
    let set = w0.settings.get(&format!("{name}.rate")).or_else(|| facts.get("rate"))?.as_str()?;
    let seconds: f64 = windows.iter().map(TimeWindow::seconds).sum();
    let (wanted, unit) = match set.parse().ok()? {
        Rate::Requests(requests) => (requests, ".requests"),
        Rate::Bytes(bytes) => (bytes as f64, ".bytes"),
    };
    let reached = total(samples, |column| column.ends_with(unit), windows) / seconds;
    (reached >= KEPT_SHARE * wanted).then(|| format!("The primary has a rate of {set} and kept it in w0"))
}

/// The operation with the most requests in `windows`.
pub(crate) fn main_operation(samples: &Samples, windows: &[TimeWindow]) -> Option<String> {
    let names = samples.columns.iter().filter_map(|column| column.name.strip_suffix(".requests"));
    let counts = names.filter(|name| !is_background(name)).map(|name| {
        let column = format!("{name}.requests");
        (name, total(samples, |other| other == column, windows))
    });
    let (most, requests) = counts.max_by(|one, other| one.1.total_cmp(&other.1))?;
    (requests > 0.0).then(|| most.to_owned())
}
