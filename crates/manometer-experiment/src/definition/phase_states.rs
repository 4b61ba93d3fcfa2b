//! The ladder or the explicit steps of an experiment, expanded: which neighbours run in each phase, with which settings.

use manometer_measure::plan::Settings;

use super::{Experiment, ExperimentWorkload, PlanStep, SettingChange, format_value};

/// The neighbours in one phase, and the settings that have changed by then.
#[derive(Debug, Clone)]
pub(crate) struct PhaseState {
    /// The phase's label.
    pub label: String,
    /// The settings changed so far, by workload as in [`Experiment::changeable_workloads`].
    pub changed: Vec<Settings>,
    /// Whether each neighbour sends requests.
    pub running: Vec<bool>,
    /// The measured length of the phase.
    pub duration_s: f64,
}

impl PhaseState {
    /// Before any change, with every neighbour running or paused.
    pub(crate) fn initial(experiment: &Experiment, running: bool) -> Self {
        Self {
            label: String::new(),
            changed: vec![Settings::new(); experiment.changeable_workloads().count()],
            running: vec![running; experiment.neighbours.len()],
            duration_s: experiment.times.phase.seconds(),
        }
    }
}

/// The phases that the ladder or the steps of `experiment` make, in order.
pub(crate) fn phase_states(experiment: &Experiment) -> Vec<PhaseState> {
    if experiment.neighbours.is_empty() && experiment.ladder.is_empty() && experiment.steps.is_empty() {
        return Vec::new();
    }
    if experiment.steps.is_empty() { ladder_states(experiment) } else { step_states(experiment) }
}

/// The product of the ladder's keys, the last one changing fastest. Every neighbour runs in every phase.
fn ladder_states(experiment: &Experiment) -> Vec<PhaseState> {
    let mut states = vec![PhaseState::initial(experiment, true)];
    for ladder_key in &experiment.ladder {
        states = states
            .iter()
            .flat_map(|state| {
                ladder_key.values.iter().map(|value| {
                    let mut state = state.clone();
                    for (workload, setting) in &ladder_key.targets {
                        state.changed[*workload].insert(setting.clone(), value.clone());
                    }
                    let label = format!("{} = {}", ladder_key.key, format_value(value));
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

/// One state for each explicit step. A step keeps what those before it set.
fn step_states(experiment: &Experiment) -> Vec<PhaseState> {
    let mut state = PhaseState::initial(experiment, false);
    let mut states = Vec::new();
    for PlanStep { label, changes, start, stop, phase } in &experiment.steps {
        for SettingChange { workload, setting, value } in changes {
            state.changed[*workload].insert(setting.clone(), value.clone());
        }
        start.iter().for_each(|neighbour| state.running[*neighbour] = true);
        stop.iter().for_each(|neighbour| state.running[*neighbour] = false);
        states.push(PhaseState { label: label.clone(), duration_s: phase.seconds(), ..state.clone() });
    }
    states
}

/// The first phase whose settings are valid one by one and not together: its label, and why.
pub(crate) fn invalid_phase(experiment: &Experiment, block_size_bytes: u64) -> Option<(String, String)> {
    phase_states(experiment).into_iter().find_map(|state| {
        experiment.changeable_workloads().zip(&state.changed).find_map(|(workload, changed)| {
            let changed = workload.with_all(changed);
            let checked = changed.and_then(|workload| workload.validate(block_size_bytes).map_err(|(_, text)| text));
            checked.err().map(|reason| (state.label.clone(), reason))
        })
    })
}

/// Every workload of `experiment`, as it starts and as each phase changes it.
pub(crate) fn workloads_in_phases(experiment: &Experiment) -> Vec<ExperimentWorkload> {
    let mut all: Vec<_> = experiment.workloads().cloned().collect();
    for state in phase_states(experiment) {
        let workloads = experiment.changeable_workloads().zip(&state.changed);
        // Settings that are not valid together were refused with the file.
        all.extend(
            workloads
                .filter(|(_, changed)| !changed.is_empty())
                .filter_map(|(one, changed)| one.with_all(changed).ok()),
        );
    }
    all
}
