//! Whether the primary's performance without neighbours is the same at the end of the run as in `w0`.

use manometer_measure::event::{Finding, Severity, ThreatStrength, ThreatTarget};

use super::evidence::Evidence;
use super::rule::{Family, Rule, serious, with_strength};
use crate::phase_result::{PhaseResult, baseline};
use crate::statistics::SIGNIFICANCE;
use crate::steady_state::HARMFUL_DRIFT;

const DRIFT: Rule = Rule {
    id: "drift",
    severity: Severity::Warning,
    threat: serious(ThreatTarget::Result, "the primary drifted"),
    source: "Storiks 3.1, definition 3, and 3.4.1 (WR2)",
    meaning: "the primary's performance without neighbours at the end of the run differs from `w0`, by Welch's test at 5 % \
        and by 5 % or more or by as much as the largest pressure whose interval excludes 0, which it then explains: the \
        result is void; evaluated where a later phase has no neighbour (`plan.closing = true`)",
    remedy: "Settle for longer before `w0`, run fewer phases, and repeat them in another order.",
};

const UNTESTED: Rule = Rule {
    id: "drift-untested",
    severity: Severity::Warning,
    threat: serious(ThreatTarget::Result, "a drift of the primary could not be tested"),
    source: "Storiks 3.1, definition 3, and 3.4.1 (WR2)",
    meaning: "a later phase without neighbours was measured, but it or `w0` is too short for a confidence interval: the \
        difference is reported and not tested",
    remedy: "Run longer phases.",
};

pub(super) const FAMILY: Family = Family { rules: &[DRIFT, UNTESTED], evaluate };

fn evaluate(evidence: &Evidence<'_>) -> Vec<Finding> {
    drift(evidence).into_iter().collect()
}

fn drift(evidence: &Evidence<'_>) -> Option<Finding> {
    let first = baseline(evidence.results)?;
    let is_repeat = |result: &&PhaseResult<'_>| result.repeats_baseline && result.id() != first.id();
    let last = evidence.results.iter().rfind(is_repeat)?;
    let (before, after) = (first.performance.estimate.mean?, last.performance.estimate.mean?);
    let change = after / before - 1.0;
    if !change.is_finite() {
        return None;
    }
    let (first_id, last_id, percent) = (first.id(), last.id(), 100.0 * change);
    match (first.performance.sample_mean, last.performance.sample_mean) {
        (Some(before), Some(after)) => {
            let sentence = format!(
                "The primary drifted: without neighbours its performance in {last_id} is {percent:+.1} % against {first_id}. \
                 The pressures in between include a part of that drift."
            );
            let (pressure, is_shown) = evidence.largest_pressure();
            let explains = change.abs() >= pressure;
            let drifted = (change.abs() >= HARMFUL_DRIFT || explains && is_shown)
                && before.difference_p_value(&after) <= SIGNIFICANCE;
            let strength = if explains { ThreatStrength::Fatal } else { ThreatStrength::Serious };
            drifted.then(|| with_strength(DRIFT.finding(Some(last_id), &sentence), strength))
        }
        _ => {
            let sentence = format!(
                "Whether the primary drifted is unknown: without neighbours its performance in {last_id} is \
                 {percent:+.1} % against {first_id}, and the difference cannot be tested without a confidence interval."
            );
            Some(UNTESTED.finding(Some(last_id), &sentence))
        }
    }
}
