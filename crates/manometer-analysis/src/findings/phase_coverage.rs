//! Phases that were not measured, only in part, or too briefly.

use manometer_measure::event::{Finding, Severity};

use super::evidence::Evidence;
use super::rule::{Family, Rule};
use super::text::only_phase;
use crate::needed_length::duration;
use crate::phase_outcome::PhaseOutcome;
use crate::phase_result::PhaseResult;

/// A phase with fewer samples than this share of its sample intervals has gaps.
const SAMPLES_SHARE: f64 = 0.9;

const GAP: Rule = Rule {
    id: "phase-gap",
    severity: Severity::Error,
    source: "the run",
    meaning: "a phase was not measured",
    remedy: "Fix the cause and run it again.",
};

const CUT: Rule = Rule {
    id: "phase-cut",
    severity: Severity::Warning,
    source: "the recording",
    meaning: "a phase was not measured to its end",
    remedy: "Run it again to measure the whole phase.",
};

const SAMPLES_MISSING: Rule = Rule {
    id: "samples-missing",
    severity: Severity::Warning,
    source: "the recording",
    meaning: "a phase has fewer than 90 % of the samples that its length allows",
    remedy: "Leave the host idle processor time, or sample less often.",
};

const SHORT: Rule = Rule {
    id: "phase-too-short",
    severity: Severity::Warning,
    source: "Schmeiser 1982 (batch means)",
    meaning: "a phase is too short for a confidence interval",
    remedy: "Run longer phases.",
};

pub(super) const FAMILY: Family = Family { rules: &[GAP, CUT, SAMPLES_MISSING, SHORT], evaluate };

fn evaluate(evidence: &Evidence<'_>) -> Vec<Finding> {
    let (results, interval_s) = (evidence.results, evidence.recording.plan.interval_s);
    let mut findings: Vec<Finding> = results.iter().filter_map(gap).collect();
    findings.extend(not_run(results));
    findings.extend(results.iter().filter_map(|result| samples_missing(interval_s, result)));
    findings.extend(too_short(results));
    findings
}

fn gap(result: &PhaseResult<'_>) -> Option<Finding> {
    let id = result.id();
    match &result.outcome {
        PhaseOutcome::Gap(reason) => Some(GAP.finding(Some(id), &format!("{id} was not measured: {reason}."))),
        PhaseOutcome::Truncated(window) => {
            let (measured, planned) = (window.seconds(), result.phase.duration_s);
            let sentence = format!(
                "{id} was measured for {measured:.0} s of {planned:.0} s: the recording ends within the phase."
            );
            Some(CUT.finding(Some(id), &sentence))
        }
        PhaseOutcome::Complete(_) | PhaseOutcome::NotRun(_) => None,
    }
}

fn not_run(results: &[PhaseResult<'_>]) -> Option<Finding> {
    let not_run = results.iter().filter_map(|result| match &result.outcome {
        PhaseOutcome::NotRun(reason) => Some((result.id(), reason)),
        _ => None,
    });
    let (ids, reasons): (Vec<&str>, Vec<&String>) = not_run.unzip();
    let sentence = format!("Not measured: {}; {}.", ids.join(", "), reasons.first()?);
    Some(GAP.finding(only_phase(&ids), &sentence))
}

fn samples_missing(interval_s: f64, result: &PhaseResult<'_>) -> Option<Finding> {
    let intervals = result.outcome.window().ok()?.seconds() / interval_s;
    result.performance.estimate.mean.filter(|_| intervals.is_finite())?;
    // A phase need not start and end on the boundary of an interval: one of them may lie across it.
    let expected = SAMPLES_SHARE * (intervals - 1.0).floor();
    let samples = result.performance.estimate.samples;
    let sentence = format!("{} has {samples} of {intervals:.0} samples: the others are gaps.", result.id());
    ((samples as f64) < expected).then(|| SAMPLES_MISSING.finding(Some(result.id()), &sentence))
}

fn too_short(results: &[PhaseResult<'_>]) -> Option<Finding> {
    let needed_s = |result: &PhaseResult<'_>| Some(result.performance.estimate.needed.as_ref()?.phase_s);
    let short: Vec<&PhaseResult<'_>> = results.iter().filter(|result| needed_s(result).is_some()).collect();
    let ids: Vec<&str> = short.iter().map(|result| result.id()).collect();
    let needed_s = short.iter().filter_map(|result| needed_s(result)).max_by(f64::total_cmp)?;
    let sentence = format!(
        "Too short for a confidence interval: {}. Quantiles are reported instead. An interval needs at least {}.",
        ids.join(", "),
        duration(needed_s)
    );
    Some(SHORT.finding(None, &sentence))
}
