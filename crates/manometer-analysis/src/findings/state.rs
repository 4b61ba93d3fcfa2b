//! Whether engine, host and device are after the run what they were before (requirement WR2).

use manometer_measure::Samples;
use manometer_measure::event::{Finding, Severity};

use super::Rule;
use super::evidence::{Evidence, rows, states};
use super::levels::levels;
use crate::levels::MOVING_SHARE;
use crate::statistics::moments::mean;

/// Before and after are the means of this many samples of the host and the engine: one alone may lie anywhere in a
/// saw-tooth.
pub(crate) const SAMPLES: usize = 10;

/// By how much two states may differ and count as the same.
pub(crate) struct Bounds;

impl Bounds {
    /// A level by this share of all levels.
    pub(crate) const LEVEL_SHARE: f64 = MOVING_SHARE;
    /// What the device holds by this share: files of a database come and go.
    pub(crate) const UTILISATION_SHARE: f64 = 0.01;
    /// What waits to be written by this share of the host's memory.
    pub(crate) const DIRTY_SHARE: f64 = 0.01;
    /// The device's temperature by so many degrees.
    pub(crate) const DEGREES: f64 = 10.0;
}

const MOVED: Rule = Rule {
    id: "state-moved",
    severity: Severity::Warning,
    source: "Storiks 3.4.1 (WR2)",
    meaning: "between the begin of the first phase and the end of the last a level's size moved by 5 % of all levels, \
              the device's utilisation by 1 %, waiting writes by 1 % of memory, or its temperature by 10 °C",
    remedy: "Let it settle longer, begin each run from a snapshot, or leave time between runs.",
};

const SINCE_PREPARATION: Rule = Rule {
    id: "state-since-preparation",
    severity: Severity::Warning,
    source: "Storiks 3.4.1 (WR2)",
    meaning: "between the copy of the database that the run begins from and the begin of the first phase the device's \
              utilisation moved by 1 %",
    remedy: "Let nobody else use the device, and do not mount it with `discard`.",
};

pub(super) const RULES: &[Rule] = &[MOVED, SINCE_PREPARATION];

pub(super) fn judge(evidence: &Evidence<'_>) -> Vec<Finding> {
    let moved: Vec<String> = [level(evidence), utilisation(evidence), dirty(evidence), temperature(evidence)]
        .into_iter()
        .flatten()
        .collect();
    let sentence = format!("The state at the end of the run is not the one it began in: {}.", moved.join("; "));
    let moved = (!moved.is_empty()).then(|| MOVED.tell(None, &sentence));
    moved.into_iter().chain(since_preparation(evidence)).collect()
}

/// Whether the device holds something else than right after the copy that the run begins from.
fn since_preparation(evidence: &Evidence<'_>) -> Option<Finding> {
    let prepared = evidence.device_state()?.get("copies")?.pointer("/after/utilisation_bytes")?.as_f64()?;
    let window = evidence.whole()?;
    let (_, at_begin) = states(evidence.series("health")?, "utilisation", window).into_iter().next()?;
    let share = (at_begin - prepared) / prepared;
    (share.is_finite() && share.abs() >= Bounds::UTILISATION_SHARE).then(|| {
        let sentence =
            format!("When the run began the device held {:+.1} % of what it held as prepared.", 100.0 * share);
        SINCE_PREPARATION.tell(None, &sentence)
    })
}

/// The level whose size moved most, where that is a share of all that matters.
fn level(evidence: &Evidence<'_>) -> Option<String> {
    let engine = evidence.engine()?;
    let both: Vec<(u32, (f64, f64))> = levels(engine)
        .filter_map(|(level, column)| Some((level, before_and_after(evidence, engine, column)?)))
        .collect();
    let all: f64 = both.iter().map(|(_, (before, _))| before).sum();
    let moves = both.iter().map(|(level, (before, after))| (level, (after - before) / all));
    let (level, share) = moves.max_by(|one, other| one.1.abs().total_cmp(&other.1.abs()))?;
    (share.is_finite() && share.abs() >= Bounds::LEVEL_SHARE)
        .then(|| format!("level {level} moved by {:+.0} % of all levels", 100.0 * share))
}

fn utilisation(evidence: &Evidence<'_>) -> Option<String> {
    let (before, after) = first_and_last(evidence, "utilisation")?;
    let share = (after - before) / before;
    (share.is_finite() && share.abs() >= Bounds::UTILISATION_SHARE)
        .then(|| format!("the device holds {:+.1} % of what it held", 100.0 * share))
}

fn dirty(evidence: &Evidence<'_>) -> Option<String> {
    let (before, after) = before_and_after(evidence, evidence.series("memory")?, "dirty")?;
    let memory = evidence.recording.environment.get("host")?.get("memory_bytes")?.as_f64()?;
    let share = (after - before) / memory;
    (share.is_finite() && share.abs() >= Bounds::DIRTY_SHARE)
        .then(|| format!("writes that wait in memory moved by {:+.1} % of it", 100.0 * share))
}

fn temperature(evidence: &Evidence<'_>) -> Option<String> {
    let (before, after) = first_and_last(evidence, "temperature")?;
    ((after - before).abs() >= Bounds::DEGREES).then(|| format!("the device went from {before:.0} °C to {after:.0} °C"))
}

/// The means of the first and of the last samples of a column; nothing where there are not two.
fn before_and_after(evidence: &Evidence<'_>, samples: &Samples, column: &str) -> Option<(f64, f64)> {
    let values: Vec<f64> = rows(samples, column, evidence.whole()?).into_iter().map(|(_, value)| value).collect();
    let some = SAMPLES.min(values.len() / 2);
    Some((mean(values.get(..some)?)?, mean(&values[values.len() - some..])?))
}

/// The first and the last state of the device in a column, which is read rarely; nothing where there are not two.
fn first_and_last(evidence: &Evidence<'_>, column: &str) -> Option<(f64, f64)> {
    match states(evidence.series("health")?, column, evidence.whole()?).as_slice() {
        [first, .., last] => Some((first.1, last.1)),
        _ => None,
    }
}
