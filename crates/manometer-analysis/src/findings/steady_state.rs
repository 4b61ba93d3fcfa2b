//! Phases that are not in steady state, or in which a warm-up is visible.

use manometer_measure::event::{Finding, Severity};

use super::evidence::Evidence;
use super::rule::{Family, Rule};
use crate::phase_result::PhaseResult;

const NOT_STEADY: Rule = Rule {
    id: "not-steady",
    severity: Severity::Warning,
    source: "SNIA PTS 2.1.24; Hamed & Rao 1998; Storiks 3.4.1 (WR2)",
    meaning: "a phase is not in steady state: its rounds differ, or it drifts",
    remedy: "Let the database and the device settle for longer first.",
};

const WARM_UP: Rule = Rule {
    id: "warm-up-visible",
    severity: Severity::Info,
    source: "White 1997 (MSER-5)",
    meaning: "the start of a phase differs from the rest of it",
    remedy: "Use a longer settle time to avoid it.",
};

pub(super) const FAMILY: Family = Family { rules: &[NOT_STEADY, WARM_UP], evaluate };

fn evaluate(evidence: &Evidence<'_>) -> Vec<Finding> {
    let not_steady = evidence.results.iter().filter_map(not_steady);
    not_steady.chain(evidence.results.iter().filter_map(warm_up)).collect()
}

fn not_steady(result: &PhaseResult<'_>) -> Option<Finding> {
    let test = result.steady_state.filter(|test| !test.is_steady())?;
    let mut sentence = format!(
        "{} was not in steady state: over five rounds it ranges over {:.0} % of its average (20 % allowed), and its fitted \
         line moves by {:.0} % (10 % allowed)",
        result.id(),
        100.0 * test.rounds.range,
        100.0 * test.rounds.excursion,
    );
    if test.has_drifted() {
        sentence += &format!("; it drifts by {:+.0} % over the phase", 100.0 * test.drift);
    }
    Some(NOT_STEADY.finding(Some(result.id()), &(sentence + ".")))
}

fn warm_up(result: &PhaseResult<'_>) -> Option<Finding> {
    let warm_up = result.warm_up?;
    let sentence = format!(
        "{} shows a warm-up in its first {:.0} s: without them its mean would be {:+.0} %. Nothing was left out.",
        result.id(),
        warm_up.length_s,
        100.0 * warm_up.shift,
    );
    Some(WARM_UP.finding(Some(result.id()), &sentence))
}
