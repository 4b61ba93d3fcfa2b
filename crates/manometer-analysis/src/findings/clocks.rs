//! Whether the conductor sampled on time, and whether the wall clock was stepped.

use manometer_measure::event::{Finding, Severity, ThreatTarget};

use super::evidence::{Evidence, values};
use super::rule::{Family, Rule, minor};

/// A disciplined clock moves by at most 0.5 ms per second; a larger jump between two samples is a step.
const STEP_S: f64 = 0.1;

const STEPPED: Rule = Rule {
    id: "clock-stepped",
    severity: Severity::Info,
    threat: None,
    source: "the recording",
    meaning: "the wall clock jumped by 0.1 s or more against the monotonic clock",
    remedy: "The recording's own times are monotonic and unaffected; synchronise the clock before a run whose timestamps \
        are compared with other hosts.",
};

const DROPPED: Rule = Rule {
    id: "samples-dropped",
    severity: Severity::Warning,
    threat: minor(ThreatTarget::Phase, "samples of the host were dropped"),
    source: "the recording",
    meaning: "the conductor missed sample intervals: the host's series have gaps",
    remedy: "Leave the conductor idle processor time, or sample less often.",
};

pub(super) const FAMILY: Family = Family { rules: &[STEPPED, DROPPED], evaluate };

fn evaluate(evidence: &Evidence<'_>) -> Vec<Finding> {
    stepped(evidence).into_iter().chain(dropped(evidence)).collect()
}

fn stepped(evidence: &Evidence<'_>) -> Option<Finding> {
    let offsets = values(evidence.series("conductor")?, "clock_step", &[evidence.measured_time()?]);
    let steps: Vec<f64> =
        offsets.windows(2).map(|pair| pair[1].1 - pair[0].1).filter(|step| step.abs() >= STEP_S).collect();
    let largest = steps.iter().copied().max_by(|one, other| one.abs().total_cmp(&other.abs()))?;
    let times = if steps.len() == 1 { "once".to_owned() } else { format!("{} times", steps.len()) };
    Some(STEPPED.finding(None, &format!("The wall clock was stepped {times}, by up to {largest:+.1} s.")))
}

fn dropped(evidence: &Evidence<'_>) -> Option<Finding> {
    let conductor = evidence.series("conductor")?;
    let sum = |column: &str| -> Option<f64> {
        let counts = values(conductor, column, &[evidence.measured_time()?]);
        Some(counts.into_iter().map(|(_, count)| count).fold(0.0, |a, b| a + b))
    };
    let (dropped, late) = (sum("samples_dropped")?, sum("samples_late").unwrap_or(0.0));
    let sentence = format!("{dropped:.0} samples of the host were dropped and {late:.0} were late.");
    (dropped > 0.0).then(|| DROPPED.finding(None, &sentence))
}
