//! What a reader of the numbers must know.

mod virtual_disk;

use manometer_measure::event::{Finding, Severity, Status};
use manometer_measure::{Event, Recording};

use crate::pace;
use crate::phases::Fate;
use crate::pressure::TOO_SHORT;
use crate::sources::Sources;
use crate::stable::not_stable;
use crate::summarise::Judged;

/// A phase with fewer samples than this share of what its length has room for misses some.
const ENOUGH_SAMPLES: f64 = 0.9;

/// All findings: what happened in the run, then what the analysis saw. Each once.
pub(crate) fn findings(recording: &Recording, sources: &Sources, judged: &[Judged<'_>]) -> Vec<Finding> {
    // The client as the bottleneck makes all other numbers moot: it comes first.
    let mut findings: Vec<Finding> = pace::client_bottleneck(recording, sources, judged).into_iter().collect();
    findings.extend(recording.events.iter().filter_map(|line| of_event(&line.event)));
    findings.extend(end_of_run(recording));
    findings.extend(damage(sources));
    findings.extend(virtual_disk::finding(recording));
    findings.extend(not_stable(recording, sources));
    findings.extend(judged.iter().filter_map(gap));
    findings.extend(not_run(judged));
    findings.extend(judged.iter().filter_map(|one| missing_samples(recording, one)));
    findings.extend(too_short(judged));
    findings.extend(judged.iter().filter_map(not_steady));
    findings.extend(judged.iter().filter_map(warm_up));
    findings.extend(judged.iter().filter_map(|one| pace::dropped(recording, sources, one)));
    findings.extend(judged.iter().filter_map(|one| pace::waiting(recording, sources, one)));
    let mut once: Vec<Finding> = Vec::new();
    for finding in findings {
        if !once.contains(&finding) {
            once.push(finding);
        }
    }
    once
}

pub(crate) fn finding(id: &str, severity: Severity, phase: Option<&str>, text: String) -> Finding {
    Finding { id: id.to_owned(), severity, phase: phase.map(str::to_owned), text }
}

fn of_event(event: &Event) -> Option<Finding> {
    match event {
        Event::Finding(finding) => Some(finding.clone()),
        Event::Error { workload, text } => {
            Some(finding("worker-failed", Severity::Error, None, format!("`{workload}` failed: {text}")))
        }
        _ => None,
    }
}

fn end_of_run(recording: &Recording) -> Option<Finding> {
    let (id, severity, text) = match recording.status() {
        Some(Status::Complete) => return None,
        Some(Status::Interrupted) => {
            ("interrupted", Severity::Warning, "The run was interrupted: what follows covers what had run by then.")
        }
        Some(Status::Failed) => ("run-failed", Severity::Error, "The run failed before its end."),
        None => {
            let text = "The recording was cut short: it has no end. What follows covers what it holds; a phase that \
                was under way is measured up to its last sample.";
            ("cut-short", Severity::Error, text)
        }
    };
    Some(finding(id, severity, None, text.to_owned()))
}

fn damage(sources: &Sources) -> Option<Finding> {
    let text = format!("Not all of the recording could be read: {}.", sources.damage.join("; "));
    (!sources.damage.is_empty()).then(|| finding("damaged", Severity::Error, None, text))
}

fn gap(one: &Judged<'_>) -> Option<Finding> {
    let id = Some(one.phase.id.as_str());
    match &one.fate {
        Fate::Gap(reason) => {
            Some(finding("phase-gap", Severity::Error, id, format!("{} was not measured: {reason}.", one.phase.id)))
        }
        Fate::Partly(window) => {
            let (got, planned) = (window.seconds(), one.phase.duration_s);
            let text =
                format!("{} was measured for {got:.0} s of {planned:.0} s: the recording breaks off.", one.phase.id);
            Some(finding("phase-cut", Severity::Warning, id, text))
        }
        Fate::Whole(_) | Fate::NotRun(_) => None,
    }
}

fn not_run(judged: &[Judged<'_>]) -> Option<Finding> {
    let missed = judged.iter().filter_map(|one| match &one.fate {
        Fate::NotRun(reason) => Some((one.phase.id.as_str(), reason)),
        _ => None,
    });
    let (ids, reasons): (Vec<&str>, Vec<&String>) = missed.unzip();
    let text = format!("Not measured: {}; {}.", ids.join(", "), reasons.first()?);
    Some(finding("phase-gap", Severity::Error, only(&ids), text))
}

fn only<'a>(ids: &[&'a str]) -> Option<&'a str> {
    match ids {
        [id] => Some(id),
        _ => None,
    }
}

fn missing_samples(recording: &Recording, one: &Judged<'_>) -> Option<Finding> {
    let room = one.fate.window().ok()?.seconds() / recording.plan.interval_s;
    if !room.is_finite() {
        return None;
    }
    // The begin and the end of a phase need not fall on an interval's: one of them may be cut in two.
    let expected = ENOUGH_SAMPLES * (room - 1.0).floor();
    let samples = one.performance.told.samples;
    one.performance.told.mean?;
    let text = format!("{} has {samples} samples where {room:.0} have room: the others are gaps.", one.phase.id);
    ((samples as f64) < expected).then(|| finding("samples-missing", Severity::Warning, Some(&one.phase.id), text))
}

fn too_short(judged: &[Judged<'_>]) -> Option<Finding> {
    let short = judged.iter().filter(|one| one.performance.told.reason.as_deref() == Some(TOO_SHORT));
    let ids: Vec<&str> = short.map(|one| one.phase.id.as_str()).collect();
    let text = format!(
        "Too short for an interval: {}. Samples remember each other; an interval needs at least five batches of three \
         autocorrelation times. Quantiles are shown instead. Run longer phases to know more.",
        ids.join(", ")
    );
    (!ids.is_empty()).then(|| finding("phase-too-short", Severity::Warning, only(&ids), text))
}

fn not_steady(one: &Judged<'_>) -> Option<Finding> {
    let judged = one.steadiness.filter(|steadiness| !steadiness.steady())?;
    let percent = |share: f64| 100.0 * share;
    let mut text = format!(
        "{} was not steady: over five rounds it ranges over {:.0} % of its average (20 % allowed) and its line moves \
         by {:.0} % (10 % allowed)",
        one.phase.id,
        percent(judged.rounds.range),
        percent(judged.rounds.excursion),
    );
    if judged.drifted() {
        text += &format!("; it drifts by {:+.0} % over the phase", percent(judged.drift));
    }
    Some(finding("not-steady", Severity::Warning, Some(&one.phase.id), text + "."))
}

fn warm_up(one: &Judged<'_>) -> Option<Finding> {
    let warm_up = one.warm_up?;
    let text = format!(
        "A warm-up is visible in the first {:.0} s of {}: without them its mean would be {:+.0} %. Nothing was left \
         out; a longer settle time would avoid it.",
        warm_up.length_s,
        one.phase.id,
        100.0 * warm_up.shift,
    );
    Some(finding("warm-up-visible", Severity::Info, Some(&one.phase.id), text))
}
