//! Whether the reference of a sweep stayed what it was: the same run, again and again between the others.

use std::path::Path;

use manometer_measure::Recording;
use manometer_measure::event::{Finding, Severity};

use super::{BOUND, PhaseComparison, Runs, Verdict, pair};

/// One warning for each experiment among `recordings` (in the order in which they ran) whose reference runs are not
/// the same: those of its sweep in which nothing was swept.
///
/// Each is compared with the first. What cannot be told, because phases are too short, is no difference.
pub fn reference_drift(recordings: &[&Recording]) -> Vec<Finding> {
    let mut names: Vec<&str> = recordings.iter().map(|recording| recording.plan.experiment.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().filter_map(|name| drift_of(name, recordings)).collect()
}

fn drift_of(name: &str, recordings: &[&Recording]) -> Option<Finding> {
    let own = recordings.iter().filter(|recording| recording.plan.experiment == name);
    let (references, swept): (Vec<&Recording>, Vec<&Recording>) =
        own.copied().partition(|recording| recording.plan.sweep.is_empty());
    let (first, later) = references.split_first()?;
    if swept.is_empty() {
        return None;
    }
    let told: Vec<String> = later.iter().filter_map(|other| difference(&first.dir, &other.dir)).collect();
    let text = format!(
        "The reference run drifted: against {}, {}. What was measured between them holds a part of that: let the device \
         settle for longer, or shuffle the runs and repeat them.",
        first.dir.display(),
        told.join("; ")
    );
    let severity = Severity::Warning;
    (!told.is_empty()).then(|| Finding { id: "reference-drift".to_owned(), severity, phase: None, text })
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
