//! Whether the device or the processors held themselves back because they were hot.

use manometer_measure::Samples;
use manometer_measure::event::{Finding, Severity};

use super::Rule;
use super::evidence::{Evidence, amount, states};
use crate::series::Window;

/// The bit of an NVMe critical warning that says a temperature threshold is passed in the NVMe health log.
const TEMPERATURE_BIT: u64 = 0b10;

/// Counters of times at which heat held the device back.
const THROTTLES: [&str; 3] = ["light_throttles", "heavy_throttles", "throttle_events"];

/// Counters of the time above a temperature, in seconds, and which.
const TIMES_ABOVE: [(&str, &str); 3] = [
    ("warning_time", "the temperature that it warns of"),
    ("critical_time", "its critical temperature"),
    ("over_limit_time", "the temperature that it is made for"),
];

const HEAT: Rule = Rule {
    id: "thermal-throttling",
    severity: Severity::Warning,
    source: "NVMe, SMART / health information log; ACS-5, temperature statistics; Storiks 3.4.1 (WR2)",
    meaning: "the device was throttled by heat, spent time above a temperature of its own, or warned of it",
    remedy: "Cool the device, or leave it time between phases.",
};

const PROCESSORS: Rule = Rule {
    id: "processors-throttled",
    severity: Severity::Warning,
    source: "Linux, `thermal_throttle`; Storiks 3.4.1 (WR2)",
    meaning: "heat made a processor slow down in a phase",
    remedy: "Cool the host, or hold its clock down for all phases: `cpupower frequency-set --max`.",
};

pub(super) const RULES: &[Rule] = &[HEAT, PROCESSORS];

pub(super) fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    device(evidence).into_iter().chain(processors(evidence)).collect()
}

fn device(evidence: &Evidence<'_>) -> Option<Finding> {
    let health = evidence.series("health")?;
    let all = evidence.whole()?;
    let grown = |column: &str| growth(health, column, all);
    let throttled_s = grown("throttle_time");
    let times = THROTTLES.into_iter().map(grown).fold(0.0, f64::max);
    let held_back = match (throttled_s > 0.0, times > 0.0) {
        (true, _) => Some(format!("held itself back for {throttled_s:.0} s because of heat")),
        (false, true) => Some(format!("held itself back {times:.0} times because of heat")),
        (false, false) => None,
    };
    let above = TIMES_ABOVE.into_iter().filter_map(|(column, what)| {
        let seconds = grown(column);
        (seconds > 0.0).then(|| format!("spent {seconds:.0} s above {what}"))
    });
    let mut told: Vec<String> = held_back.into_iter().chain(above).collect();
    let warned = states(health, "critical_warning", all).iter().any(|(_, bits)| *bits as u64 & TEMPERATURE_BIT != 0);
    if told.is_empty() && warned {
        told.push("warned that its temperature passed a threshold".to_owned());
    }
    (!told.is_empty()).then(|| {
        let sentence = format!("The device {}{}.", told.join(", and "), hottest(health, all));
        HEAT.tell(None, &sentence)
    })
}

/// How much a counter grew in `window`; nothing that was not read twice grew.
fn growth(health: &Samples, column: &str, window: Window) -> f64 {
    let rows = states(health, column, window);
    rows.last().zip(rows.first()).map_or(0.0, |(last, first)| last.1 - first.1)
}

/// The highest temperature in `window`, in brackets.
fn hottest(health: &Samples, window: Window) -> String {
    let sensors = health.columns.iter().filter(|column| column.name.starts_with("temperature"));
    let shown = sensors.flat_map(|column| states(health, &column.name, window)).map(|(_, celsius)| celsius);
    shown.max_by(f64::total_cmp).map_or_else(String::new, |celsius| format!(" (up to {celsius:.0} °C)"))
}

/// One finding for each phase in which heat slowed a processor down.
fn processors(evidence: &Evidence<'_>) -> Vec<Finding> {
    let Some(cores) = evidence.series("cpu.cores") else { return Vec::new() };
    let judge = |(id, window): (&str, Window)| {
        let (name, times) = most_throttled(cores, window)?;
        let sentence = format!("Heat slowed processors down in {id}, {name} the most: {times:.0} times.");
        Some(PROCESSORS.tell(Some(id), &sentence))
    };
    evidence.measured().filter_map(|(one, window)| judge((one.phase.id.as_str(), window))).collect()
}

/// The core or package that heat slowed down the most in `window`, and how often; nothing where none was.
fn most_throttled(cores: &Samples, window: Window) -> Option<(&str, f64)> {
    let counted = cores.columns.iter().filter_map(|column| {
        let name = column.name.strip_suffix(".throttles")?;
        Some((name, amount(cores, &column.name, window)?.round()))
    });
    counted.filter(|(_, times)| *times >= 1.0).max_by(|one, other| one.1.total_cmp(&other.1))
}
