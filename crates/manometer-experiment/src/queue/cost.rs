//! What a set costs before it runs: time, bytes to prepare, bytes that its workloads will write as far as that can be
//! known.

use manometer_measure::Rate;
use manometer_measure::plan::{Phase, PhaseKind};
use manometer_target::engine::Keeps;
use manometer_workload::io::IoSettings;
use manometer_workload::kv::{KvPlan, KvSettings};
use manometer_workload::settings::WorkloadSettings;

use super::PlannedRun;
use crate::conductor::most_s;
use crate::file::{Experiment, Workload};
use crate::plan::plan;

/// Operations on a database that write nothing.
const READING: [&str; 5] = ["read", "multi_read", "scan", "next", "background_scan"];

/// What a set costs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cost {
    /// The time of all phases, in seconds; preparing, and up to one sample interval a phase, aside.
    pub seconds: f64,
    /// Bytes that preparing writes.
    pub prepared_bytes: u64,
    /// Bytes that workloads write whose rate is bounded, about.
    pub written_bytes: f64,
    /// For how long somebody writes as fast as the device lets him.
    pub unbounded_s: f64,
}

/// What a set costs at least and at most: the same unless measuring may stop early.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Costs {
    /// Every phase as long as it says, every combination as often as it must.
    pub least: Cost,
    /// Every phase as long and every combination as often as they may.
    pub most: Cost,
}

impl Costs {
    /// What `runs` cost, in this order.
    pub fn of(runs: &[PlannedRun]) -> Self {
        let needed = |run: &&PlannedRun| run.combination.is_none() || run.repeat <= run.experiment.rules.repeats;
        let least: Vec<&Experiment> = runs.iter().filter(needed).map(|run| &run.experiment).collect();
        let most: Vec<&Experiment> = runs.iter().map(|run| &run.experiment).collect();
        Self { least: cost(&least, |_, phase| phase.duration_s), most: cost(&most, most_of) }
    }
}

/// How long `phase` is measured at most.
fn most_of(run: &Experiment, phase: &Phase) -> f64 {
    match run.times.stop {
        Some(stop) if phase.kind != PhaseKind::Warmup => most_s(stop, phase.duration_s),
        _ => phase.duration_s,
    }
}

fn cost(runs: &[&Experiment], length_s: impl Fn(&Experiment, &Phase) -> f64) -> Cost {
    let mut cost = Cost::default();
    for (index, run) in runs.iter().enumerate() {
        cost.prepared_bytes += bytes_to_prepare(index.checked_sub(1).map(|before| runs[before]), run);
        for phase in plan(run).phases {
            let seconds = phase.settle_s + length_s(run, &phase);
            cost.seconds += seconds;
            let running = run.workloads().filter(|workload| phase.running.contains(&workload.name));
            let writes: Vec<Option<f64>> = running.map(|workload| writes_per_s(workload, &phase)).collect();
            cost.written_bytes += writes.iter().flatten().sum::<f64>() * seconds;
            cost.unbounded_s += if writes.contains(&None) { seconds } else { 0.0 };
        }
    }
    cost
}

/// The bytes that preparing `run` writes: what the run before it made, it need not.
pub fn bytes_to_prepare(before: Option<&Experiment>, run: &Experiment) -> u64 {
    let there = |workload: &&Workload| {
        before.is_some_and(|before| {
            let same = |other: &Workload| other.name == workload.name && other.settings.same_data(&workload.settings);
            before.directory == run.directory && before.workloads().any(same)
        })
    };
    run.workloads().filter(|workload| !there(workload)).map(|workload| workload.settings.bytes_to_prepare()).sum()
}

/// The bytes a second that `workload` writes in `phase`, about; nothing where only the device bounds it.
fn writes_per_s(workload: &Workload, phase: &Phase) -> Option<f64> {
    let prefix = format!("{}.", workload.name);
    let changed = phase.settings.iter().filter_map(|(key, value)| Some((key.strip_prefix(&prefix)?, value)));
    let settings = changed
        .into_iter()
        .try_fold(workload.settings.clone(), |settings, (name, value)| settings.with(name, value))
        .ok()?;
    match settings {
        WorkloadSettings::Io(io) => io_writes_per_s(&io),
        WorkloadSettings::Kv(kv) => reads_only(&kv).then_some(0.0),
        WorkloadSettings::Command(_) => None,
    }
}

fn io_writes_per_s(io: &IoSettings) -> Option<f64> {
    if io.write_ratio == 0.0 {
        return Some(0.0);
    }
    match io.rate? {
        Rate::Requests(requests) => Some(requests * io.block_size.0 as f64 * io.write_ratio),
        Rate::Bytes(bytes) => Some(bytes as f64 * io.write_ratio),
    }
}

/// Whether a key-value workload surely writes nothing to the device: an engine that keeps data on it writes some
/// of it again whenever it merges.
fn reads_only(kv: &KvSettings) -> bool {
    let reads = || WorkloadSettings::Kv(kv.clone()).operations().iter().all(|operation| READING.contains(operation));
    KvPlan::new(kv).is_ok_and(|plan| plan.engine.keeps != Keeps::Disk) || reads()
}
