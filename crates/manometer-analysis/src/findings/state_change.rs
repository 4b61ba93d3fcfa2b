//! Whether engine, host and device are in the same state after the run as before (requirement WR2).

use manometer_measure::Samples;
use manometer_measure::event::{Finding, Severity, ThreatTarget};
use manometer_measure::human;

use super::evidence::{Evidence, first_and_last, readings, values};
use super::rule::{Family, Rule, minor, serious};
use crate::lsm_levels::{TREND_SHARE, level_columns};
use crate::statistics::moments::mean;

/// States before and after are means of this many samples: a single one may lie anywhere in a saw-tooth.
pub(crate) const SAMPLES: usize = 10;

/// The tolerance of a level's size, as a share of all levels.
pub(crate) const LEVEL_TOLERANCE: f64 = TREND_SHARE;
/// The tolerance of the device's allocated space: files of a database come and go.
pub(crate) const UTILISATION_TOLERANCE: f64 = 0.01;
/// The tolerance of dirty memory, as a share of the host's memory.
pub(crate) const DIRTY_TOLERANCE: f64 = 0.01;
/// The tolerance of the device's temperature, in degrees Celsius.
pub(crate) const TEMPERATURE_TOLERANCE: f64 = 10.0;

const STATE_MOVED: Rule = Rule {
    id: "state-moved",
    severity: Severity::Warning,
    threat: serious(ThreatTarget::Result, "the state of engine, host or device changed"),
    source: "Storiks 3.4.1 (WR2)",
    meaning: "between the start of the first phase and the end of the last, a level's size changed by 5 % of all levels, the \
        device's allocated space by 1 %, dirty memory by 1 % of memory, or the device's temperature by 10 °C",
    remedy: "Settle for longer, start each run from a snapshot, or leave time between runs.",
};

const SINCE_PREPARATION: Rule = Rule {
    id: "state-since-preparation",
    severity: Severity::Warning,
    threat: minor(ThreatTarget::Storage, "the device changed since it was prepared"),
    source: "Storiks 3.4.1 (WR2)",
    meaning: "between copying the prepared database and the start of the first phase, the device's allocated space changed by 1 %",
    remedy: "Keep other programs from using the device, and do not mount it with `discard`.",
};

pub(super) const FAMILY: Family = Family { rules: &[STATE_MOVED, SINCE_PREPARATION], evaluate };

fn evaluate(evidence: &Evidence<'_>) -> Vec<Finding> {
    state_moved(evidence).into_iter().chain(since_preparation(evidence)).collect()
}

fn state_moved(evidence: &Evidence<'_>) -> Option<Finding> {
    let changes = [levels(evidence), utilisation(evidence), dirty_memory(evidence), temperature(evidence)];
    let changes: Vec<String> = changes.into_iter().flatten().collect();
    let sentence = format!("The state changed during the run: {}.", changes.join("; "));
    (!changes.is_empty()).then(|| STATE_MOVED.finding(None, &sentence))
}

fn since_preparation(evidence: &Evidence<'_>) -> Option<Finding> {
    let prepared = evidence.device_state()?.get("copies")?.pointer("/after/utilisation_bytes")?.as_f64()?;
    let (_, at_start) =
        readings(evidence.series("health")?, "utilisation", evidence.measured_time()?).into_iter().next()?;
    let change = (at_start - prepared) / prepared;
    let sentence = format!(
        "The device changed since it was prepared: its allocated space had changed by {:+.1} % at the start of the run.",
        100.0 * change
    );
    is_beyond(change, UTILISATION_TOLERANCE).then(|| SINCE_PREPARATION.finding(None, &sentence))
}

fn is_beyond(change: f64, tolerance: f64) -> bool {
    change.is_finite() && change.abs() >= tolerance
}

/// The level whose size changed most.
fn levels(evidence: &Evidence<'_>) -> Option<String> {
    let engine = evidence.engine()?;
    let levels: Vec<(u32, (f64, f64))> = level_columns(engine)
        .filter_map(|(level, column)| Some((level, state_difference(evidence, engine, column)?)))
        .collect();
    let all: f64 = levels.iter().map(|(_, (before, _))| before).sum();
    let changes = levels.iter().map(|(level, sizes)| (level, (sizes.1 - sizes.0) / all, sizes));
    let (level, change, (before, after)) = changes.max_by(|one, other| one.1.abs().total_cmp(&other.1.abs()))?;
    is_beyond(change, LEVEL_TOLERANCE).then(|| {
        let [before, after] = [before, after].map(|bytes| human::bytes(*bytes as u64));
        format!("level {level} from {before} to {after}, {:+.0} % of all levels' size at the start", 100.0 * change)
    })
}

fn utilisation(evidence: &Evidence<'_>) -> Option<String> {
    let (before, after) = first_and_last(evidence.series("health")?, "utilisation", evidence.measured_time()?)?;
    let change = (after - before) / before;
    is_beyond(change, UTILISATION_TOLERANCE)
        .then(|| format!("the device's allocated space by {:+.1} %", 100.0 * change))
}

fn dirty_memory(evidence: &Evidence<'_>) -> Option<String> {
    let (before, after) = state_difference(evidence, evidence.series("memory")?, "dirty")?;
    let memory = evidence.recording.environment.get("host")?.get("memory_bytes")?.as_f64()?;
    let change = (after - before) / memory;
    is_beyond(change, DIRTY_TOLERANCE).then(|| format!("dirty memory by {:+.1} % of memory", 100.0 * change))
}

fn temperature(evidence: &Evidence<'_>) -> Option<String> {
    let (before, after) = first_and_last(evidence.series("health")?, "temperature", evidence.measured_time()?)?;
    is_beyond(after - before, TEMPERATURE_TOLERANCE)
        .then(|| format!("the device's temperature from {before:.0} °C to {after:.0} °C"))
}

/// The means of the first and of the last samples of a column; `None` for fewer than two samples.
fn state_difference(evidence: &Evidence<'_>, samples: &Samples, column: &str) -> Option<(f64, f64)> {
    let values: Vec<f64> =
        values(samples, column, &[evidence.measured_time()?]).into_iter().map(|(_, value)| value).collect();
    let count = SAMPLES.min(values.len() / 2);
    Some((mean(values.get(..count)?)?, mean(&values[values.len() - count..])?))
}
