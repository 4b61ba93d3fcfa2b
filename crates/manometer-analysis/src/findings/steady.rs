//! Phases that swing, drift, or still warm up.

use manometer_measure::event::{Finding, Severity};

use super::Rule;
use super::evidence::Evidence;
use crate::summarise::Judged;

const NOT_STEADY: Rule = Rule {
    id: "not-steady",
    severity: Severity::Warning,
    source: "SNIA PTS 2.1.24; Hamed & Rao 1998; Storiks 3.4.1 (WR2)",
    meaning: "a phase swings or drifts",
    remedy: "Let the database and the device settle for longer first.",
};

const WARM_UP: Rule = Rule {
    id: "warm-up-visible",
    severity: Severity::Info,
    source: "White 1997 (MSER-5)",
    meaning: "the begin of a phase differs from its rest",
    remedy: "A longer settle time would avoid it.",
};

pub(super) const RULES: &[Rule] = &[NOT_STEADY, WARM_UP];

pub(super) fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    let unsteady = evidence.judged.iter().filter_map(not_steady);
    unsteady.chain(evidence.judged.iter().filter_map(warm_up)).collect()
}

fn not_steady(one: &Judged<'_>) -> Option<Finding> {
    let judged = one.steadiness.filter(|steadiness| !steadiness.steady())?;
    let percent = |share: f64| 100.0 * share;
    let mut sentence = format!(
        "{} was not steady: over five rounds it ranges over {:.0} % of its average (20 % allowed) and its line moves \
         by {:.0} % (10 % allowed)",
        one.phase.id,
        percent(judged.rounds.range),
        percent(judged.rounds.excursion),
    );
    if judged.drifted() {
        sentence += &format!("; it drifts by {:+.0} % over the phase", percent(judged.drift));
    }
    Some(NOT_STEADY.tell(Some(&one.phase.id), &(sentence + ".")))
}

fn warm_up(one: &Judged<'_>) -> Option<Finding> {
    let warm_up = one.warm_up?;
    let sentence = format!(
        "A warm-up is visible in the first {:.0} s of {}: without them its mean would be {:+.0} %. Nothing was left out.",
        warm_up.length_s,
        one.phase.id,
        100.0 * warm_up.shift,
    );
    Some(WARM_UP.tell(Some(&one.phase.id), &sentence))
}
