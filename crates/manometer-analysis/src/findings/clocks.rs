//! Whether the conductor sampled on time, and whether the wall clock was stepped.

use manometer_measure::event::{Finding, Severity, ThreatTarget};

use super::evidence::{Evidence, values};
use super::rule::{Family, Rule, minor};

/// A command that misses so many samples in a row, over so many seconds, stood still: fewer may be a busy host's.
const STANDS_STILL: f64 = 10.0;
const STANDS_STILL_S: f64 = 1.0;

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
    remedy: "Let nothing stop the command, leave it idle processor time, or sample less often.",
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
    let time = evidence.measured_time()?;
    let counts = |column: &str| values(conductor, column, &[time]).into_iter().map(|(_, count)| count);
    let (dropped, late): (f64, f64) = (counts("samples_dropped").sum(), counts("samples_late").sum());
    let mut sentence = format!("{dropped:.0} samples of the host were dropped and {late:.0} were late.");
    let in_a_row = counts("samples_dropped").fold(0.0, f64::max);
    let still_s = in_a_row * evidence.recording.plan.interval_s;
    if in_a_row >= STANDS_STILL && still_s >= STANDS_STILL_S {
        sentence += &format!(" For about {still_s:.1} s the command itself did not run, or waited for a disk.");
    }
    (dropped > 0.0).then(|| DROPPED.finding(None, &sentence))
}
