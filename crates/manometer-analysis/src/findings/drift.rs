//! Whether the primary alone at the end is what it was at the begin.

use manometer_measure::PhaseKind;
use manometer_measure::event::{Finding, Severity};

use super::Rule;
use super::evidence::Evidence;
use crate::statistics::SIGNIFICANCE;
use crate::steady::HARMFUL_DRIFT;
use crate::summarise::{Judged, baseline, own_settings};

const DRIFT: Rule = Rule {
    id: "drift",
    severity: Severity::Warning,
    source: "Storiks 3.1, definition 3, and 3.4.1 (WR2)",
    meaning: "the primary alone at the end differs from `w0`, by Welch's test at 5 % and by 5 % or more; judged where a \
        later phase has no neighbour (`plan.closing = true`)",
    remedy: "Let it settle for longer before `w0`, run fewer phases, and repeat them in another order.",
};

const UNTESTED: Rule = Rule {
    id: "drift-untested",
    severity: Severity::Warning,
    source: "Storiks 3.1, definition 3, and 3.4.1 (WR2)",
    meaning: "the primary ran alone again at the end, and that phase or `w0` is too short for an interval: the \
        difference is told and cannot be tested",
    remedy: "Run longer phases to know whether it drifted.",
};

pub(super) const RULES: &[Rule] = &[DRIFT, UNTESTED];

pub(super) fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    drift(evidence).into_iter().collect()
}

fn drift(evidence: &Evidence<'_>) -> Option<Finding> {
    let primary = &evidence.recording.plan.primary()?.name;
    let first = baseline(evidence.judged)?;
    let again = |one: &&Judged<'_>| {
        one.phase.id != first.phase.id
            && one.phase.kind != PhaseKind::Solo
            && one.phase.running == [primary.as_str()]
            && own_settings(&one.phase.settings, primary) == own_settings(&first.phase.settings, primary)
    };
    let last = evidence.judged.iter().rfind(again)?;
    let (before, after) = (first.performance.told.mean?, last.performance.told.mean?);
    let change = after / before - 1.0;
    if !change.is_finite() {
        return None;
    }
    let (ids, percent) = ((last.phase.id.as_str(), first.phase.id.as_str()), 100.0 * change);
    match (first.performance.measured, last.performance.measured) {
        (Some(before), Some(after)) => {
            let drifted = change.abs() >= HARMFUL_DRIFT && before.difference_p_value(&after) <= SIGNIFICANCE;
            drifted.then(|| told(ids, percent))
        }
        _ => Some(untested(ids, percent)),
    }
}

fn told((last, first): (&str, &str), percent: f64) -> Finding {
    let sentence = format!(
        "The primary alone drifted: its performance in {last} is {percent:+.1} % against {first}, and nobody ran beside \
         it in either. Pressures of phases between them hold a part of that."
    );
    DRIFT.tell(Some(last), &sentence)
}

fn untested((last, first): (&str, &str), percent: f64) -> Finding {
    let sentence = format!(
        "The performance of the primary alone in {last} is {percent:+.1} % against {first}. Whether it drifted cannot be \
         tested: one of both has no interval."
    );
    UNTESTED.tell(Some(last), &sentence)
}
