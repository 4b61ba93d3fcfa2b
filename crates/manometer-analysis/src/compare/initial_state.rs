//! The state of engine, host and device when a run starts to measure, and whether runs start in the same state
//! (requirement WR2).

use std::collections::BTreeSet;
use std::path::Path;

use manometer_measure::event::{Event, Finding, Severity, ThreatTarget};
use manometer_measure::plan::{PhaseKind, Settings};
use manometer_measure::{Recording, Samples};
use serde_json::Value;

use crate::findings::state_change::{
    DIRTY_TOLERANCE, LEVEL_TOLERANCE, SAMPLES, TEMPERATURE_TOLERANCE, UTILISATION_TOLERANCE,
};
use crate::findings::{Rule, serious};
use crate::lsm_levels::level_of;
use crate::statistics::moments::mean;

/// A reading requested at the start of a phase arrives within this time.
const MAX_READING_DELAY_NS: u64 = 15_000_000_000;

pub(super) const DIFFERENT_STATES: Rule = Rule {
    id: "unlike-state",
    severity: Severity::Warning,
    threat: serious(ThreatTarget::Result, "the recordings began in different states"),
    source: "Storiks 3.4.1 (WR2)",
    meaning: "two recordings of one directory on one host start in different states: a level's size differs by 5 % of all \
        levels (among recordings with the same swept settings of the primary), the device's allocated space by 1 %, dirty \
        memory by 1 % of memory, or the device's temperature by 10 °C",
    remedy: "Start each run from a snapshot, settle for longer, or leave time between runs.",
};

/// The state in which a recording starts to measure; `None` for what was not recorded.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct InitialState {
    /// The host and the device directory: states on other devices are not compared.
    device: Option<(String, String)>,
    /// What a sweep set for the primary: a different database has different levels by design.
    swept: Settings,
    /// The bytes of each level.
    levels: Vec<(u32, f64)>,
    utilisation_bytes: Option<f64>,
    /// Dirty memory as a share of memory.
    dirty_share: Option<f64>,
    temperature: Option<f64>,
}

impl InitialState {
    /// The initial state of `recording`.
    pub(super) fn of(recording: &Recording) -> Self {
        let Some(begin_ns) = begin_ns(recording) else { return Self::default() };
        let text = |pointer: &str| recording.environment.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let primary = recording.plan.primary().map(|primary| primary.name.as_str()).unwrap_or_default();
        let prefix = format!("{primary}.");
        let swept =
            recording.plan.sweep.iter().filter(|(key, _)| key.starts_with(&prefix) || key.starts_with("primary."));
        let series = |source: &str| recording.samples(source).ok();
        let engine = series(&format!("{primary}.engine"));
        let health = series("health");
        let memory_bytes = recording.environment.pointer("/host/memory_bytes").and_then(Value::as_f64);
        let dirty_bytes = series("memory").and_then(|memory| first_mean(&memory, "dirty", begin_ns));
        let first = |column| first_reading(health.as_ref()?, column, begin_ns);
        Self {
            device: text("/host/name").zip(text("/directory")),
            swept: swept.map(|(key, value)| (key.clone(), value.clone())).collect(),
            levels: engine.map(|engine| levels(&engine, begin_ns)).unwrap_or_default(),
            utilisation_bytes: first("utilisation"),
            dirty_share: dirty_bytes.zip(memory_bytes).map(|(dirty, memory)| dirty / memory),
            temperature: first("temperature"),
        }
    }
}

/// When the first phase other than the warm-up started.
fn begin_ns(recording: &Recording) -> Option<u64> {
    let is_warmup =
        |id: &str| recording.plan.phases.iter().any(|phase| phase.id == id && phase.kind == PhaseKind::Warmup);
    recording.events.iter().find_map(|line| match &line.event {
        Event::PhaseStarted { phase } if !is_warmup(phase) => Some(line.t_ns),
        Event::RoundsStarted => Some(line.t_ns),
        _ => None,
    })
}

/// The values of a column from `begin_ns` on, with their times.
fn values_from(samples: &Samples, column: &str, begin_ns: u64) -> impl Iterator<Item = (u64, f64)> {
    let values = samples.column(column).unwrap_or_default();
    let rows = samples.t_ns.iter().copied().zip(values.iter().copied()).filter(move |(t_ns, _)| *t_ns >= begin_ns);
    rows.filter_map(|(t_ns, value)| Some((t_ns, value.filter(|value| value.is_finite())?)))
}

/// The mean of the first samples of a column: a single one may lie anywhere in a saw-tooth.
fn first_mean(samples: &Samples, column: &str, begin_ns: u64) -> Option<f64> {
    mean(&values_from(samples, column, begin_ns).take(SAMPLES).map(|(_, value)| value).collect::<Vec<_>>())
}

/// The first reading of a column that is read rarely.
fn first_reading(samples: &Samples, column: &str, begin_ns: u64) -> Option<f64> {
    let first = values_from(samples, column, begin_ns).next();
    first.filter(|(t_ns, _)| *t_ns <= begin_ns + MAX_READING_DELAY_NS).map(|(_, value)| value)
}

fn levels(engine: &Samples, begin_ns: u64) -> Vec<(u32, f64)> {
    let names = engine.columns.iter().map(|column| column.name.as_str());
    names.filter_map(|name| Some((level_of(name)?, first_mean(engine, name, begin_ns)?))).collect()
}

/// A recording's folder and its initial state.
type DirState<'a> = (&'a Path, &'a InitialState);

/// The warning that `recordings` of one directory start in different states.
pub(super) fn different_states(recordings: &[DirState<'_>]) -> Option<Finding> {
    let recordings = recordings.iter().copied().filter(|(_, state)| state.device.is_some());
    let by_device = groups(recordings, |one, other| one.device == other.device);
    let differences: Vec<String> = by_device.iter().flat_map(|group| differences(group)).collect();
    let sentence = format!("The runs start in different states: {}.", differences.join("; "));
    (!differences.is_empty()).then(|| DIFFERENT_STATES.finding(None, &sentence))
}

/// The recordings in groups of equal states, in the order in which groups first appear.
fn groups<'a>(
    recordings: impl Iterator<Item = DirState<'a>>,
    are_equal: impl Fn(&InitialState, &InitialState) -> bool,
) -> Vec<Vec<DirState<'a>>> {
    let mut groups: Vec<Vec<DirState<'_>>> = Vec::new();
    for recording in recordings {
        match groups.iter_mut().find(|group| are_equal(group[0].1, recording.1)) {
            Some(group) => group.push(recording),
            None => groups.push(vec![recording]),
        }
    }
    groups
}

/// The differences between the runs of one directory, as text.
fn differences(runs: &[DirState<'_>]) -> Vec<String> {
    let same_primary = groups(runs.iter().copied(), |one, other| one.swept == other.swept);
    let level = same_primary.iter().filter_map(|runs| largest_level_difference(runs));
    let level = level.max_by(|one, other| one.0.total_cmp(&other.0));
    let utilisation = Spread::of(runs, |state| state.utilisation_bytes).filter(|spread| {
        let share = spread.difference() / spread.lowest.1;
        share.is_finite() && share >= UTILISATION_TOLERANCE
    });
    let dirty = Spread::of(runs, |state| state.dirty_share).filter(|spread| spread.difference() >= DIRTY_TOLERANCE);
    let temperature =
        Spread::of(runs, |state| state.temperature).filter(|spread| spread.difference() >= TEMPERATURE_TOLERANCE);
    let gib = |bytes: f64| format!("{:.2} GiB", bytes / (1_u64 << 30) as f64);
    [
        level.map(|(_, text)| text),
        utilisation.map(|spread| format!("the device's allocated space was {}", spread.text(gib))),
        dirty.map(|spread| {
            let percent = |share: f64| format!("{:.1} % of memory", 100.0 * share);
            format!("dirty memory was {}", spread.text(percent))
        }),
        temperature.map(|spread| {
            let celsius = |degrees: f64| format!("{degrees:.0} °C");
            format!("the device's temperature was {}", spread.text(celsius))
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The largest difference between levels as a share of all levels, and as text; `None` within the tolerance.
fn largest_level_difference(runs: &[DirState<'_>]) -> Option<(f64, String)> {
    let total = |state: &InitialState| state.levels.iter().map(|(_, bytes)| bytes).sum::<f64>();
    let all = runs.iter().map(|(_, state)| total(state)).fold(0.0, f64::max);
    let numbers: BTreeSet<u32> = runs.iter().flat_map(|(_, state)| &state.levels).map(|(number, _)| *number).collect();
    let difference = |number: u32| {
        let bytes = |state: &InitialState| Some(state.levels.iter().find(|(level, _)| *level == number)?.1);
        let spread = Spread::of(runs, bytes)?;
        let text = spread.text(|bytes| format!("{:.0} %", 100.0 * bytes / all));
        Some((spread.difference() / all, format!("level {number} held {text} of all levels")))
    };
    let largest = numbers.into_iter().filter_map(difference).max_by(|one, other| one.0.total_cmp(&other.0))?;
    (largest.0.is_finite() && largest.0 >= LEVEL_TOLERANCE).then_some(largest)
}

/// The runs with the lowest and the highest value of something.
struct Spread<'a> {
    lowest: (&'a Path, f64),
    highest: (&'a Path, f64),
}

impl<'a> Spread<'a> {
    fn of(runs: &[DirState<'a>], value: impl Fn(&InitialState) -> Option<f64>) -> Option<Self> {
        let values: Vec<(&Path, f64)> = runs.iter().filter_map(|(dir, state)| Some((*dir, value(state)?))).collect();
        let lowest = values.iter().copied().min_by(|one, other| one.1.total_cmp(&other.1))?;
        let highest = values.iter().copied().max_by(|one, other| one.1.total_cmp(&other.1))?;
        Some(Self { lowest, highest })
    }

    fn difference(&self) -> f64 {
        self.highest.1 - self.lowest.1
    }

    fn text(&self, number: impl Fn(f64) -> String) -> String {
        let ((low_dir, low), (high_dir, high)) = (self.lowest, self.highest);
        format!("{} in {} and {} in {}", number(low), low_dir.display(), number(high), high_dir.display())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const GIB: f64 = (1_u64 << 30) as f64;

    fn state() -> InitialState {
        InitialState {
            device: Some(("host".to_owned(), "/data".to_owned())),
            swept: Settings::new(),
            levels: vec![(0, GIB), (6, 9.0 * GIB)],
            utilisation_bytes: Some(100.0 * GIB),
            dirty_share: Some(0.001),
            temperature: Some(40.0),
        }
    }

    fn difference(one: &InitialState, other: &InitialState) -> Option<String> {
        different_states(&[(Path::new("a"), one), (Path::new("b"), other)]).map(|finding| finding.text)
    }

    #[test]
    fn equal_states_are_not_reported() {
        let close = InitialState {
            levels: vec![(0, 1.4 * GIB), (6, 9.0 * GIB)],
            utilisation_bytes: Some(100.9 * GIB),
            dirty_share: Some(0.010),
            temperature: Some(49.0),
            ..state()
        };
        assert_eq!(difference(&state(), &close), None);
        assert_eq!(difference(&state(), &InitialState::default()), None, "what was not recorded is no difference");
    }

    #[test]
    fn each_difference_beyond_its_tolerance_is_reported_with_both_runs() {
        let cases = [
            (
                InitialState { levels: vec![(0, GIB), (6, 9.6 * GIB)], ..state() },
                "level 6 held 85 % in a and 91 % in b",
            ),
            (
                InitialState { utilisation_bytes: Some(101.5 * GIB), ..state() },
                "was 100.00 GiB in a and 101.50 GiB in b",
            ),
            (InitialState { dirty_share: Some(0.02), ..state() }, "was 0.1 % of memory in a and 2.0 % of memory in b"),
            (InitialState { temperature: Some(30.0), ..state() }, "was 30 °C in b and 40 °C in a"),
        ];
        for (other, words) in cases {
            let text = difference(&state(), &other).unwrap();
            assert!(text.contains(words) && text.ends_with(DIFFERENT_STATES.remedy), "{text}");
            let elsewhere = InitialState { device: Some(("host".to_owned(), "/other".to_owned())), ..other };
            assert_eq!(difference(&state(), &elsewhere), None, "another directory");
        }
    }

    #[test]
    fn a_different_database_has_different_levels_by_design() {
        let swept: Settings = [("primary.records".to_owned(), json!(7))].into_iter().collect();
        let larger = InitialState { swept, levels: vec![(0, GIB), (6, 90.0 * GIB)], ..state() };
        assert_eq!(difference(&state(), &larger), None);
        assert!(difference(&state(), &InitialState { swept: Settings::new(), ..larger }).is_some());
    }
}
