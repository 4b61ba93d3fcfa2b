//! Phases that were not measured, only in part, or too briefly.

use manometer_measure::PhaseKind;
use manometer_measure::event::{Finding, Severity, ThreatStrength, ThreatTarget};

use super::evidence::Evidence;
use super::rule::{Family, Rule, fatal, minor, serious, with_strength};
use super::text::phase_list;
use crate::criterion::{Metric, ThroughputUnit};
use crate::criterion_series::criterion_series;
use crate::needed_length::duration;
use crate::phase_outcome::{PhaseOutcome, block_gap};
use crate::phase_result::PhaseResult;
use crate::pressure::{Performance, TOO_SHORT};
use crate::time_series::covered_s;

/// A phase whose samples cover a smaller share of it has gaps.
const SAMPLES_SHARE: f64 = 0.9;

/// With more of its samples than this share, a phase is hardly threatened: what is missing would have to differ from the rest
/// by two fifths to change its mean by a tenth.
const MINOR_SHARE: f64 = 0.75;

/// With fewer of its samples than this share, most of a phase was not seen: nothing can be concluded from it.
const FATAL_SHARE: f64 = 0.5;

/// A phase that is shorter than this share of its planned length ended early.
const LENGTH_SHARE: f64 = 0.9;

/// The most phases whose samples are counted in a finding.
const MAX_COUNTED: usize = 6;

const GAP: Rule = Rule {
    id: "phase-gap",
    severity: Severity::Error,
    threat: fatal(ThreatTarget::Phase, "phases were not measured"),
    source: "the run",
    meaning: "a phase was not measured; without a primary, a workload that runs in it was not",
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
    meaning: "a phase, or without a primary a workload in it, has no confidence interval, or its pressure has none",
    remedy: "Run longer phases.",
};

pub(super) const FAMILY: Family = Family { rules: &[GAP, CUT, SAMPLES_MISSING, SHORT], evaluate };

fn evaluate(evidence: &Evidence<'_>) -> Vec<Finding> {
    let shortened = evidence.results.iter().filter_map(shortened_phase);
    let findings = gaps(evidence).into_iter().chain(shortened).chain(rounds_missing(evidence));
    findings.chain(samples_missing(evidence)).chain(without_interval(evidence)).collect()
}

/// The phases that were not measured, each reason once.
fn gaps(evidence: &Evidence<'_>) -> Option<Finding> {
    let mut by_reason: Vec<(String, Vec<&str>)> = Vec::new();
    let mut all: Vec<&str> = Vec::new();
    for result in evidence.results {
        let Some(reason) = gap_reason(evidence, result) else { continue };
        all.push(result.id());
        match by_reason.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, ids)) => ids.push(result.id()),
            None => by_reason.push((reason, vec![result.id()])),
        }
    }
    let parts = by_reason.iter().map(|(reason, ids)| format!("{} ({reason})", phase_list(ids)));
    let parts = parts.collect::<Vec<_>>().join("; ");
    (!all.is_empty()).then(|| GAP.finding_in(&all, &format!("Not measured: {parts}.")))
}

/// Why there is nothing of a phase: it did not run, no sample of the primary lies in it, or, without a primary, none of a workload
/// that has some elsewhere.
fn gap_reason(evidence: &Evidence<'_>, result: &PhaseResult<'_>) -> Option<String> {
    if let Err(reason) = result.outcome.time() {
        return Some(reason.to_owned());
    }
    if evidence.recording.plan.primary().is_some() {
        let estimate = &result.performance.estimate;
        let is_missing = estimate.mean.is_none() && result.phase.kind != PhaseKind::Solo;
        return estimate.reason.clone().filter(|_| is_missing);
    }
    let is_measured = |name: &str, result: &PhaseResult<'_>| {
        result.neighbours.get(name).is_some_and(|performance| performance.estimate.mean.is_some())
    };
    let missing = result
        .neighbours
        .keys()
        .find(|name| !is_measured(name, result) && evidence.results.iter().any(|other| is_measured(name, other)))?;
    Some(format!("no whole sample interval of `{missing}` lies in it"))
}

/// A phase of a ladder whose end is not recorded, or came long before the planned one.
fn shortened_phase(result: &PhaseResult<'_>) -> Option<Finding> {
    let (planned, measured) = (result.phase.duration_s, result.length_s());
    let why = match &result.outcome {
        PhaseOutcome::Truncated(_) => "its end is not recorded",
        PhaseOutcome::Complete(_) if measured < LENGTH_SHARE * planned => "it ended early",
        _ => return None,
    };
    let id = result.id();
    let sentence = format!("{id} was measured for {measured:.0} s of {planned:.0} s: {why}.");
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

/// What an import cannot mend.
const IMPORTED_REMEDY: &str = "The imported file has no more: run it again if these phases matter.";

/// The phases with missing samples, a finding for each strength of the threat.
fn samples_missing(evidence: &Evidence<'_>) -> Vec<Finding> {
    let missing: Vec<Coverage<'_>> = evidence
        .results
        .iter()
        .filter_map(|result| Coverage::of(evidence, result))
        .filter(Coverage::is_incomplete)
        .collect();
    let of_strength = |strength: ThreatStrength| {
        let phases: Vec<&Coverage<'_>> = missing.iter().filter(|one| one.strength() == strength).collect();
        (!phases.is_empty()).then(|| with_strength(samples_missing_in(evidence, &phases), strength))
    };
    [ThreatStrength::Fatal, ThreatStrength::Serious, ThreatStrength::Minor]
        .into_iter()
        .filter_map(of_strength)
        .collect()
}

fn samples_missing_in(evidence: &Evidence<'_>, phases: &[&Coverage<'_>]) -> Finding {
    let ids: Vec<&str> = phases.iter().map(|one| one.phase).collect();
    let count = |one: &Coverage<'_>| format!("{} {:.0} of {:.0} {}", one.phase, one.measured, one.all, one.unit);
    let parts: Vec<String> = phases.iter().take(MAX_COUNTED).map(|one| count(one)).collect();
    let more = if phases.len() > MAX_COUNTED { " and others" } else { "" };
    let sentence = format!("Samples are missing: {}{more}; the rest are gaps.", parts.join(", "));
    let remedy = if evidence.is_imported() { IMPORTED_REMEDY } else { SAMPLES_MISSING.remedy };
    SAMPLES_MISSING.finding_with_remedy(&ids, &sentence, remedy)
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
    /// That of the primary, or without one that of the neighbour whose samples cover least; `None` where nothing was measured.
    fn of(evidence: &Evidence<'_>, result: &'a PhaseResult<'_>) -> Option<Self> {
        let plan = &evidence.recording.plan;
        if let Some(primary) = plan.primary() {
            let metric = Metric::of(&plan.criterion).ok()?;
            return Self::of_workload(evidence, result, &primary.name, metric, &result.performance);
        }
        let of_neighbour = |(name, performance): (&String, &Performance)| {
            let throughput = Metric::Throughput(ThroughputUnit::of(&performance.estimate.unit).ok()?);
            Self::of_workload(evidence, result, name, throughput, performance)
        };
        let coverages = result.neighbours.iter().filter_map(of_neighbour);
        coverages.min_by(|one, other| one.share().total_cmp(&other.share()))
    }

    /// The coverage by time, or by the number of samples for a latency, whose samples have no length of their own.
    fn of_workload(
        evidence: &Evidence<'_>,
        result: &'a PhaseResult<'_>,
        name: &str,
        metric: Metric,
        performance: &Performance,
    ) -> Option<Self> {
        performance.estimate.mean?;
        let (time, phase) = (result.outcome.time().ok()?, result.id());
        let plan = &evidence.recording.plan;
        let stretches = time.windows().len() as f64;
        // The blocks of an interleaved plan begin and end with samples; a phase need not.
        let (seconds, edges) = match &plan.interleaved {
            Some(rounds) if !result.blocks.is_empty() => (stretches * rounds.measured_s(), 0.0),
            _ => (time.seconds(), stretches),
        };
        match metric {
            Metric::Throughput(unit) => {
                let samples = evidence.series(name)?;
                let covered = time.windows().iter().map(|window| covered_s(samples, unit, *window, plan.interval_s));
                let measured: f64 = covered.sum();
                let interval_s = measured / performance.estimate.samples as f64;
                Some(Self { phase, measured, all: seconds, edges: edges * interval_s, unit: "s" })
            }
            Metric::Latency { .. } => {
                let series = criterion_series(evidence.recording, evidence.data, result.phase, time).ok()?;
                let measured: usize = series.iter().map(|series| series.values.len()).sum();
                let all = seconds / plan.interval_s;
                let coverage = Self { phase, measured: measured as f64, all, edges, unit: "samples" };
                Some(coverage).filter(|coverage| coverage.all.is_finite())
            }
        }
    }

    fn is_incomplete(&self) -> bool {
        self.measured < SAMPLES_SHARE * (self.all - self.edges).floor()
    }

    fn share(&self) -> f64 {
        self.measured / self.all
    }

    fn strength(&self) -> ThreatStrength {
        match self.share() {
            share if share < FATAL_SHARE => ThreatStrength::Fatal,
            share if share < MINOR_SHARE => ThreatStrength::Serious,
            _ => ThreatStrength::Minor,
        }
    }
}

/// The phases without a confidence interval of what is judged: of a performance, or of a pressure.
fn without_interval(evidence: &Evidence<'_>) -> Option<Finding> {
    let (short, needed) = too_short(evidence);
    let (without_pressure, reason) = without_pressure(evidence.results);
    let mut sentences = Vec::new();
    if !short.is_empty() {
        let list = phase_list(&short);
        sentences.push(format!("Too short for a confidence interval: {list}. Quantiles are reported instead.{needed}"));
    }
    if !without_pressure.is_empty() {
        let list = phase_list(&without_pressure);
        sentences.push(format!("The pressure has no confidence interval in {list}: {reason}."));
    }
    let mut ids = short;
    ids.extend(without_pressure);
    let remedy = if evidence.recording.plan.interleaved.is_some() { "Run more rounds." } else { SHORT.remedy };
    (!ids.is_empty()).then(|| SHORT.finding_with_remedy(&ids, &sentences.join(" "), remedy))
}

/// The phases that are too short, and which length would do, as a further sentence; empty where none is known.
fn too_short<'a>(evidence: &Evidence<'a>) -> (Vec<&'a str>, String) {
    let is_short = |performance: &&Performance| {
        let estimate = &performance.estimate;
        estimate.mean.is_some() && estimate.ci_low.is_none()
    };
    let ladder = evidence.results.iter().filter(|result| result.blocks.is_empty());
    let short = ladder.filter_map(|result| {
        let performances: Vec<&Performance> =
            evidence.judged_performances(result).into_iter().filter(is_short).collect();
        (!performances.is_empty()).then_some((result.id(), performances))
    });
    let (ids, performances): (Vec<&str>, Vec<Vec<&Performance>>) = short.unzip();
    let needed_s = performances.iter().flatten().filter_map(|one| Some(one.estimate.needed.as_ref()?.phase_s));
    let needed = needed_s.max_by(f64::total_cmp);
    let needed = needed.map_or_else(String::new, |needed| format!(" An interval needs about {}.", duration(needed)));
    (ids, needed)
}

/// The phases whose pressure has no interval for another reason than the length of a phase, and the first such reason.
fn without_pressure<'a>(results: &'a [PhaseResult<'_>]) -> (Vec<&'a str>, &'a str) {
    let reasons = results.iter().filter_map(|result| {
        let pressure = &result.pressure;
        let reason = pressure.reason.as_deref().filter(|reason| pressure.value.is_some() && *reason != TOO_SHORT)?;
        Some((result.id(), reason.trim_start_matches("no confidence interval: ")))
    });
    let (ids, reasons): (Vec<&str>, Vec<&str>) = reasons.unzip();
    (ids, reasons.first().copied().unwrap_or_default())
}
