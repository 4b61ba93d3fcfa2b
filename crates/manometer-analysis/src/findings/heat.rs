//! Whether the device held itself back because it was hot.

use manometer_measure::event::{Finding, Severity};

use super::Rule;
use super::evidence::{Evidence, states};

/// The bit of an NVMe critical warning that says a temperature threshold is passed in the NVMe health log.
const TEMPERATURE_BIT: u64 = 0b10;

const HEAT: Rule = Rule {
    id: "thermal-throttling",
    severity: Severity::Warning,
    source: "NVMe, SMART / health information log; Storiks 3.4.1 (WR2)",
    meaning: "the device spent time throttled by heat, or warned of its temperature",
    remedy: "Cool the device, or leave it time between phases.",
};

pub(super) const RULES: &[Rule] = &[HEAT];

pub(super) fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    throttled(evidence).into_iter().collect()
}

fn throttled(evidence: &Evidence<'_>) -> Option<Finding> {
    let health = evidence.series("health")?;
    let all = evidence.whole()?;
    let values = |column: &str| states(health, column, all).into_iter().map(|(_, value)| value).collect::<Vec<_>>();
    let times = values("throttle_time");
    let throttled_s = times.last().zip(times.first()).map_or(0.0, |(last, first)| last - first);
    let warned = values("critical_warning").iter().any(|bits| *bits as u64 & TEMPERATURE_BIT != 0);
    let hottest = values("temperature").into_iter().fold(f64::NEG_INFINITY, f64::max);
    let hottest = if hottest.is_finite() { format!(" (up to {hottest:.0} °C)") } else { String::new() };
    let sentence = match (throttled_s > 0.0, warned) {
        (true, _) => format!("The device held itself back for {throttled_s:.0} s because of heat{hottest}."),
        (false, true) => format!("The device warned that its temperature passed a threshold{hottest}."),
        (false, false) => return None,
    };
    Some(HEAT.tell(None, &sentence))
}
