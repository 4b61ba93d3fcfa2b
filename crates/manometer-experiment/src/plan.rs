//! From an experiment to its phases.

use crate::file::{Change, Experiment, Step, text};
use manometer_measure::plan::{Phase, PhaseKind, Plan, Role, Settings, Workload as Part};

/// The phases of one run of `experiment`.
pub fn plan(experiment: &Experiment) -> Plan {
    let states = states(experiment);
    let mut phases = solo_phases(experiment, &states);
    let alone = |id: &str, label: &str, kind, duration_s, settle_s| {
        let primary = experiment.primary.as_ref()?;
        let (id, label, running) = (id.to_owned(), label.to_owned(), vec![primary.name.clone()]);
        Some(Phase { id, label, kind, duration_s, settle_s, running, settings: initial_settings(experiment, &states) })
    };
    let times = &experiment.times;
    if !times.warmup.0.is_zero() {
        phases.extend(alone("warmup", "warm-up", PhaseKind::Warmup, times.warmup.seconds(), 0.0));
    }
    phases.extend(alone("w0", "no neighbour", PhaseKind::Baseline, times.baseline.seconds(), 0.0));
    let numbered = states.iter().enumerate();
    phases.extend(numbered.map(|(index, state)| pressure_phase(experiment, &states, index + 1, state)));
    if times.closing {
        let (baseline_s, settle_s) = (times.baseline.seconds(), times.settle.seconds());
        phases.extend(alone("closing", "no neighbour, again", PhaseKind::Baseline, baseline_s, settle_s));
    }
    let part = |role, workload: &crate::file::Workload| Part {
        name: workload.name.clone(),
        role,
        kind: workload.settings.kind().to_owned(),
        unit: workload.settings.unit().to_owned(),
    };
    let primary = experiment.primary.iter().map(|primary| part(Role::Primary, primary));
    let neighbours = experiment.neighbours.iter().map(|one| part(Role::Neighbour, &one.workload));
    Plan {
        experiment: experiment.name.clone(),
        criterion: experiment.criterion.clone(),
        interval_s: experiment.interval.seconds(),
        seed: experiment.seed,
        sweep: experiment.swept.clone(),
        reference: experiment.reference,
        workloads: primary.chain(neighbours).collect(),
        phases,
    }
}

/// The first phase whose settings, valid one by one, cannot be together: its label, and why.
pub(crate) fn impossible_phase(experiment: &Experiment, block_size_bytes: u64) -> Option<(String, String)> {
    states(experiment).into_iter().find_map(|state| {
        experiment.changing().zip(&state.changed).find_map(|(workload, changed)| {
            let changed =
                changed.iter().try_fold(workload.clone(), |workload, (name, value)| workload.with(name, value));
            let checked = changed.and_then(|workload| workload.validate(block_size_bytes).map_err(|(_, text)| text));
            checked.err().map(|reason| (state.label.clone(), reason))
        })
    })
}

/// Every workload of `experiment` as it begins, and as each phase changes it.
pub(crate) fn workloads_in_phases(experiment: &Experiment) -> Vec<crate::file::Workload> {
    let mut all: Vec<_> = experiment.workloads().cloned().collect();
    for state in states(experiment) {
        for (workload, changed) in experiment.changing().zip(&state.changed).filter(|(_, changed)| !changed.is_empty())
        {
            // What cannot be together is refused with the file.
            all.extend(changed.iter().try_fold(workload.clone(), |workload, (name, value)| workload.with(name, value)));
        }
    }
    all
}

/// Who runs with which changed settings in one phase beside the primary.
#[derive(Debug, Clone)]
struct State {
    label: String,
    /// By workload, as [`Experiment::changing`] counts them: its changed settings so far.
    changed: Vec<Settings>,
    /// By neighbour: whether it sends requests.
    running: Vec<bool>,
    duration_s: f64,
}

fn states(experiment: &Experiment) -> Vec<State> {
    if experiment.neighbours.is_empty() && experiment.vary.is_empty() && experiment.steps.is_empty() {
        return Vec::new();
    }
    if experiment.steps.is_empty() { ladder(experiment) } else { explicit(experiment) }
}

/// The product of the ladder's keys, the last one changing fastest; every neighbour runs in every phase.
fn ladder(experiment: &Experiment) -> Vec<State> {
    let all = State {
        label: String::new(),
        changed: unchanged(experiment),
        running: vec![true; experiment.neighbours.len()],
        duration_s: experiment.times.phase.seconds(),
    };
    let mut states = vec![all];
    for rung in &experiment.vary {
        states = states
            .iter()
            .flat_map(|state| {
                rung.values.iter().map(|value| {
                    let mut state = state.clone();
                    for (workload, setting) in &rung.targets {
                        state.changed[*workload].insert(setting.clone(), value.clone());
                    }
                    let label = format!("{} = {}", rung.key, text(value));
                    state.label = if state.label.is_empty() { label } else { format!("{}, {label}", state.label) };
                    state
                })
            })
            .collect();
    }
    for state in states.iter_mut().filter(|state| state.label.is_empty()) {
        let names: Vec<&str> = experiment.neighbours.iter().map(|one| one.workload.name.as_str()).collect();
        state.label = names.join(", ");
    }
    states
}

/// One state per explicit step, each keeping what the steps before it set.
fn explicit(experiment: &Experiment) -> Vec<State> {
    let mut changed = unchanged(experiment);
    let mut running = vec![false; experiment.neighbours.len()];
    let mut states = Vec::new();
    for Step { label, changes, start, stop, phase } in &experiment.steps {
        for Change { workload, setting, value } in changes {
            changed[*workload].insert(setting.clone(), value.clone());
        }
        start.iter().for_each(|neighbour| running[*neighbour] = true);
        stop.iter().for_each(|neighbour| running[*neighbour] = false);
        states.push(State {
            label: label.clone(),
            changed: changed.clone(),
            running: running.clone(),
            duration_s: phase.seconds(),
        });
    }
    states
}

/// Each neighbour alone, once with each of the settings that it runs with beside the primary.
fn solo_phases(experiment: &Experiment, states: &[State]) -> Vec<Phase> {
    let Some(warmup) = experiment.times.solo else { return Vec::new() };
    let mut phases: Vec<Phase> = Vec::new();
    for (index, neighbour) in experiment.neighbours.iter().enumerate() {
        let name = &neighbour.workload.name;
        let mut seen: Vec<Settings> = Vec::new();
        for state in states.iter().filter(|state| state.running[index]) {
            let settings = settings_of(experiment, states, state, |other| other == index);
            if seen.contains(&settings) {
                continue;
            }
            let first = seen.is_empty();
            let said: Vec<String> = settings.iter().map(|(key, value)| format!("{key} = {}", text(value))).collect();
            phases.push(Phase {
                id: format!("s{}", phases.len() + 1),
                label: format!("{name} alone{}{}", if said.is_empty() { "" } else { ": " }, said.join(", ")),
                kind: PhaseKind::Solo,
                duration_s: state.duration_s,
                settle_s: if first { warmup } else { experiment.times.settle }.seconds(),
                running: vec![name.clone()],
                settings: settings.clone(),
            });
            seen.push(settings);
        }
    }
    phases
}

fn pressure_phase(experiment: &Experiment, states: &[State], number: usize, state: &State) -> Phase {
    let neighbours = experiment.neighbours.iter().zip(&state.running);
    let running = neighbours.filter(|(_, running)| **running).map(|(one, _)| one.workload.name.clone());
    let primary = experiment.primary.iter().map(|primary| primary.name.clone());
    Phase {
        id: format!("w{number}"),
        label: state.label.clone(),
        kind: PhaseKind::Pressure,
        duration_s: state.duration_s,
        settle_s: experiment.times.settle.seconds(),
        running: primary.chain(running).collect(),
        settings: settings_of(experiment, states, state, |_| true),
    }
}

/// No changes of any workload.
fn unchanged(experiment: &Experiment) -> Vec<Settings> {
    vec![Settings::new(); experiment.changing().count()]
}

/// Every setting that some phase changes, with the value it has in `state`, for the workloads wanted.
fn settings_of(experiment: &Experiment, states: &[State], state: &State, wanted: impl Fn(usize) -> bool) -> Settings {
    let mut settings = Settings::new();
    for (index, workload) in experiment.changing().enumerate().filter(|(index, _)| wanted(*index)) {
        let mut names: Vec<&String> = states.iter().flat_map(|state| state.changed[index].keys()).collect();
        names.sort();
        names.dedup();
        for name in names {
            let value = state.changed[index].get(name).cloned();
            let value = value.unwrap_or_else(|| workload.get(name));
            settings.insert(format!("{}.{name}", workload.name), value);
        }
    }
    settings
}

/// The settings before any phase changed one.
fn initial_settings(experiment: &Experiment, states: &[State]) -> Settings {
    let untouched = State {
        label: String::new(),
        changed: unchanged(experiment),
        running: vec![false; experiment.neighbours.len()],
        duration_s: 0.0,
    };
    settings_of(experiment, states, &untouched, |_| true)
}
