//! Whether blocks were discarded while it was measured.

use manometer_measure::event::{Finding, Severity};

use super::evidence::{Evidence, amount};
use super::{Rule, bytes_text, only};

/// Less than this in a phase is housekeeping.
const LEAST_BYTES: f64 = (1_u64 << 20) as f64;

const DISCARD: Rule = Rule {
    id: "discard-during-run",
    severity: Severity::Warning,
    source: "Didona et al., pitfall 3; Storiks 3.4.1 (WR2) and 4.2",
    meaning: "1 MiB or more was discarded in a phase, which changes the share of free flash and takes time itself",
    remedy: "Mount without `discard` and stop `fstrim.timer`, or say that it belongs to what is measured.",
};

pub(super) const RULES: &[Rule] = &[DISCARD];

pub(super) fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    discarded(evidence).into_iter().collect()
}

fn discarded(evidence: &Evidence<'_>) -> Option<Finding> {
    let device = evidence.series("device")?;
    let phases: Vec<(&str, f64)> = evidence
        .measured()
        .filter_map(|(one, window)| Some((one.phase.id.as_str(), amount(device, "discard_bytes", window)?)))
        .filter(|(_, bytes)| *bytes >= LEAST_BYTES)
        .collect();
    let ids: Vec<&str> = phases.iter().map(|(id, _)| *id).collect();
    let all: f64 = phases.iter().map(|(_, bytes)| bytes).sum();
    let sentence = format!("{} were discarded in {}.", bytes_text(all), ids.join(", "));
    (!ids.is_empty()).then(|| DISCARD.tell(only(&ids), &sentence))
}
