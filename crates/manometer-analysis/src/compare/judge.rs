//! The verdict on a comparison.

use manometer_measure::event::{Finding, ThreatStrength, ThreatTarget};

use crate::findings::{self, Rule};
use crate::verdict::{Grade, Verdict};

/// The verdict on a comparison, or on runs together, with the findings `found`.
///
/// Whether B is worse than A does not depend on whether the result is about storage.
pub fn judge_comparison(found: &[Finding]) -> Verdict {
    let rules: Vec<&Rule> = super::rules().chain(findings::rules()).collect();
    Verdict::of(found, &rules, |threat, _| match (threat.strength, threat.to) {
        (ThreatStrength::Minor, _) | (_, ThreatTarget::Tail) => Grade::Sound,
        (ThreatStrength::Fatal, ThreatTarget::Result) => Grade::Void,
        (ThreatStrength::Fatal | ThreatStrength::Serious, _) => Grade::Indicative,
    })
}
