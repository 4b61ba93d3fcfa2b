//! The same run again and again: the repeats of a combination, and whether the reference of a sweep stayed what it was.

use std::path::Path;

use manometer_measure::Recording;
use manometer_measure::event::Finding;

use super::rules::DRIFT;
use super::{BOUND, PhaseComparison, Runs, Verdict, pair};

/// One warning for each sweep among `recordings` (in the order in which they ran) whose reference runs are not the
/// same. A run is a reference where its plan says so: another of the same name is none.
///
/// Each is compared with the first. What cannot be told, because phases are too short, is no difference.
pub fn reference_drift(recordings: &[&Recording]) -> Vec<Finding> {
    let mut sweeps: Vec<(String, Vec<&Recording>)> = Vec::new();
    for recording in recordings.iter().copied().filter(|recording| recording.plan.reference) {
        let whole = identity(recording);
        match sweeps.iter_mut().find(|(known, _)| *known == whole) {
            Some((_, references)) => references.push(recording),
            None => sweeps.push((whole, vec![recording])),
        }
    }
    sweeps.iter().filter_map(|(_, references)| drift_of(references)).collect()
}

/// What makes it the reference of one sweep and of no other: its whole file, the device directory included, but the
/// write budget, which may be raised while a set is under way.
fn identity(recording: &Recording) -> String {
    let own = recording.experiment.lines().filter(|line| !line.trim_start().starts_with("write_budget"));
    own.collect::<Vec<_>>().join("\n")
}

/// Which run of its kind each of `recordings` (in the order in which they ran) is, counted from 1: of the same file with
/// the same settings, a sweep's reference being a kind of its own.
pub fn repeats(recordings: &[&Recording]) -> Vec<u32> {
    let mut seen = Vec::new();
    let mut count = |recording: &&Recording| {
        let kind = (identity(recording), recording.plan.sweep.clone(), recording.plan.reference);
        seen.push(kind.clone());
        seen.iter().filter(|other| **other == kind).count() as u32
    };
    recordings.iter().map(&mut count).collect()
}

fn drift_of(references: &[&Recording]) -> Option<Finding> {
    let (first, later) = references.split_first()?;
    let told: Vec<String> = later.iter().filter_map(|other| difference(&first.dir, &other.dir)).collect();
    let sentence = format!("The reference run drifted: against {}, {}.", first.dir.display(), told.join("; "));
    (!told.is_empty()).then(|| DRIFT.tell(None, &sentence))
}

/// The phases in which `b` differs from `a`, in words.
fn difference(a: &Path, b: &Path) -> Option<String> {
    // What cannot be compared (no primary, unreadable) is told where it is analysed alone.
    let compared = pair(&Runs::read(a).ok()?, &Runs::read(b).ok()?, BOUND).ok()?;
    let differ = compared.phases.iter().filter(|phase| phase.verdict == Verdict::Different);
    let words: Vec<String> = differ.filter_map(in_words).collect();
    (!words.is_empty()).then(|| format!("{} differs in {}", b.display(), words.join(", ")))
}

fn in_words(phase: &PhaseComparison) -> Option<String> {
    let (low, high) = (phase.ci_low?, phase.ci_high?);
    Some(format!("{} by a factor of {:.2} [{low:.2}, {high:.2}]", phase.id, phase.ratio?))
}
