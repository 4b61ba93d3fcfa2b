//! Repeated runs: their numbers, and whether the reference run of a sweep drifted.

use std::path::Path;

use manometer_measure::Recording;
use manometer_measure::event::{Finding, Severity, ThreatTarget};

use super::pair::{PhaseComparison, compare_pair};
use super::runs::ComparedRuns;
use super::verdict::{DEFAULT_BOUND, PhaseVerdict};
use crate::findings::{Rule, serious};

pub(super) const REFERENCE_DRIFT: Rule = Rule {
    id: "reference-drift",
    severity: Severity::Warning,
    threat: serious(ThreatTarget::Result, "the reference run drifted"),
    source: "Didona et al., pitfall 3; Storiks 3.4.1 (WR2)",
    meaning: "a later run of a sweep's reference differs from the first significantly and by 5 % or more in some phase",
    remedy: "The results in between include a part of that drift: let the device settle for longer, or shuffle the runs and \
        repeat them.",
};

/// One warning for each sweep among `recordings`, in the order in which they ran, whose reference runs differ. A run is a
/// reference if its plan says so.
///
/// Each is compared with the first. An unknown difference, because phases are too short, is not reported.
pub fn reference_drift(recordings: &[&Recording]) -> Vec<Finding> {
    let mut sweeps: Vec<(String, Vec<&Recording>)> = Vec::new();
    for recording in recordings.iter().copied().filter(|recording| recording.plan.reference) {
        let sweep = sweep_identity(recording);
        match sweeps.iter_mut().find(|(known, _)| *known == sweep) {
            Some((_, references)) => references.push(recording),
            None => sweeps.push((sweep, vec![recording])),
        }
    }
    sweeps.iter().filter_map(|(_, references)| drift_of(references)).collect()
}

/// What identifies the sweep of a recording: its experiment file, device directory included, without the write budget,
/// which may be raised while the set runs.
fn sweep_identity(recording: &Recording) -> String {
    let lines = recording.experiment.lines().filter(|line| !line.trim_start().starts_with("write_budget"));
    lines.collect::<Vec<_>>().join("\n")
}

/// The number of each of `recordings`, in the order in which they ran, among its repeats, counted from 1. Repeats have the
/// same file and settings; the reference of a sweep is counted on its own.
pub fn repeat_numbers(recordings: &[&Recording]) -> Vec<u32> {
    let mut known = Vec::new();
    let mut number = |recording: &&Recording| {
        let combination = (sweep_identity(recording), recording.plan.sweep.clone(), recording.plan.reference);
        known.push(combination.clone());
        known.iter().filter(|other| **other == combination).count() as u32
    };
    recordings.iter().map(&mut number).collect()
}

fn drift_of(references: &[&Recording]) -> Option<Finding> {
    let (first, later) = references.split_first()?;
    let differences: Vec<String> = later.iter().filter_map(|other| difference(&first.dir, &other.dir)).collect();
    let sentence = format!("The reference run drifted: against {}, {}.", first.dir.display(), differences.join("; "));
    (!differences.is_empty()).then(|| REFERENCE_DRIFT.finding(None, &sentence))
}

/// The phases in which `b` differs from `a`, as text.
fn difference(a: &Path, b: &Path) -> Option<String> {
    // Errors (no primary, unreadable) are reported by the analysis of the recording itself.
    let comparison = compare_pair(&ComparedRuns::read(a).ok()?, &ComparedRuns::read(b).ok()?, DEFAULT_BOUND).ok()?;
    let different = comparison.phases.iter().filter(|phase| phase.verdict == PhaseVerdict::Different);
    let phases: Vec<String> = different.filter_map(phase_text).collect();
    (!phases.is_empty()).then(|| format!("{} differs in {}", b.display(), phases.join(", ")))
}

fn phase_text(phase: &PhaseComparison) -> Option<String> {
    let (low, high) = (phase.ci_low?, phase.ci_high?);
    Some(format!("{} by a factor of {:.2} [{low:.2}, {high:.2}]", phase.id, phase.ratio?))
}
