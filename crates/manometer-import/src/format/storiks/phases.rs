//! Derives phases from the neighbours' reports.

use std::collections::BTreeSet;

use manometer_measure::plan::{Phase, PhaseKind, Settings};
use serde_json::Value;

use crate::ImportedPhase;

/// A change of a neighbour's settings, or whether it is paused.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Change {
    pub t_ns: u64,
    pub settings: Settings,
    pub waits: bool,
}

/// The running neighbours and their settings, from a time on.
#[derive(Debug, Clone, PartialEq)]
struct State {
    begin_ns: u64,
    /// Settings by neighbour; `None` while it is paused.
    running: Vec<Option<Settings>>,
}

/// The phases of a run with these changes of neighbours. An interval without changes is a phase, unless it is too short
/// for a sample; the first `warm_up_ns` do not count.
pub(super) fn phases(
    neighbours: &[(String, Vec<Change>)],
    has_primary: bool,
    warm_up_ns: u64,
    end_ns: u64,
    interval_s: f64,
) -> Vec<ImportedPhase> {
    let shortest_ns = (1.5 * interval_s * 1e9) as u64;
    let states = states(neighbours, end_ns);
    let stretches = states.iter().enumerate().map(|(number, state)| {
        let end_ns = states.get(number + 1).map_or(end_ns, |next| next.begin_ns);
        (state.begin_ns.max(warm_up_ns), end_ns, &state.running)
    });
    let wanted = stretches.filter(|(begin_ns, end_ns, running)| {
        end_ns.saturating_sub(*begin_ns) >= shortest_ns && (has_primary || running.iter().any(Option::is_some))
    });
    let wanted: Vec<_> = wanted.collect();
    let changing = changing(neighbours, wanted.iter().map(|(_, _, running)| *running));
    let mut found: Vec<ImportedPhase> = Vec::new();
    if has_primary && warm_up_ns > 0 {
        let all_wait = vec![None; neighbours.len()];
        let phase = phase("warmup", "warm-up", PhaseKind::Warmup, neighbours, &all_wait, &changing);
        found.push(ImportedPhase { phase, begin_ns: 0, end_ns: warm_up_ns.min(end_ns) });
    }
    let mut before: Option<&Vec<Option<Settings>>> = None;
    let (mut pressures, mut baselines) = (0, 0);
    for (begin_ns, end_ns, running) in wanted {
        let is_alone = running.iter().all(Option::is_none);
        let (id, label, kind) = if is_alone {
            baselines += 1;
            let id = if baselines == 1 { "w0".to_owned() } else { format!("w0-{baselines}") };
            let label = if baselines == 1 { "no neighbour" } else { "no neighbour, again" };
            (id, label.to_owned(), PhaseKind::Baseline)
        } else {
            pressures += 1;
            (format!("w{pressures}"), label(neighbours, before, running), PhaseKind::Pressure)
        };
        let mut phase = phase(&id, &label, kind, neighbours, running, &changing);
        if !has_primary {
            phase.running.retain(|name| name != "primary");
        }
        found.push(ImportedPhase { phase, begin_ns, end_ns });
        before = Some(running);
    }
    for imported in &mut found {
        imported.phase.duration_s = imported.end_ns.saturating_sub(imported.begin_ns) as f64 / 1e9;
    }
    found
}

/// The states in order; consecutive equal ones are merged.
fn states(neighbours: &[(String, Vec<Change>)], end_ns: u64) -> Vec<State> {
    let moments: BTreeSet<u64> = neighbours.iter().flat_map(|(_, changes)| changes).map(|change| change.t_ns).collect();
    let mut states: Vec<State> = Vec::new();
    for begin_ns in std::iter::once(0).chain(moments).filter(|begin_ns| *begin_ns < end_ns) {
        let running = neighbours.iter().map(|(_, changes)| {
            let last = changes.iter().rev().find(|change| change.t_ns <= begin_ns)?;
            (!last.waits).then(|| last.settings.clone())
        });
        let state = State { begin_ns, running: running.collect() };
        if states.last().is_none_or(|last| last.running != state.running) {
            states.push(state);
        }
    }
    states
}

/// The settings that differ between phases in which their neighbour runs, as `name.setting`.
fn changing<'a>(
    neighbours: &[(String, Vec<Change>)],
    phases: impl Iterator<Item = &'a Vec<Option<Settings>>>,
) -> BTreeSet<(usize, String)> {
    let phases: Vec<_> = phases.collect();
    let mut changing = BTreeSet::new();
    for number in 0..neighbours.len() {
        let of_phase: Vec<&Settings> = phases.iter().filter_map(|running| running[number].as_ref()).collect();
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
    neighbours: &[(String, Vec<Change>)],
    running: &[Option<Settings>],
    changing: &BTreeSet<(usize, String)>,
) -> Phase {
    let settings = changing.iter().filter_map(|(number, name)| {
        let value = running[*number].as_ref()?.get(name)?.clone();
        Some((format!("{}.{name}", neighbours[*number].0), value))
    });
    let names =
        neighbours.iter().zip(running).filter(|(_, running)| running.is_some()).map(|((name, _), _)| name.clone());
    Phase {
        id: id.to_owned(),
        label: label.to_owned(),
        kind,
        duration_s: 0.0,
        settle_s: 0.0,
        running: std::iter::once("primary".to_owned()).chain(names).collect(),
        settings: settings.collect(),
    }
}

/// The changes at the start of a phase.
fn label(
    neighbours: &[(String, Vec<Change>)],
    before: Option<&Vec<Option<Settings>>>,
    running: &[Option<Settings>],
) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut changes_text = Vec::new();
    for (number, (name, _)) in neighbours.iter().enumerate() {
        let earlier = before.and_then(|before| before[number].as_ref());
        match (earlier, &running[number]) {
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

    #[test]
    fn staggered_neighbours_make_one_phase_each_time_one_changes() {
        let neighbours = vec![
            ("n1".to_owned(), vec![change(0, 0.0, true), change(10, 0.0, false), change(14, 0.5, false)]),
            ("n2".to_owned(), vec![change(0, 0.0, true), change(12, 0.0, false)]),
        ];
        let found = phases(&neighbours, true, 5 * MINUTE, 20 * MINUTE, 5.0);
        let spans: Vec<_> =
            found.iter().map(|one| (one.phase.id.as_str(), one.begin_ns / MINUTE, one.end_ns / MINUTE)).collect();
        assert_eq!(spans, [("warmup", 0, 5), ("w0", 5, 10), ("w1", 10, 12), ("w2", 12, 14), ("w3", 14, 20)]);
        let labels: Vec<_> = found.iter().map(|one| one.phase.label.as_str()).collect();
        assert_eq!(labels, ["warm-up", "no neighbour", "n1 starts", "n2 starts", "n1.write_ratio = 0.5"]);
        assert_eq!(found[4].phase.running, ["primary", "n1", "n2"]);
        assert_eq!(Value::from(found[4].phase.settings.clone()), json!({ "n1.write_ratio": 0.5 }));
        assert_eq!(found[3].phase.duration_s, 120.0);
    }

    #[test]
    fn a_neighbour_alone_has_phases_without_a_primary() {
        let neighbours = vec![("n1".to_owned(), vec![change(0, 0.0, false), change(4, 1.0, false)])];
        let found = phases(&neighbours, false, 0, 8 * MINUTE, 2.0);
        let spans: Vec<_> = found.iter().map(|one| (one.phase.id.as_str(), one.phase.running.clone())).collect();
        assert_eq!(spans, [("w1", vec!["n1".to_owned()]), ("w2", vec!["n1".to_owned()])]);
    }
}
