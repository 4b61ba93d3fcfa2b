//! The verdict on a comparison.

use manometer_measure::event::{Finding, ThreatStrength, ThreatTarget};

use super::run_findings::RunFinding;
use crate::findings::{self, Rule, sort_by_threat};
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

/// The verdict on compared runs with the findings `of_runs` and those about several runs, and all findings, the greatest threat
/// first. The reasons name the runs in which they happened.
pub(super) fn judge_runs_compared(of_runs: Vec<RunFinding>, of_several: Vec<Finding>) -> (Verdict, Vec<Finding>) {
    let mut found: Vec<Finding> = of_runs.iter().map(|one| one.finding.clone()).chain(of_several).collect();
    sort_by_threat(&mut found);
    let mut verdict = judge_comparison(&found);
    for reason in &mut verdict.reasons {
        let own = of_runs.iter().find(|one| one.finding.id == reason.id && one.finding.text == reason.text);
        if let Some(own) = own {
            reason.clause.clone_from(&own.clause);
        }
    }
    (verdict, found)
}
