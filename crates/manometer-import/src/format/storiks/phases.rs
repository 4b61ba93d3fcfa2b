//! Derives phases from what the workloads reported: who works, and with which settings.

use std::collections::BTreeSet;

use manometer_measure::plan::{Phase, PhaseKind, Settings};
use serde_json::Value;

use crate::ImportedPhase;

/// A change of a workload's settings, or whether it is paused.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Change {
    pub t_ns: u64,
    pub settings: Settings,
    pub waits: bool,
}

/// When a workload works, and with which settings.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Activity {
    pub name: String,
    pub is_primary: bool,
    pub begin_ns: u64,
    pub end_ns: u64,
    /// In the order of time; before the first one it has the settings with which it started.
    pub changes: Vec<Change>,
}

/// The working workloads and their settings, from a time on.
#[derive(Debug, Clone, PartialEq)]
struct State {
    begin_ns: u64,
    /// Settings by workload; `None` while it does not work.
    working: Working,
}

type Working = Vec<Option<Settings>>;

/// The shortest phase: one that holds a sample.
pub(super) fn shortest_ns(interval_s: f64) -> u64 {
    (1.5 * interval_s * 1e9) as u64
}

/// The phases of a run of these workloads. An interval without changes is a phase, unless it is too short for a sample;
/// the first `warm_up_ns` do not count.
pub(super) fn phases(activities: &[Activity], warm_up_ns: u64, end_ns: u64, interval_s: f64) -> Vec<ImportedPhase> {
    let has_primary = activities.iter().any(|activity| activity.is_primary);
    let states = states(activities, end_ns);
    let stretches = states.iter().enumerate().map(|(number, state)| {
        let end_ns = states.get(number + 1).map_or(end_ns, |next| next.begin_ns);
        (state.begin_ns.max(warm_up_ns), end_ns, &state.working)
    });
    let wanted = stretches.filter(|(begin_ns, end_ns, working)| {
        let is_long = end_ns.saturating_sub(*begin_ns) >= shortest_ns(interval_s);
        is_long && (has_primary || working.iter().any(Option::is_some))
    });
    let wanted: Vec<_> = wanted.collect();
    let changing = changing(activities, wanted.iter().map(|(_, _, working)| *working));
    let mut found: Vec<ImportedPhase> = Vec::new();
    if has_primary && warm_up_ns > 0 {
        let alone: Working = activities.iter().map(|one| one.is_primary.then(Settings::new)).collect();
        let phase = phase("warmup", "warm-up", PhaseKind::Warmup, activities, &alone, &changing);
        found.push(ImportedPhase { phase, begin_ns: 0, end_ns: warm_up_ns.min(end_ns) });
    }
    let mut before: Option<&Working> = None;
    // What works in `w0`: the primary alone, with its first settings.
    let mut first_alone: Option<&Working> = None;
    let (mut pressures, mut baselines) = (0, 0);
    for (begin_ns, end_ns, working) in wanted {
        let is_alone = activities.iter().zip(working).all(|(one, working)| one.is_primary || working.is_none());
        let (id, label, kind) = if is_alone && *first_alone.get_or_insert(working) == working {
            baselines += 1;
            let id = if baselines == 1 { "w0".to_owned() } else { format!("w0-{baselines}") };
            let label = if baselines == 1 { "no neighbour" } else { "no neighbour, again" };
            (id, label.to_owned(), PhaseKind::Baseline)
        } else {
            pressures += 1;
            (format!("w{pressures}"), label(activities, before, working), PhaseKind::Pressure)
        };
        let phase = phase(&id, &label, kind, activities, working, &changing);
        found.push(ImportedPhase { phase, begin_ns, end_ns });
        before = Some(working);
    }
    for imported in &mut found {
        imported.phase.duration_s = imported.end_ns.saturating_sub(imported.begin_ns) as f64 / 1e9;
    }
    found
}

/// The states in order; consecutive equal ones are merged.
fn states(activities: &[Activity], end_ns: u64) -> Vec<State> {
    let changes = |one: &Activity| one.changes.iter().map(|change| change.t_ns).collect::<Vec<_>>();
    let moments: BTreeSet<u64> =
        activities.iter().flat_map(|one| changes(one).into_iter().chain([one.begin_ns, one.end_ns])).collect();
    let mut states: Vec<State> = Vec::new();
    for begin_ns in std::iter::once(0).chain(moments).filter(|begin_ns| *begin_ns < end_ns) {
        let state = State { begin_ns, working: activities.iter().map(|one| settings_at(one, begin_ns)).collect() };
        if states.last().is_none_or(|last| last.working != state.working) {
            states.push(state);
        }
    }
    states
}

/// The settings of a workload at a time; `None` while it does not work.
fn settings_at(activity: &Activity, t_ns: u64) -> Option<Settings> {
    let last = activity.changes.iter().rev().find(|change| change.t_ns <= t_ns);
    let works = (activity.begin_ns..activity.end_ns).contains(&t_ns) && last.is_none_or(|change| !change.waits);
    works.then(|| last.map(|change| change.settings.clone()).unwrap_or_default())
}

/// The settings that differ between phases in which their workload works, as `name.setting`.
fn changing<'a>(activities: &[Activity], phases: impl Iterator<Item = &'a Working>) -> BTreeSet<(usize, String)> {
    let phases: Vec<_> = phases.collect();
    let mut changing = BTreeSet::new();
    for number in 0..activities.len() {
        let of_phase: Vec<&Settings> = phases.iter().filter_map(|working| working[number].as_ref()).collect();
        let names: BTreeSet<&String> = of_phase.iter().flat_map(|settings| settings.keys()).collect();
        let differs = |name: &&&String| of_phase.windows(2).any(|pair| pair[0].get(**name) != pair[1].get(**name));
        changing.extend(names.iter().filter(differs).map(|name| (number, (*name).clone())));
    }
    changing
}

fn phase(
    id: &str,
    label: &str,
    kind: PhaseKind,
    activities: &[Activity],
    working: &[Option<Settings>],
    changing: &BTreeSet<(usize, String)>,
) -> Phase {
    let settings = changing.iter().filter_map(|(number, name)| {
        let value = working[*number].as_ref()?.get(name)?.clone();
        Some((format!("{}.{name}", activities[*number].name), value))
    });
    let names = activities.iter().zip(working).filter(|(_, working)| working.is_some());
    Phase {
        id: id.to_owned(),
        label: label.to_owned(),
        kind,
        duration_s: 0.0,
        settle_s: 0.0,
        running: names.map(|(one, _)| one.name.clone()).collect(),
        settings: settings.collect(),
    }
}

/// The changes at the start of a phase.
fn label(activities: &[Activity], before: Option<&Working>, working: &[Option<Settings>]) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut changes_text = Vec::new();
    for (number, Activity { name, is_primary, .. }) in activities.iter().enumerate() {
        let earlier = before.and_then(|before| before[number].as_ref());
        match (earlier, &working[number]) {
            (None, Some(_)) if *is_primary && before.is_none() => {}
            (None, Some(_)) => changes_text.push(format!("{name} starts")),
            (Some(_), None) => changes_text.push(format!("{name} stops")),
            (Some(earlier), Some(now)) => {
                let new = now.iter().filter(|(setting, value)| earlier.get(*setting) != Some(value));
                changes_text.extend(new.map(|(setting, value)| format!("{name}.{setting} = {}", text(value))));
            }
            (None, None) => {}
        }
    }
    changes_text.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const MINUTE: u64 = 60_000_000_000;

    fn change(minute: u64, write_ratio: f64, waits: bool) -> Change {
        let settings = json!({ "write_ratio": write_ratio, "block_size": "4KiB" });
        Change { t_ns: minute * MINUTE, settings: settings.as_object().unwrap().clone(), waits }
    }

    fn workload(name: &str, minutes: std::ops::Range<u64>, changes: Vec<Change>) -> Activity {
        let (begin_ns, end_ns) = (minutes.start * MINUTE, minutes.end * MINUTE);
        Activity { name: name.to_owned(), is_primary: name == "primary", begin_ns, end_ns, changes }
    }

    fn spans(found: &[ImportedPhase]) -> Vec<(&str, u64, u64)> {
        found.iter().map(|one| (one.phase.id.as_str(), one.begin_ns / MINUTE, one.end_ns / MINUTE)).collect()
    }

    fn labels(found: &[ImportedPhase]) -> Vec<&str> {
        found.iter().map(|one| one.phase.label.as_str()).collect()
    }

    #[test]
    fn staggered_neighbours_make_one_phase_each_time_one_changes() {
        let activities = [
            workload("primary", 0..99, Vec::new()),
            workload("n1", 0..99, vec![change(0, 0.0, true), change(10, 0.0, false), change(14, 0.5, false)]),
            workload("n2", 0..99, vec![change(0, 0.0, true), change(12, 0.0, false)]),
        ];
        let found = phases(&activities, 5 * MINUTE, 20 * MINUTE, 5.0);
        assert_eq!(spans(&found), [("warmup", 0, 5), ("w0", 5, 10), ("w1", 10, 12), ("w2", 12, 14), ("w3", 14, 20)]);
        assert_eq!(labels(&found), ["warm-up", "no neighbour", "n1 starts", "n2 starts", "n1.write_ratio = 0.5"]);
        assert_eq!(found[0].phase.running, ["primary"]);
        assert_eq!(found[4].phase.running, ["primary", "n1", "n2"]);
        assert_eq!(Value::from(found[4].phase.settings.clone()), json!({ "n1.write_ratio": 0.5 }));
        assert_eq!(found[3].phase.duration_s, 120.0);
    }

    #[test]
    fn a_neighbour_alone_has_phases_without_a_primary() {
        let activities = [workload("n1", 0..99, vec![change(0, 0.0, false), change(4, 1.0, false)])];
        let found = phases(&activities, 0, 8 * MINUTE, 2.0);
        let running: Vec<_> = found.iter().map(|one| (one.phase.id.as_str(), one.phase.running.clone())).collect();
        assert_eq!(running, [("w1", vec!["n1".to_owned()]), ("w2", vec!["n1".to_owned()])]);
    }

    #[test]
    fn a_further_instance_begins_a_phase_and_its_end_another() {
        let activities = [
            workload("primary", 0..99, Vec::new()),
            workload("ycsb2", 10..30, Vec::new()),
            workload("ycsb3", 20..99, Vec::new()),
        ];
        let found = phases(&activities, MINUTE, 40 * MINUTE, 5.0);
        assert_eq!(spans(&found), [("warmup", 0, 1), ("w0", 1, 10), ("w1", 10, 20), ("w2", 20, 30), ("w3", 30, 40)]);
        assert_eq!(labels(&found)[1..], ["no neighbour", "ycsb2 starts", "ycsb3 starts", "ycsb2 stops"]);
        assert_eq!(found[3].phase.running, ["primary", "ycsb2", "ycsb3"]);
        assert_eq!(found[4].phase.running, ["primary", "ycsb3"]);
    }

    #[test]
    fn a_change_of_the_primary_begins_a_phase_that_is_no_baseline() {
        let activities = [
            workload("primary", 0..99, vec![change(0, 0.1, false), change(10, 0.5, false), change(20, 0.1, false)]),
            workload("n1", 30..99, Vec::new()),
        ];
        let found = phases(&activities, MINUTE, 40 * MINUTE, 5.0);
        assert_eq!(spans(&found), [("warmup", 0, 1), ("w0", 1, 10), ("w1", 10, 20), ("w0-2", 20, 30), ("w2", 30, 40)]);
        assert_eq!(
            labels(&found)[1..],
            ["no neighbour", "primary.write_ratio = 0.5", "no neighbour, again", "n1 starts"]
        );
        assert_eq!(found[2].phase.kind, PhaseKind::Pressure);
        let ratio = |number: usize| found[number].phase.settings["primary.write_ratio"].as_f64();
        assert_eq!([1, 2, 3, 4].map(ratio), [0.1, 0.5, 0.1, 0.1].map(Some));
    }
}
