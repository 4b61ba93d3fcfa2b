//! The goal of an experiment: no phase with neighbours may cost the primary more than a share.

use manometer_measure::PhaseKind;
use manometer_measure::plan::Goal;
use serde::{Deserialize, Serialize};

use super::grade::{Grade, Verdict};
use super::headline::narrowed_length_s;
use crate::needed_length::duration;
use crate::phase_result::PhaseResult;

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
    /// Whether the whole interval of its pressure meets the goal; false where the whole interval misses it; null where
    /// neither is so.
    pub met: Option<bool>,
    /// The phase length that would decide it, in seconds; null where it is decided, or where no length is known to do.
    pub needed_s: Option<f64>,
    /// Why it cannot be decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The result of `goal` in a recording with these `results` and this `verdict`.
pub(crate) fn goal_result(goal: Goal, results: &[PhaseResult<'_>], verdict: &Verdict) -> GoalResult {
    let pressures = results.iter().filter(|result| result.phase.kind == PhaseKind::Pressure);
    let phases: Vec<PhaseGoal> = pressures.map(|result| phase_goal(goal, result, verdict)).collect();
    let reason = match (verdict.grade, verdict.decisive()) {
        (Grade::Void, Some(reason)) => Some(format!("the result is void: {}", reason.clause_with_phases())),
        _ if phases.is_empty() => Some("no phase has neighbours".to_owned()),
        _ => phases.iter().find_map(|phase| Some(format!("{}: {}", phase.id, phase.reason.as_ref()?))),
    };
    let met = match verdict.grade {
        Grade::Void => None,
        _ if phases.iter().any(|phase| phase.met == Some(false)) => Some(false),
        _ if phases.is_empty() || phases.iter().any(|phase| phase.met.is_none()) => None,
        _ => Some(true),
    };
    GoalResult { pressure: goal.pressure, met, reason: reason.filter(|_| met.is_none()), phases }
}

fn phase_goal(goal: Goal, result: &PhaseResult<'_>, verdict: &Verdict) -> PhaseGoal {
    let pressure = &result.pressure;
    let (met, needed_s, reason) = match (pressure.value, pressure.ci_low.zip(pressure.ci_high)) {
        _ if verdict.is_void_in(result.id()) => (None, None, Some("nothing can be concluded from it".to_owned())),
        (_, Some((_, high))) if high <= goal.pressure => (Some(true), None, None),
        (_, Some((low, _))) if low > goal.pressure => (Some(false), None, None),
        (Some(value), Some((low, high))) => {
            let distance = (value - goal.pressure).abs();
            let needed_s = narrowed_length_s(result.length_s(), (high - low) / 2.0, distance);
            let needed_s = needed_s.is_finite().then_some(needed_s);
            (None, needed_s, Some(undecided(goal, (low, high), needed_s)))
        }
        _ => {
            let reason = pressure.reason.clone().unwrap_or_else(|| "it has no confidence interval".to_owned());
            (None, pressure.needed.as_ref().map(|needed| needed.phase_s), Some(reason))
        }
    };
    let phase = result.phase;
    PhaseGoal { id: phase.id.clone(), label: phase.label.clone(), met, needed_s, reason }
}

/// A pressure whose interval includes the goal.
fn undecided(goal: Goal, (low, high): (f64, f64), needed_s: Option<f64>) -> String {
    let length = needed_s.map_or_else(
        || "the pressure is too close to the goal for any length".to_owned(),
        |seconds| format!("a phase of about {} would decide it, if the pressure stays the same", duration(seconds)),
    );
    format!("the interval {low:.2} to {high:.2} includes the goal of {:.2}: {length}", goal.pressure)
}
