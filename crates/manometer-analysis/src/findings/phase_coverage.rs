//! Phases that were not measured, only in part, or too briefly.

use manometer_measure::event::{Finding, Severity, ThreatStrength, ThreatTarget};

use super::client_bottleneck::primary_samples;
use super::evidence::Evidence;
use super::rule::{Family, Rule, fatal, minor, serious, with_strength};
use super::text::phase_list;
use crate::needed_length::duration;
use crate::phase_outcome::{PhaseOutcome, block_gap};
use crate::phase_result::PhaseResult;

/// A phase whose samples cover a smaller share of it has gaps.
const SAMPLES_SHARE: f64 = 0.9;

/// With more of its samples than this share, a phase is hardly threatened: what is missing would have to differ from the rest
/// by two fifths to change its mean by a tenth.
const MINOR_SHARE: f64 = 0.75;

/// With fewer of its samples than this share, most of a phase was not seen: nothing can be concluded from it.
const FATAL_SHARE: f64 = 0.5;

/// The most phases whose samples are counted in a finding.
const MAX_COUNTED: usize = 6;

const GAP: Rule = Rule {
    id: "phase-gap",
    severity: Severity::Error,
    threat: fatal(ThreatTarget::Phase, "phases were not measured"),
    source: "the run",
    meaning: "a phase was not measured",
    remedy: "Fix the cause and run it again.",
};

const CUT: Rule = Rule {
    id: "phase-cut",
    severity: Severity::Warning,
    threat: minor(ThreatTarget::Phase, "a phase was not measured to its end"),
    source: "the recording",
    meaning: "a phase was not measured to its end",
    remedy: "Run it again to measure the whole phase.",
};

const SAMPLES_MISSING: Rule = Rule {
    id: "samples-missing",
    severity: Severity::Warning,
    threat: serious(ThreatTarget::Phase, "samples are missing"),
    source: "the recording",
    meaning: "samples cover less than 90 % of a phase: a minor threat from 75 % up, a fatal one below 50 %",
    remedy: "Leave the host idle processor time, or sample less often.",
};

const SHORT: Rule = Rule {
    id: "phase-too-short",
    severity: Severity::Warning,
    threat: serious(ThreatTarget::Phase, "phases were too short for a confidence interval"),
    source: "Schmeiser 1982 (batch means)",
    meaning: "a phase is too short for a confidence interval",
    remedy: "Run longer phases.",
};

pub(super) const FAMILY: Family = Family { rules: &[GAP, CUT, SAMPLES_MISSING, SHORT], evaluate };

fn evaluate(evidence: &Evidence<'_>) -> Vec<Finding> {
    let results = evidence.results;
    let findings =
        gaps(results).into_iter().chain(results.iter().filter_map(truncated_phase)).chain(rounds_missing(evidence));
    findings.chain(samples_missing(evidence)).chain(too_short(results)).collect()
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

fn truncated_phase(result: &PhaseResult<'_>) -> Option<Finding> {
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

/// The phases with missing samples, a finding for each strength of the threat.
fn samples_missing(evidence: &Evidence<'_>) -> Vec<Finding> {
    let missing: Vec<Coverage<'_>> = evidence
        .results
        .iter()
        .filter(|result| result.performance.estimate.mean.is_some())
        .filter_map(|result| Coverage::of(evidence, result))
        .filter(Coverage::is_incomplete)
        .collect();
    let of_strength = |strength: ThreatStrength| {
        let phases: Vec<&Coverage<'_>> = missing.iter().filter(|one| one.strength() == strength).collect();
        (!phases.is_empty()).then(|| with_strength(samples_missing_in(&phases), strength))
    };
    [ThreatStrength::Fatal, ThreatStrength::Serious, ThreatStrength::Minor]
        .into_iter()
        .filter_map(of_strength)
        .collect()
}

fn samples_missing_in(phases: &[&Coverage<'_>]) -> Finding {
    let ids: Vec<&str> = phases.iter().map(|one| one.phase).collect();
    let count = |one: &Coverage<'_>| format!("{} {:.0} of {:.0} {}", one.phase, one.measured, one.all, one.unit);
    let parts: Vec<String> = phases.iter().take(MAX_COUNTED).map(|one| count(one)).collect();
    let more = if phases.len() > MAX_COUNTED { " and others" } else { "" };
    let sentence = format!("Samples are missing: {}{more}; the rest are gaps.", parts.join(", "));
    SAMPLES_MISSING.finding_in(&ids, &sentence)
}

/// How much of a phase its samples cover.
struct Coverage<'a> {
    phase: &'a str,
    measured: f64,
    /// How much there should be.
    all: f64,
    /// What may lie across the boundaries of its stretches, which need not be those of samples.
    edges: f64,
    unit: &'static str,
}

impl<'a> Coverage<'a> {
    /// The coverage by time where the samples have a length, else by their number; by blocks in an interleaved plan.
    fn of(evidence: &Evidence<'_>, result: &'a PhaseResult<'_>) -> Option<Self> {
        let (time, phase) = (result.outcome.time().ok()?, result.id());
        let (seconds, stretches) = (time.seconds(), time.windows().len() as f64);
        let samples = result.performance.estimate.samples as f64;
        if !result.blocks.is_empty() {
            let all = result.blocks.len() as f64;
            return Some(Self { phase, measured: samples, all, edges: 0.0, unit: "blocks" });
        }
        if let Some(measured) = covered_s(evidence, result) {
            return Some(Self { phase, measured, all: seconds, edges: stretches * measured / samples, unit: "s" });
        }
        let all = seconds / evidence.recording.plan.interval_s;
        Some(Self { phase, measured: samples, all, edges: stretches, unit: "samples" }).filter(|_| all.is_finite())
    }

    fn is_incomplete(&self) -> bool {
        self.measured < SAMPLES_SHARE * (self.all - self.edges).floor()
    }

    fn strength(&self) -> ThreatStrength {
        match self.measured / self.all {
            share if share < FATAL_SHARE => ThreatStrength::Fatal,
            share if share < MINOR_SHARE => ThreatStrength::Serious,
            _ => ThreatStrength::Minor,
        }
    }
}

/// The time in seconds that the primary's samples cover: one over a long interval counts as much as many over short ones.
/// `None` for a latency, which has a sample only where there were requests, and where the samples have no length.
fn covered_s(evidence: &Evidence<'_>, result: &PhaseResult<'_>) -> Option<f64> {
    if evidence.recording.plan.criterion.metric != "throughput" {
        return None;
    }
    let (samples, windows) = primary_samples(evidence, result)?;
    let lengths = samples.column("length")?;
    let inside = samples.t_ns.iter().zip(lengths).filter_map(|(end_ns, length_s)| {
        let length_s = (*length_s).filter(|length_s| length_s.is_finite() && *length_s > 0.0)?;
        let begin_ns = end_ns.saturating_sub((length_s * 1e9).round() as u64);
        let is_inside = windows.iter().any(|window| begin_ns >= window.begin_ns && *end_ns <= window.end_ns);
        is_inside.then_some(length_s)
    });
    Some(inside.sum())
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
