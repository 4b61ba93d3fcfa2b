//! Neighbours that did nothing in a phase that measures their pressure.

use manometer_measure::event::{Finding, Severity, ThreatStrength, ThreatTarget};
use manometer_measure::plan::Role;
use manometer_measure::{PlannedWorkload, Samples};

use super::evidence::Evidence;
use super::rule::{Family, Rule, serious, with_strength};
use super::text::phase_list;
use crate::phase_result::PhaseResult;
use crate::statistics::moments::median;
use crate::time_series::TimeWindow;

/// A program that did nothing for this share of a phase was preparing, or had ended: it reports each second or so.
const IDLE_SHARE: f64 = 0.1;

/// From this share on, most of the phase had no neighbour.
const FATAL_SHARE: f64 = 0.5;

const IDLE: Rule = Rule {
    id: "neighbour-idle",
    severity: Severity::Warning,
    threat: serious(ThreatTarget::Phase, "a neighbour did nothing for part of the time"),
    source: "the recording",
    meaning: "no request of a neighbour ended in a phase, or of an external program without a rate of its own in 10 % of a \
        phase, a report at each end aside; a fatal threat from 50 % up",
    remedy: "Let the neighbour prepare its files or data first (`prepare` of an external program), or make `plan.settle` longer.",
};

pub(super) const FAMILY: Family = Family { rules: &[IDLE], evaluate };

fn evaluate(evidence: &Evidence<'_>) -> Vec<Finding> {
    // An import has its own finding, and cannot be mended.
    let plan = &evidence.recording.plan;
    let neighbours = plan.workloads.iter().filter(|one| one.role == Role::Neighbour && !evidence.is_imported());
    neighbours.filter_map(|neighbour| idle(evidence, neighbour)).collect()
}

/// The phases in which `neighbour` was idle.
fn idle(evidence: &Evidence<'_>, neighbour: &PlannedWorkload) -> Option<Finding> {
    let samples = evidence.series(&neighbour.name)?;
    let is_paced = evidence.facts_of(&neighbour.name).is_some_and(|facts| facts.contains_key("paced_by"));
    let runs_freely = neighbour.kind == "command" && !is_paced;
    let in_phase = |(result, windows): (&'_ PhaseResult<'_>, &[TimeWindow])| {
        let runs = result.phase.running.contains(&neighbour.name);
        let idle = IdleTime::of(samples, windows);
        let is_idle = idle.is_whole() || (runs_freely && idle.share() >= IDLE_SHARE);
        (runs && is_idle).then(|| (result.id().to_owned(), idle))
    };
    let phases: Vec<(String, IdleTime)> = evidence.measured_phases().filter_map(in_phase).collect();
    let worst = phases.iter().map(|(_, idle)| idle.share()).max_by(f64::total_cmp)?;
    let ids: Vec<&str> = phases.iter().map(|(id, _)| id.as_str()).collect();
    let (idle_s, all_s) = phases.iter().fold((0.0, 0.0), |sum, (_, idle)| (sum.0 + idle.idle_s, sum.1 + idle.all_s));
    let (name, list) = (&neighbour.name, phase_list(&ids));
    let sentence = format!("No request of `{name}` ended in {idle_s:.0} of {all_s:.0} s of {list}.");
    let strength = if worst >= FATAL_SHARE { ThreatStrength::Fatal } else { ThreatStrength::Serious };
    Some(with_strength(IDLE.finding_in(&ids, &sentence), strength))
}

/// For how long a workload did nothing in a phase.
struct IdleTime {
    idle_s: f64,
    all_s: f64,
    /// What reports across the ends of a window, which are not those of samples, may hide.
    edges_s: f64,
    /// Whether samples say that there was no request, rather than nothing.
    has_samples: bool,
}

impl IdleTime {
    /// The time that no sample with a request covers. A sample over the boundary of a window may belong to both sides: it
    /// counts as far as it lies within.
    fn of(samples: &Samples, windows: &[TimeWindow]) -> Self {
        let lengths = samples.column("length");
        let is_count = |name: &str| name.ends_with(".requests") || name.ends_with(".bytes");
        let counted: Vec<_> =
            samples.columns.iter().zip(&samples.values).filter(|(column, _)| is_count(&column.name)).collect();
        let (mut busy_s, mut has_samples, mut lengths_s) = (0.0, false, Vec::new());
        for (row, end_ns) in samples.t_ns.iter().enumerate() {
            let length_s = lengths.and_then(|lengths| lengths.get(row).copied().flatten()).unwrap_or(0.0);
            let begin_ns = end_ns.saturating_sub((length_s * 1e9) as u64);
            let within_s: f64 = windows.iter().map(|window| overlap_s(*window, begin_ns, *end_ns)).sum();
            let counts: Vec<f64> =
                counted.iter().filter_map(|(_, values)| values.get(row).copied().flatten()).collect();
            has_samples |= within_s > 0.0 && !counts.is_empty();
            if counts.iter().any(|count| *count > 0.0) {
                busy_s += within_s;
                lengths_s.push(length_s);
            }
        }
        let all_s: f64 = windows.iter().map(TimeWindow::seconds).sum();
        let edges_s = 2.0 * windows.len() as f64 * median(&lengths_s).unwrap_or_default();
        Self { idle_s: (all_s - busy_s).max(0.0), all_s, edges_s, has_samples }
    }

    fn share(&self) -> f64 {
        let idle_s = (self.idle_s - self.edges_s).max(0.0);
        if self.all_s > 0.0 { idle_s / self.all_s } else { 0.0 }
    }

    /// Whether there was no request at all.
    fn is_whole(&self) -> bool {
        self.has_samples && self.idle_s >= self.all_s
    }
}

fn overlap_s(window: TimeWindow, begin_ns: u64, end_ns: u64) -> f64 {
    let within = TimeWindow { begin_ns: window.begin_ns.max(begin_ns), end_ns: window.end_ns.min(end_ns) };
    within.seconds()
}
