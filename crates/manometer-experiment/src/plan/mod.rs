//! The phases of a run, from an experiment.

mod block_orders;

use manometer_measure::plan::{InterleavedRounds, Phase, PhaseKind, Plan, PlannedWorkload, Role, Settings};

use self::block_orders::block_orders;
use crate::definition::{BlockTimes, Experiment, ExperimentWorkload, PhaseState, format_settings, phase_states};

/// The plan of one run of `experiment`.
pub fn plan(experiment: &Experiment) -> Plan {
    let states = phase_states(experiment);
    let mut phases = solo_phases(experiment, &states);
    let mut interleaved = None;
    let times = &experiment.times;
    let warmup_s = Some(times.warmup.seconds()).filter(|seconds| *seconds > 0.0);
    phases.extend(warmup_s.and_then(|warmup_s| {
        primary_alone(experiment, &states, ("warmup", "warm-up"), PhaseKind::Warmup, (0.0, warmup_s))
    }));
    let measured = measured_phases(experiment, &states);
    match times.blocks {
        Some(blocks) => {
            interleaved = Some(interleaved_rounds(experiment, blocks, &measured));
            phases.extend(measured.into_iter().map(|phase| in_blocks(phase, blocks)));
        }
        None => phases.extend(measured),
    }
    let primary = experiment.primary.iter().map(|primary| planned_workload(Role::Primary, primary));
    let neighbours = experiment.neighbours.iter().map(|one| planned_workload(Role::Neighbour, &one.workload));
    Plan {
        experiment: experiment.name.clone(),
        criterion: experiment.criterion.clone(),
        interval_s: experiment.interval.seconds(),
        seed: experiment.seed,
        sweep: experiment.swept.clone(),
        reference: experiment.reference,
        goal: experiment.goal,
        interleaved,
        workloads: primary.chain(neighbours).collect(),
        phases,
    }
}

/// `w0`, the ladder or the steps, and the closing phase.
fn measured_phases(experiment: &Experiment, states: &[PhaseState]) -> Vec<Phase> {
    let times = &experiment.times;
    let (baseline_s, settle_s) = (times.baseline.seconds(), times.settle.seconds());
    let baseline = |id_and_label, settle_s| {
        primary_alone(experiment, states, id_and_label, PhaseKind::Baseline, (settle_s, baseline_s))
    };
    let mut phases: Vec<Phase> = baseline(("w0", "no neighbour"), 0.0).into_iter().collect();
    let numbered = states.iter().enumerate();
    phases.extend(numbered.map(|(index, state)| pressure_phase(experiment, states, index + 1, state)));
    if times.closing {
        phases.extend(baseline(("closing", "no neighbour, again"), settle_s));
    }
    phases
}

/// The rounds of `phases`, with those that may follow.
fn interleaved_rounds(experiment: &Experiment, blocks: BlockTimes, phases: &[Phase]) -> InterleavedRounds {
    let BlockTimes { rounds, block, washout } = blocks;
    let longest_s = experiment.times.stop.map(|stop| stop.max_length_s(blocks.length_s(phases.len())));
    let max_rounds = longest_s.map_or(rounds, |longest_s| blocks.max_rounds(phases.len(), longest_s));
    let further = (max_rounds - rounds) as usize;
    let orders = block_orders(phases.len(), rounds as usize, further, experiment.seed).into_iter();
    let ids = |order: Vec<usize>| order.into_iter().map(|phase| phases[phase].id.clone()).collect();
    InterleavedRounds {
        rounds,
        block_s: block.seconds(),
        washout_s: washout.seconds(),
        orders: orders.map(ids).collect(),
    }
}

/// `phase` as the blocks of it in all planned rounds.
fn in_blocks(phase: Phase, blocks: BlockTimes) -> Phase {
    let rounds = f64::from(blocks.rounds);
    Phase { duration_s: rounds * blocks.measured_s(), settle_s: rounds * blocks.washout.seconds(), ..phase }
}

fn planned_workload(role: Role, workload: &ExperimentWorkload) -> PlannedWorkload {
    PlannedWorkload {
        name: workload.name.clone(),
        role,
        kind: workload.settings.kind().to_owned(),
        unit: workload.settings.unit().to_owned(),
    }
}

/// A phase of the primary alone, with its settings before any change; nothing without a primary.
fn primary_alone(
    experiment: &Experiment,
    states: &[PhaseState],
    (id, label): (&str, &str),
    kind: PhaseKind,
    (settle_s, duration_s): (f64, f64),
) -> Option<Phase> {
    Some(Phase {
        id: id.to_owned(),
        label: label.to_owned(),
        kind,
        duration_s,
        settle_s,
        running: vec![experiment.primary.as_ref()?.name.clone()],
        settings: settings_in(experiment, states, &PhaseState::initial(experiment, false), |_| true),
    })
}

/// Each neighbour alone, once with each of the settings that it has as a neighbour.
fn solo_phases(experiment: &Experiment, states: &[PhaseState]) -> Vec<Phase> {
    let Some(warmup) = experiment.times.solo else { return Vec::new() };
    let mut phases: Vec<Phase> = Vec::new();
    for (index, neighbour) in experiment.neighbours.iter().enumerate() {
        let name = &neighbour.workload.name;
        let mut seen: Vec<Settings> = Vec::new();
        for state in states.iter().filter(|state| state.running[index]) {
            let settings = settings_in(experiment, states, state, |other| other == index);
            if seen.contains(&settings) {
                continue;
            }
            let first = seen.is_empty();
            phases.push(Phase {
                id: format!("s{}", phases.len() + 1),
                label: format!(
                    "{name} alone{}{}",
                    if settings.is_empty() { "" } else { ": " },
                    format_settings(&settings)
                ),
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

fn pressure_phase(experiment: &Experiment, states: &[PhaseState], number: usize, state: &PhaseState) -> Phase {
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
        settings: settings_in(experiment, states, state, |_| true),
    }
}

/// The values in `state` of all settings that any phase changes, of the workloads that `includes` selects.
fn settings_in(
    experiment: &Experiment,
    states: &[PhaseState],
    state: &PhaseState,
    includes: impl Fn(usize) -> bool,
) -> Settings {
    let mut settings = Settings::new();
    for (index, workload) in experiment.changeable_workloads().enumerate().filter(|(index, _)| includes(*index)) {
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
