//! Whether blocks were discarded (TRIM) during the measurement.

use manometer_measure::event::{Finding, Severity, ThreatTarget};
use manometer_measure::human;

use super::evidence::{Evidence, total_of_rate};
use super::rule::{Family, Rule, minor};
use super::text::phase_list;

/// Smaller amounts per phase are housekeeping.
const MIN_BYTES: f64 = (1_u64 << 20) as f64;

const DISCARD: Rule = Rule {
    id: "discard-during-run",
    severity: Severity::Warning,
    threat: minor(ThreatTarget::Phase, "blocks were discarded"),
    source: "Didona et al., pitfall 3; Storiks 3.4.1 (WR2) and 4.2",
    meaning: "1 MiB or more was discarded in a phase, which takes time and changes the share of free flash",
    remedy: "Mount without `discard` and stop `fstrim.timer`, unless discards belong to what is measured.",
};

pub(super) const FAMILY: Family = Family { rules: &[DISCARD], evaluate };

fn evaluate(evidence: &Evidence<'_>) -> Vec<Finding> {
    let Some(device) = evidence.series("device") else { return Vec::new() };
    let phases: Vec<(&str, f64)> = evidence
        .measured_phases()
        .filter_map(|(result, windows)| Some((result.id(), total_of_rate(device, "discard_bytes", windows)?)))
        .filter(|(_, discarded)| *discarded >= MIN_BYTES)
        .collect();
    let ids: Vec<&str> = phases.iter().map(|(id, _)| *id).collect();
    let total: f64 = phases.iter().map(|(_, discarded)| discarded).sum();
    let sentence = format!("{} were discarded in {}.", human::bytes(total as u64), phase_list(&ids));
    (!ids.is_empty()).then(|| DISCARD.finding_in(&ids, &sentence)).into_iter().collect()
}
