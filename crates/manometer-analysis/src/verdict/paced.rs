//! The criterion of a paced primary: a primary that keeps its rate has the same throughput in every phase, by construction.

use std::borrow::Cow;

use manometer_measure::event::{Event, EventLine, Finding};
use manometer_measure::latency_log::response_tag;
use manometer_measure::operation::is_background;
use manometer_measure::plan::{BetterDirection, Criterion, Plan};
use manometer_measure::{PhaseKind, Recording};

use crate::findings::PACED_THROUGHPUT;
use crate::phase_outcome::phase_outcome;
use crate::recording_data::RecordingData;
use crate::time_series::{latency_intervals, total};

/// `recording` with the criterion by which it is judged: where its primary is paced and kept its rate in `w0`, the p99
/// response time of its main operation instead of the throughput, and a finding that says so.
pub(crate) fn judged_by<'a>(recording: &'a Recording, data: &RecordingData) -> Cow<'a, Recording> {
    let criterion = &recording.plan.criterion;
    let Some(operation) = paced_operation(recording, data).filter(|_| criterion.metric == "throughput") else {
        return Cow::Borrowed(recording);
    };
    let metric = format!("response.{operation}.p99");
    let sentence = format!(
        "The primary is paced and kept its rate in w0: its throughput equals that rate, regardless of interference. It \
         is judged by `{metric}` instead of `throughput`."
    );
    let finding = PACED_THROUGHPUT.finding(None, &sentence);
    let criterion = Criterion { metric, unit: "us".to_owned(), better: BetterDirection::Lower };
    Cow::Owned(with_finding(with_criterion(recording, criterion), finding))
}

/// The same recording, judged by `criterion`.
pub(crate) fn with_criterion(recording: &Recording, criterion: Criterion) -> Recording {
    Recording { plan: Plan { criterion, ..recording.plan.clone() }, ..recording.clone() }
}

fn with_finding(mut recording: Recording, finding: Finding) -> Recording {
    recording.events.push(EventLine { t_ns: 0, event: Event::Finding(finding) });
    recording
}

/// The main operation of a paced primary that kept its rate in `w0`; `None` for one in a closed loop, or with dropped
/// requests.
fn paced_operation(recording: &Recording, data: &RecordingData) -> Option<String> {
    let primary = recording.plan.primary()?;
    let baselines = recording.plan.phases.iter().filter(|phase| phase.kind == PhaseKind::Baseline);
    let outcomes = baselines.map(|phase| phase_outcome(recording, data, phase));
    let windows = outcomes.filter_map(|outcome| Some(outcome.time().ok()?.windows().to_vec())).next()?;
    let samples = data.samples(&primary.name)?;
    let operation = main_operation(samples, &windows)?;
    let tag = response_tag(&operation);
    let is_open = windows
        .iter()
        .any(|window| latency_intervals(&data.latency, &tag, window.bounds_s(recording)).next().is_some());
    (is_open && total(samples, |name| name == "dropped", &windows) == 0.0).then_some(operation)
}

/// The operation with the most requests in `windows`.
pub(crate) fn main_operation(
    samples: &manometer_measure::Samples,
    windows: &[crate::time_series::TimeWindow],
) -> Option<String> {
    let names = samples.columns.iter().filter_map(|column| column.name.strip_suffix(".requests"));
    let counts = names.filter(|name| !is_background(name)).map(|name| {
        let column = format!("{name}.requests");
        (name, total(samples, |other| other == column, windows))
    });
    let (most, requests) = counts.max_by(|one, other| one.1.total_cmp(&other.1))?;
    (requests > 0.0).then(|| most.to_owned())
}
