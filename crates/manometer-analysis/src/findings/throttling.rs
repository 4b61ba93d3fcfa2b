//! Whether the device or the processors were throttled because of heat.

use manometer_measure::Samples;
use manometer_measure::event::{Finding, Severity, ThreatTarget};

use super::evidence::{Evidence, growth, readings, total_of_rate};
use super::rule::{Family, Rule, serious};
use super::text::phase_list;
use crate::time_series::TimeWindow;

/// The bit of an NVMe critical warning for a temperature threshold.
const TEMPERATURE_BIT: u64 = 0b10;

/// Counters of throttling events of the device.
const THROTTLE_COUNTERS: [&str; 3] = ["light_throttles", "heavy_throttles", "throttle_events"];

/// Counters of the seconds above a temperature limit, and which limit.
const TIMES_ABOVE: [(&str, &str); 3] = [
    ("warning_time", "its warning temperature"),
    ("critical_time", "its critical temperature"),
    ("over_limit_time", "its specified temperature"),
];

const DEVICE: Rule = Rule {
    id: "thermal-throttling",
    severity: Severity::Warning,
    threat: serious(ThreatTarget::Result, "the device was throttled because of heat"),
    source: "NVMe, SMART / health information log; ACS-5, temperature statistics; Storiks 3.4.1 (WR2)",
    meaning: "the device was throttled because of heat, spent time above one of its temperature limits, or warned of heat",
    remedy: "Cool the device, or leave it time between phases.",
};

const PROCESSORS: Rule = Rule {
    id: "processors-throttled",
    severity: Severity::Warning,
    threat: serious(ThreatTarget::Storage, "processors were throttled because of heat"),
    source: "Linux, `thermal_throttle`; Storiks 3.4.1 (WR2)",
    meaning: "a processor was throttled because of heat in a phase",
    remedy: "Cool the host, or limit the clock frequency in all phases: `cpupower frequency-set --max`.",
};

pub(super) const FAMILY: Family = Family { rules: &[DEVICE, PROCESSORS], evaluate };

fn evaluate(evidence: &Evidence<'_>) -> Vec<Finding> {
    device(evidence).into_iter().chain(processors(evidence)).collect()
}

fn device(evidence: &Evidence<'_>) -> Option<Finding> {
    let health = evidence.series("health")?;
    let time = evidence.measured_time()?;
    let growth = |column: &str| growth(health, column, time).unwrap_or(0.0);
    let throttled_s = growth("throttle_time");
    let events = THROTTLE_COUNTERS.into_iter().map(growth).fold(0.0, f64::max);
    let throttled = match (throttled_s > 0.0, events > 0.0) {
        (true, _) => Some(format!("was throttled for {throttled_s:.0} s because of heat")),
        (false, true) => Some(format!("was throttled {events:.0} times because of heat")),
        (false, false) => None,
    };
    let above = TIMES_ABOVE.into_iter().filter_map(|(column, limit)| {
        let seconds = growth(column);
        (seconds > 0.0).then(|| format!("spent {seconds:.0} s above {limit}"))
    });
    let mut facts: Vec<String> = throttled.into_iter().chain(above).collect();
    let has_warned =
        readings(health, "critical_warning", time).iter().any(|(_, bits)| *bits as u64 & TEMPERATURE_BIT != 0);
    if facts.is_empty() && has_warned {
        facts.push("warned that its temperature passed a threshold".to_owned());
    }
    let sentence = || format!("The device {}{}.", facts.join(", and "), hottest(health, time));
    (!facts.is_empty()).then(|| DEVICE.finding(None, &sentence()))
}

/// The highest temperature in `window`, in brackets.
fn hottest(health: &Samples, window: TimeWindow) -> String {
    let sensors = health.columns.iter().filter(|column| column.name.starts_with("temperature"));
    let temperatures = sensors.flat_map(|column| readings(health, &column.name, window)).map(|(_, celsius)| celsius);
    temperatures.max_by(f64::total_cmp).map_or_else(String::new, |celsius| format!(" (up to {celsius:.0} °C)"))
}

/// One finding for each phase in which a processor was throttled.
fn processors(evidence: &Evidence<'_>) -> Option<Finding> {
    let cores = evidence.series("cpu.cores")?;
    let phases = evidence.measured_phases();
    let phases = phases.filter_map(|(result, windows)| Some((result.id(), most_throttled(cores, windows)?)));
    let throttled: Vec<(&str, (&str, f64))> = phases.collect();
    let (phase, (name, times)) = throttled.iter().max_by(|one, other| one.1.1.total_cmp(&other.1.1))?;
    let ids: Vec<&str> = throttled.iter().map(|(id, _)| *id).collect();
    let sentence = format!(
        "Processors were throttled because of heat in {}, {name} most often: {times:.0} times in {phase}.",
        phase_list(&ids)
    );
    Some(PROCESSORS.finding_in(&ids, &sentence))
}

/// The core or package that was throttled most often in `window`, and how often.
fn most_throttled<'a>(cores: &'a Samples, windows: &[TimeWindow]) -> Option<(&'a str, f64)> {
    let counters = cores.columns.iter().filter_map(|column| {
        let name = column.name.strip_suffix(".throttles")?;
        Some((name, total_of_rate(cores, &column.name, windows)?.round()))
    });
    counters.filter(|(_, times)| *times >= 1.0).max_by(|one, other| one.1.total_cmp(&other.1))
}
