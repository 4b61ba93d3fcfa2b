//! Phases that were not measured, only in part, or too briefly.

use manometer_measure::event::{Finding, Severity, Threatened};

use super::evidence::Evidence;
use super::rule::{Family, Rule, fatal, minor, serious};
use super::text::phase_list;
use crate::needed_length::duration;
use crate::phase_outcome::{PhaseOutcome, block_gap};
use crate::phase_result::PhaseResult;

/// A phase with fewer samples than this share of its sample intervals has gaps.
const SAMPLES_SHARE: f64 = 0.9;

/// The most phases whose samples are counted in a finding.
const MAX_COUNTED: usize = 6;

const GAP: Rule = Rule {
    id: "phase-gap",
    severity: Severity::Error,
    threat: fatal(Threatened::Phase, "phases were not measured"),
    source: "the run",
    meaning: "a phase was not measured",
    remedy: "Fix the cause and run it again.",
};

const CUT: Rule = Rule {
    id: "phase-cut",
    severity: Severity::Warning,
    threat: minor(Threatened::Phase, "a phase was not measured to its end"),
    source: "the recording",
    meaning: "a phase was not measured to its end",
    remedy: "Run it again to measure the whole phase.",
};

const SAMPLES_MISSING: Rule = Rule {
    id: "samples-missing",
    severity: Severity::Warning,
    threat: serious(Threatened::Phase, "samples are missing"),
    source: "the recording",
    meaning: "a phase has fewer than 90 % of the samples that its length allows",
    remedy: "Leave the host idle processor time, or sample less often.",
};

const SHORT: Rule = Rule {
    id: "phase-too-short",
    severity: Severity::Warning,
    threat: serious(Threatened::Phase, "phases were too short for a confidence interval"),
    source: "Schmeiser 1982 (batch means)",
    meaning: "a phase is too short for a confidence interval",
    remedy: "Run longer phases.",
};

pub(super) const FAMILY: Family = Family { rules: &[GAP, CUT, SAMPLES_MISSING, SHORT], evaluate };

fn evaluate(evidence: &Evidence<'_>) -> Vec<Finding> {
    let (results, interval_s) = (evidence.results, evidence.recording.plan.interval_s);
    let findings = gaps(results).into_iter().chain(results.iter().filter_map(cut)).chain(rounds_missing(evidence));
    findings.chain(samples_missing(interval_s, results)).chain(too_short(results)).collect()
}

/// The phases that were not measured, each reason once.
fn gaps(results: &[PhaseResult<'_>]) -> Option<Finding> {
    let mut by_reason: Vec<(&str, Vec<&str>)> = Vec::new();
    for result in results {
        let Err(reason) = result.outcome.time() else { continue };
        match by_reason.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, ids)) => ids.push(result.id()),
            None => by_reason.push((reason, vec![result.id()])),
        }
    }
    let parts = by_reason.iter().map(|(reason, ids)| format!("{} ({reason})", phase_list(ids)));
    let parts = parts.collect::<Vec<_>>().join("; ");
    let ids: Vec<&str> = results.iter().filter(|result| result.outcome.time().is_err()).map(PhaseResult::id).collect();
    (!ids.is_empty()).then(|| GAP.finding_in(&ids, &format!("Not measured: {parts}.")))
}

fn cut(result: &PhaseResult<'_>) -> Option<Finding> {
    let PhaseOutcome::Truncated(time) = &result.outcome else { return None };
    let (id, measured, planned) = (result.id(), time.seconds(), result.phase.duration_s);
    let sentence =
        format!("{id} was measured for {measured:.0} s of {planned:.0} s: the recording ends within the phase.");
    result.blocks.is_empty().then(|| CUT.finding(Some(id), &sentence))
}

/// The rounds of an interleaved plan that were not measured.
fn rounds_missing(evidence: &Evidence<'_>) -> Option<Finding> {
    let planned = evidence.recording.plan.interleaved.as_ref()?.rounds as usize;
    let counts = evidence.results.iter().map(|result| result.blocks.len()).filter(|blocks| *blocks > 0);
    let measured = counts.min().filter(|measured| *measured < planned)?;
    let reason = block_gap(evidence.recording).unwrap_or("the recording ends within the rounds");
    let sentence = format!("{measured} of {planned} rounds were measured: {reason}.");
    Some(CUT.finding(None, &sentence))
}

fn samples_missing(interval_s: f64, results: &[PhaseResult<'_>]) -> Option<Finding> {
    let counts: Vec<(&str, usize, f64)> = results.iter().filter_map(|result| missing_in(interval_s, result)).collect();
    let ids: Vec<&str> = counts.iter().map(|(id, ..)| *id).collect();
    let parts: Vec<String> =
        counts.iter().take(MAX_COUNTED).map(|(id, samples, all)| format!("{id} {samples} of {all:.0}")).collect();
    let more = if counts.len() > MAX_COUNTED { " and others" } else { "" };
    let unit = if results.iter().any(|result| !result.blocks.is_empty()) { "Blocks" } else { "Samples" };
    let sentence = format!("{unit} are missing: {}{more}; the rest are gaps.", parts.join(", "));
    (!ids.is_empty()).then(|| SAMPLES_MISSING.finding_in(&ids, &sentence))
}

/// How many samples, or blocks, of a phase there are and should be, where some are missing.
fn missing_in<'a>(interval_s: f64, result: &'a PhaseResult<'_>) -> Option<(&'a str, usize, f64)> {
    let time = result.outcome.time().ok()?;
    let (intervals, stretches) = match result.blocks.is_empty() {
        true => (time.seconds() / interval_s, time.windows().len()),
        false => (result.blocks.len() as f64, 0),
    };
    result.performance.estimate.mean.filter(|_| intervals.is_finite())?;
    // A measured interval need not start and end on the boundary of a sample interval, which may lie across it.
    let expected = SAMPLES_SHARE * (intervals - stretches as f64).floor();
    let samples = result.performance.estimate.samples;
    ((samples as f64) < expected).then_some((result.id(), samples, intervals))
}

fn too_short(results: &[PhaseResult<'_>]) -> Option<Finding> {
    let needed_s = |result: &PhaseResult<'_>| Some(result.performance.estimate.needed.as_ref()?.phase_s);
    let short: Vec<&PhaseResult<'_>> =
        results.iter().filter(|result| result.blocks.is_empty() && needed_s(result).is_some()).collect();
    let ids: Vec<&str> = short.iter().map(|result| result.id()).collect();
    let needed_s = short.iter().filter_map(|result| needed_s(result)).max_by(f64::total_cmp)?;
    let sentence = format!(
        "Too short for a confidence interval: {}. Quantiles are reported instead. An interval needs at least {}.",
        phase_list(&ids),
        duration(needed_s)
    );
    Some(SHORT.finding_in(&ids, &sentence))
}
