//! In which state engine, host and device are when a run begins to measure, and whether runs begin alike (requirement
//! WR2).

use std::path::Path;

use manometer_measure::event::{Event, Finding};
use manometer_measure::plan::{PhaseKind, Settings};
use manometer_measure::{Recording, Samples};
use serde_json::Value;

use super::rules;
use crate::findings::{Bounds, SAMPLES};
use crate::levels::level_of;
use crate::statistics::moments::mean;

/// A reading that was asked for when a phase began comes no later than this.
const LATE_NS: u64 = 15_000_000_000;

/// The state in which a recording begins to measure; what was not recorded is missing.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct State {
    /// The host and the device directory: of others, states are no difference.
    place: Option<(String, String)>,
    /// What a sweep set for the primary: another database has other levels on purpose.
    swept: Settings,
    /// The bytes of each level.
    levels: Vec<(u32, f64)>,
    utilisation_bytes: Option<f64>,
    /// What waits to be written, as a share of memory.
    dirty_share: Option<f64>,
    degrees: Option<f64>,
}

impl State {
    /// That of `recording`.
    pub(super) fn of(recording: &Recording) -> Self {
        let Some(begin_ns) = begin_ns(recording) else { return Self::default() };
        let text = |place: &str| recording.environment.pointer(place).and_then(Value::as_str).map(str::to_owned);
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
            place: text("/host/name").zip(text("/directory")),
            swept: swept.map(|(key, value)| (key.clone(), value.clone())).collect(),
            levels: engine.map(|engine| levels(&engine, begin_ns)).unwrap_or_default(),
            utilisation_bytes: first("utilisation"),
            dirty_share: dirty_bytes.zip(memory_bytes).map(|(dirty, memory)| dirty / memory),
            degrees: first("temperature"),
        }
    }
}

/// When the first phase that is no warm-up began to be measured.
fn begin_ns(recording: &Recording) -> Option<u64> {
    let warmup = |id: &str| recording.plan.phases.iter().any(|one| one.id == id && one.kind == PhaseKind::Warmup);
    recording.events.iter().find_map(|line| match &line.event {
        Event::PhaseStarted { phase } if !warmup(phase) => Some(line.t_ns),
        _ => None,
    })
}

/// The numbers of a column from `begin_ns` on, with when.
fn from(samples: &Samples, column: &str, begin_ns: u64) -> impl Iterator<Item = (u64, f64)> {
    let values = samples.column(column).unwrap_or_default();
    let rows = samples.t_ns.iter().copied().zip(values.iter().copied()).filter(move |(t_ns, _)| *t_ns >= begin_ns);
    rows.filter_map(|(t_ns, value)| Some((t_ns, value.filter(|value| value.is_finite())?)))
}

/// The mean of the first samples of a column: one alone may lie anywhere in a saw-tooth.
fn first_mean(samples: &Samples, column: &str, begin_ns: u64) -> Option<f64> {
    mean(&from(samples, column, begin_ns).take(SAMPLES).map(|(_, value)| value).collect::<Vec<_>>())
}

/// The first number of a column that is read rarely.
fn first_reading(samples: &Samples, column: &str, begin_ns: u64) -> Option<f64> {
    from(samples, column, begin_ns).next().filter(|(t_ns, _)| *t_ns <= begin_ns + LATE_NS).map(|(_, value)| value)
}

fn levels(engine: &Samples, begin_ns: u64) -> Vec<(u32, f64)> {
    let names = engine.columns.iter().map(|column| column.name.as_str());
    names.filter_map(|name| Some((level_of(name)?, first_mean(engine, name, begin_ns)?))).collect()
}

/// The warning that `recordings` do not begin in the same state, where some of one directory do not.
pub(super) fn unlike_states(recordings: &[(&Path, &State)]) -> Option<Finding> {
    let mut places: Vec<Vec<(&Path, &State)>> = Vec::new();
    for (dir, state) in recordings.iter().copied().filter(|(_, state)| state.place.is_some()) {
        match places.iter_mut().find(|group| group[0].1.place == state.place) {
            Some(group) => group.push((dir, state)),
            None => places.push(vec![(dir, state)]),
        }
    }
    let told: Vec<String> = places.iter().flat_map(|group| differences(group)).collect();
    (!told.is_empty()).then(|| rules::STATE.tell(None, &format!("Runs began in unlike states: {}.", told.join("; "))))
}

/// What differs between the runs of one directory, in words.
fn differences(runs: &[(&Path, &State)]) -> Vec<String> {
    let level = same_primary(runs).iter().filter_map(|runs| level(runs)).max_by(|one, other| one.0.total_cmp(&other.0));
    let device = spread(runs, |state| state.utilisation_bytes).filter(|spread| {
        let share = (spread.most.1 - spread.least.1) / spread.least.1;
        share.is_finite() && share >= Bounds::UTILISATION_SHARE
    });
    let dirty = spread(runs, |state| state.dirty_share).filter(|it| it.most.1 - it.least.1 >= Bounds::DIRTY_SHARE);
    let heat = spread(runs, |state| state.degrees).filter(|it| it.most.1 - it.least.1 >= Bounds::DEGREES);
    let gib = |bytes: f64| format!("{:.2} GiB", bytes / (1_u64 << 30) as f64);
    [
        level.map(|(_, text)| text),
        device.map(|it| format!("the device held {}", it.text(gib))),
        dirty
            .map(|it| it.text(|share| format!("{:.1} % of memory", 100.0 * share)))
            .map(|text| format!("waiting writes took {text}")),
        heat.map(|it| format!("the device had {}", it.text(|degrees| format!("{degrees:.0} °C")))),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn same_primary<'a>(runs: &[(&'a Path, &'a State)]) -> Vec<Vec<(&'a Path, &'a State)>> {
    let mut groups: Vec<Vec<(&Path, &State)>> = Vec::new();
    for run in runs.iter().copied() {
        match groups.iter_mut().find(|group| group[0].1.swept == run.1.swept) {
            Some(group) => group.push(run),
            None => groups.push(vec![run]),
        }
    }
    groups
}

/// The level that differs most, by which share of all levels, where that matters.
fn level(runs: &[(&Path, &State)]) -> Option<(f64, String)> {
    let all =
        runs.iter().map(|(_, state)| state.levels.iter().map(|(_, bytes)| bytes).sum::<f64>()).fold(0.0, f64::max);
    let numbers: std::collections::BTreeSet<u32> =
        runs.iter().flat_map(|(_, state)| &state.levels).map(|(level, _)| *level).collect();
    let of = |number: u32| {
        let bytes = |state: &State| Some(state.levels.iter().find(|(level, _)| *level == number)?.1);
        let spread = spread(runs, bytes)?;
        let text = spread.text(|bytes| format!("{:.0} %", 100.0 * bytes / all));
        Some(((spread.most.1 - spread.least.1) / all, format!("level {number} held {text} of all levels")))
    };
    let greatest = numbers.into_iter().filter_map(of).max_by(|one, other| one.0.total_cmp(&other.0))?;
    (greatest.0.is_finite() && greatest.0 >= Bounds::LEVEL_SHARE).then_some(greatest)
}

/// The runs between which something differs most.
struct Spread<'a> {
    least: (&'a Path, f64),
    most: (&'a Path, f64),
}

impl Spread<'_> {
    fn text(&self, number: impl Fn(f64) -> String) -> String {
        let ((low_in, low), (high_in, high)) = (self.least, self.most);
        format!("{} in {} and {} in {}", number(low), low_in.display(), number(high), high_in.display())
    }
}

fn spread<'a>(runs: &[(&'a Path, &'a State)], of: impl Fn(&State) -> Option<f64>) -> Option<Spread<'a>> {
    let known: Vec<(&Path, f64)> = runs.iter().filter_map(|(dir, state)| Some((*dir, of(state)?))).collect();
    let least = known.iter().copied().min_by(|one, other| one.1.total_cmp(&other.1))?;
    let most = known.iter().copied().max_by(|one, other| one.1.total_cmp(&other.1))?;
    Some(Spread { least, most })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const GIB: f64 = (1_u64 << 30) as f64;

    fn state() -> State {
        State {
            place: Some(("host".to_owned(), "/data".to_owned())),
            swept: Settings::new(),
            levels: vec![(0, GIB), (6, 9.0 * GIB)],
            utilisation_bytes: Some(100.0 * GIB),
            dirty_share: Some(0.001),
            degrees: Some(40.0),
        }
    }

    fn told(one: &State, other: &State) -> Option<String> {
        unlike_states(&[(Path::new("a"), one), (Path::new("b"), other)]).map(|finding| finding.text)
    }

    #[test]
    fn runs_that_begin_alike_are_no_finding() {
        let close = State {
            levels: vec![(0, 1.4 * GIB), (6, 9.0 * GIB)],
            utilisation_bytes: Some(100.9 * GIB),
            dirty_share: Some(0.010),
            degrees: Some(49.0),
            ..state()
        };
        assert_eq!(told(&state(), &close), None);
        assert_eq!(told(&state(), &State::default()), None, "what was not recorded is no difference");
    }

    #[test]
    fn each_that_differs_beyond_its_bound_is_told_with_both_runs() {
        let cases = [
            (State { levels: vec![(0, GIB), (6, 9.6 * GIB)], ..state() }, "level 6 held 85 % in a and 91 % in b"),
            (State { utilisation_bytes: Some(101.5 * GIB), ..state() }, "held 100.00 GiB in a and 101.50 GiB in b"),
            (State { dirty_share: Some(0.02), ..state() }, "took 0.1 % of memory in a and 2.0 % of memory in b"),
            (State { degrees: Some(30.0), ..state() }, "had 30 °C in b and 40 °C in a"),
        ];
        for (other, words) in cases {
            let text = told(&state(), &other).unwrap();
            assert!(text.contains(words) && text.ends_with(rules::STATE.remedy), "{text}");
            let elsewhere = State { place: Some(("host".to_owned(), "/other".to_owned())), ..other };
            assert_eq!(told(&state(), &elsewhere), None, "another directory");
        }
    }

    #[test]
    fn another_database_has_other_levels_on_purpose() {
        let swept: Settings = [("primary.records".to_owned(), json!(7))].into_iter().collect();
        let larger = State { swept, levels: vec![(0, GIB), (6, 90.0 * GIB)], ..state() };
        assert_eq!(told(&state(), &larger), None);
        assert!(told(&state(), &State { swept: Settings::new(), ..larger }).is_some());
    }
}
