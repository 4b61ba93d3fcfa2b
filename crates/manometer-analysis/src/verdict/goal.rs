//! The goal of an experiment: no phase with neighbours may cost the primary more than a share.

use manometer_measure::plan::PlanGoal;
use manometer_measure::{PhaseKind, Recording};
use serde::{Deserialize, Serialize};

use super::Grade;
use super::grade::Verdict;
use crate::estimate::{IntervalEstimate, NeededLength};
use crate::phase_result::{PhaseResult, baseline, compared_phases};
use crate::scale::PressureScale;

/// The interval decides when it is narrower than this many times the distance of the pressure from the goal. An interval as
/// far on either side of the pressure would have to be twice as wide; few are exactly so.
const WIDTH_TO_DECIDE: f64 = 1.8;

/// Whether a recording meets the goal of its experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GoalResult {
    /// The largest pressure that the goal allows.
    pub pressure: f64,
    /// Whether every phase is shown to meet it; false where one is shown to miss it; null where that cannot be decided.
    pub met: Option<bool>,
    /// The phases with neighbours.
    pub phases: Vec<PhaseGoal>,
    /// Why it cannot be decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Whether one phase meets the goal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseGoal {
    /// The phase's id.
    pub id: String,
    /// Its label.
    pub label: String,
    /// Whether the whole interval of its pressure meets the goal; false where the whole interval misses it and the test of the
    /// pressure scale tells the phase from `w0`; null where neither is so.
    pub met: Option<bool>,
    /// The measured length of the phase that would decide it, in seconds; null where it is decided, or where no length is known
    /// to do.
    pub needed_s: Option<f64>,
    /// The number of rounds that make this length in an interleaved plan; absent in a ladder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed_rounds: Option<usize>,
    /// Why it cannot be decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Whether all goals are met; false where one is missed; `None` where neither is known.
pub fn all_met(goals: impl IntoIterator<Item = Option<bool>>) -> Option<bool> {
    let goals: Vec<Option<bool>> = goals.into_iter().collect();
    match goals.contains(&Some(false)) {
        true => Some(false),
        false if goals.contains(&None) => None,
        false => Some(true),
    }
}

/// The result of `goal` in `recording`, with these `results`, this `verdict` and this scale.
pub(crate) fn goal_result(
    recording: &Recording,
    goal: PlanGoal,
    results: &[PhaseResult<'_>],
    (verdict, scale): (&Verdict, &PressureScale),
) -> GoalResult {
    let deciding = |result: &PhaseResult<'_>, width: f64| {
        let compared = compared_phases(recording, baseline(results)?, result);
        compared.needed(width, recording.plan.criterion.better, "to decide it")
    };
    let pressures = results.iter().filter(|result| result.phase.kind == PhaseKind::Pressure);
    let is_told_from_w0 = |result: &PhaseResult<'_>| {
        baseline(results).is_some_and(|baseline| scale.tells_apart(baseline.id(), result.id()))
    };
    let is_void = verdict.grade == Grade::Void && !verdict.is_void_for_storage();
    let of_phase = |result: &PhaseResult<'_>| {
        let decide = || Decision::of(goal, &result.pressure, is_told_from_w0(result), |width| deciding(result, width));
        let decision = match verdict.is_void_for_storage() {
            true => decide().on_this_host(&result.pressure),
            false if is_void || verdict.is_void_in(result.id()) => {
                Decision::undecided(None, "nothing can be concluded from it".to_owned())
            }
            false => decide(),
        };
        phase_goal(result, decision)
    };
    let phases: Vec<PhaseGoal> = pressures.map(of_phase).collect();
    let reason = match (verdict.grade, verdict.decisive()) {
        (Grade::Void, Some(reason)) if verdict.is_void_for_storage() => {
            Some(format!("the result is void about storage: {}", reason.clause_with_phases()))
        }
        (Grade::Void, Some(reason)) => Some(format!("the result is void: {}", reason.clause_with_phases())),
        (Grade::Void, None) => Some("nothing was measured".to_owned()),
        _ if phases.is_empty() => Some("no phase has neighbours".to_owned()),
        _ => phases.iter().find_map(|phase| Some(format!("{}: {}", phase.id, phase.reason.as_ref()?))),
    };
    let met = match verdict.grade {
        Grade::Void => None,
        _ if phases.is_empty() => None,
        _ => all_met(phases.iter().map(|phase| phase.met)),
    };
    GoalResult { pressure: goal.pressure, met, reason: reason.filter(|_| met.is_none()), phases }
}

/// Whether a pressure meets the goal, else what would decide it and why it is undecided.
struct Decision {
    met: Option<bool>,
    needed: Option<NeededLength>,
    reason: Option<String>,
}

impl Decision {
    /// Where the interval includes the goal, `needed` says which length makes it so wide. A loss that the scale does not tell
    /// from none misses no goal.
    fn of(
        goal: PlanGoal,
        pressure: &IntervalEstimate,
        is_told_from_w0: bool,
        needed: impl Fn(f64) -> Option<NeededLength>,
    ) -> Self {
        match (pressure.value, pressure.ci_low.zip(pressure.ci_high)) {
            (_, Some((_, high))) if high <= goal.pressure => Self::decided(true),
            (_, Some((low, _))) if low > goal.pressure && is_told_from_w0 => Self::decided(false),
            (_, Some((low, high))) if low > goal.pressure => {
                let reason = format!(
                    "the interval {low:.2} to {high:.2} is above the goal of {:.2}, but the phase does not differ from w0 by the \
                     test corrected for all pairs of phases",
                    goal.pressure
                );
                Self::undecided(None, reason)
            }
            (Some(value), Some(interval)) => {
                let needed = needed(WIDTH_TO_DECIDE * (value - goal.pressure).abs());
                let reason = includes_goal(goal, interval, needed.as_ref());
                Self::undecided(needed, reason)
            }
            _ => {
                let reason = pressure.reason.clone().unwrap_or_else(|| "it has no confidence interval".to_owned());
                Self::undecided(pressure.needed.clone(), reason)
            }
        }
    }

    /// The decision where the result is void about storage: what it is on this host decides nothing.
    fn on_this_host(self, pressure: &IntervalEstimate) -> Self {
        let (Some(value), Some((low, high))) = (pressure.value, pressure.ci_low.zip(pressure.ci_high)) else {
            return Self::undecided(None, "this is no storage result, and has no confidence interval".to_owned());
        };
        let outcome = match self.met {
            Some(true) => "within the goal",
            Some(false) => "above the goal",
            None => "neither shown to be within the goal nor above it",
        };
        let reason = format!(
            "this is no storage result: on this host the pressure is {value:.2} (95 % interval {low:.2} to {high:.2}), {outcome}"
        );
        Self::undecided(None, reason)
    }

    fn decided(met: bool) -> Self {
        Self { met: Some(met), needed: None, reason: None }
    }

    fn undecided(needed: Option<NeededLength>, reason: String) -> Self {
        Self { met: None, needed, reason: Some(reason) }
    }
}

fn phase_goal(result: &PhaseResult<'_>, Decision { met, needed, reason }: Decision) -> PhaseGoal {
    PhaseGoal {
        id: result.phase.id.clone(),
        label: result.phase.label.clone(),
        met,
        needed_s: needed.as_ref().map(|needed| needed.phase_s),
        needed_rounds: needed.and_then(|needed| needed.rounds),
        reason,
    }
}

/// A pressure whose interval includes the goal.
fn includes_goal(goal: PlanGoal, (low, high): (f64, f64), needed: Option<&NeededLength>) -> String {
    let length = needed.map_or_else(
        || "the pressure is too close to the goal for any length".to_owned(),
        |needed| format!("if the pressure stays the same, {}", needed.reason),
    );
    format!("the interval {low:.2} to {high:.2} includes the goal of {:.2}: {length}", goal.pressure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_missed_goal_decides_and_one_undecided_leaves_it_open() {
        assert_eq!(all_met([]), Some(true), "no goal is missed where there is none");
        assert_eq!(all_met([Some(true), None, Some(false)]), Some(false));
        assert_eq!(all_met([Some(true), None]), None);
        assert_eq!(all_met([Some(true)]), Some(true));
    }
}
