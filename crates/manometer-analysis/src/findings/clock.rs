//! Whether the conductor kept its beat, and the calendar's clock its pace.

use manometer_measure::event::{Finding, Severity};

use super::Rule;
use super::evidence::{Evidence, rows};

/// A clock that is disciplined moves by at most 0.5 ms a second; more between two samples is a step.
const STEP_S: f64 = 0.1;

const STEP: Rule = Rule {
    id: "clock-stepped",
    severity: Severity::Info,
    source: "the recording",
    meaning: "the calendar's clock jumped by 0.1 s or more against the monotonic one",
    remedy: "Our times are the monotonic clock's; set the clock before a run whose times are put beside others'.",
};

const DROPPED: Rule = Rule {
    id: "samples-dropped",
    severity: Severity::Warning,
    source: "the recording",
    meaning: "the conductor missed beats: the host's series have gaps",
    remedy: "Leave the conductor idle processor time, or sample less often.",
};

pub(super) const RULES: &[Rule] = &[STEP, DROPPED];

pub(super) fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    stepped(evidence).into_iter().chain(dropped(evidence)).collect()
}

fn stepped(evidence: &Evidence<'_>) -> Option<Finding> {
    let offsets = rows(evidence.series("conductor")?, "clock_step", evidence.whole()?);
    let steps: Vec<f64> =
        offsets.windows(2).map(|pair| pair[1].1 - pair[0].1).filter(|step| step.abs() >= STEP_S).collect();
    let greatest = steps.iter().copied().max_by(|one, other| one.abs().total_cmp(&other.abs()))?;
    let times = if steps.len() == 1 { "once".to_owned() } else { format!("{} times", steps.len()) };
    Some(STEP.tell(None, &format!("The calendar's clock jumped {times}, by up to {greatest:+.1} s.")))
}

fn dropped(evidence: &Evidence<'_>) -> Option<Finding> {
    let conductor = evidence.series("conductor")?;
    let sum = |column: &str| -> Option<f64> {
        Some(rows(conductor, column, evidence.whole()?).into_iter().map(|(_, count)| count).fold(0.0, |a, b| a + b))
    };
    let (missed, late) = (sum("samples_dropped")?, sum("samples_late").unwrap_or(0.0));
    let sentence = format!("{missed:.0} samples of the host were dropped and {late:.0} came late.");
    (missed > 0.0).then(|| DROPPED.tell(None, &sentence))
}
