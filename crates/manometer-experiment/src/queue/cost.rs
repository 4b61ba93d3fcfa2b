//! Estimates the cost of a set before it runs: its time, and the bytes that preparing and its workloads write.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use manometer_measure::event::{Finding, Severity};
use manometer_measure::plan::{Phase, PhaseKind, Plan};
use manometer_measure::{ByteSize, Rate};
use manometer_target::engine::StorageKind;
use manometer_workload::files;
use manometer_workload::io::IoSettings;
use manometer_workload::kv::{KvPlan, KvSettings};
use manometer_workload::settings::WorkloadSettings;

use super::forecast::{PreparationForecast, RunPreparation};
use super::runs::{PlannedRun, needed_runs};
use crate::definition::{Experiment, ExperimentWorkload};
use crate::plan::plan;
use crate::prepare::ledger::{LedgerEntries, LedgerError};

/// Operations of a database that write nothing.
const READ_OPERATIONS: [&str; 5] = ["read", "multi_read", "scan", "next", "background_scan"];

/// The cost of one run or of several.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunCost {
    /// The time of all phases in seconds, without preparing and without up to one sample interval per phase.
    pub seconds: f64,
    /// The maximum time until primaries have settled, in seconds.
    pub settle_s: f64,
    /// The bytes that preparing writes: all steps, and the data that workers create.
    pub prepared_bytes: u64,
    /// The approximate bytes written by workloads with a rate limit.
    pub written_bytes: f64,
    /// The time during which a workload without a rate limit writes, in seconds.
    pub unbounded_s: f64,
}

impl RunCost {
    fn add(&mut self, other: &Self) {
        self.seconds += other.seconds;
        self.settle_s += other.settle_s;
        self.prepared_bytes = self.prepared_bytes.saturating_add(other.prepared_bytes);
        self.written_bytes += other.written_bytes;
        self.unbounded_s += other.unbounded_s;
    }

    /// The bytes that are written on any device.
    fn known_bytes(&self) -> f64 {
        self.prepared_bytes as f64 + self.written_bytes
    }

    /// The maximum number of bytes that workloads write on a device that writes `bytes_per_s`.
    pub fn max_written_bytes(&self, bytes_per_s: f64) -> f64 {
        self.written_bytes + self.unbounded_s * bytes_per_s
    }
}

/// The ledgers of device directories, by directory.
pub type Ledgers = BTreeMap<PathBuf, LedgerEntries>;

/// Reads the ledgers of the directories of `runs`.
///
/// # Errors
/// One cannot be read, or is damaged.
pub fn read_ledgers(runs: &[PlannedRun]) -> Result<Ledgers, LedgerError> {
    let mut ledgers = Ledgers::new();
    for directory in runs.iter().map(|run| &run.experiment.directory) {
        if !ledgers.contains_key(directory) {
            ledgers.insert(directory.clone(), LedgerEntries::read(directory)?);
        }
    }
    Ok(ledgers)
}

/// The minimum and the maximum cost of a set. They differ where phases may be prolonged or combinations be repeated.
#[derive(Debug, Clone, PartialEq)]
pub struct SetCost {
    /// The minimum: phases without prolongation, and only the runs that are certainly needed.
    pub min: RunCost,
    /// The maximum: phases of maximum length, and all runs.
    pub max: RunCost,
    /// The preparation of each run, where all run.
    pub preparations: Vec<RunPreparation>,
    /// The maximum cost of each run.
    pub runs: Vec<RunCost>,
    /// The minimum cost of each run; nothing for those that may not be needed.
    min_runs: Vec<Option<RunCost>>,
}

impl SetCost {
    /// The cost of `runs` in this order, in directories with `ledgers`; `reuse` as in
    /// [`RunSetup`](crate::setup::RunSetup).
    pub fn estimate(runs: &[PlannedRun], ledgers: &Ledgers, reuse: bool) -> Self {
        let planned: Vec<&PlannedRun> = runs.iter().collect();
        let needed = needed_runs(&planned);
        let certain = planned.iter().zip(&needed).filter(|(_, needed)| **needed);
        let certain: Vec<&Experiment> = certain.map(|(run, _)| &run.experiment).collect();
        let all: Vec<&Experiment> = runs.iter().map(|run| &run.experiment).collect();
        let sum = |costs: &[RunCost]| {
            let mut sum = RunCost::default();
            costs.iter().for_each(|cost| sum.add(cost));
            sum
        };
        let min = run_costs(&certain, &forecast_all(&certain, ledgers, reuse), |_, _, phase| phase.duration_s);
        let preparations = forecast_all(&all, ledgers, reuse);
        let max = run_costs(&all, &preparations, max_length_s);
        let mut costs = min.iter().peekable();
        let min_runs = needed.iter().map(|needed| costs.next_if(|_| *needed).cloned()).collect();
        Self { min: sum(&min), max: sum(&max), preparations, runs: max, min_runs }
    }

    /// The first run in each directory that exceeds its write budget: certainly, or, on a device that writes
    /// `bytes_per_s`, possibly.
    pub fn over_budget(&self, runs: &[PlannedRun], ledgers: &Ledgers, bytes_per_s: Option<f64>) -> Vec<Finding> {
        let overrun = |(directory, entries): (&PathBuf, &LedgerEntries)| {
            let min = self.min_runs.iter().map(|cost| cost.as_ref().map_or(0.0, RunCost::known_bytes));
            let max_bytes =
                |cost: &RunCost| cost.prepared_bytes as f64 + cost.max_written_bytes(bytes_per_s.unwrap_or(0.0));
            let max = self.runs.iter().map(max_bytes);
            let (verb, (index, limit, bytes)) = match first_over(runs, directory, entries, min) {
                Some(over) => ("exceeds", over),
                None => ("may exceed", first_over(runs, directory, entries, max)?),
            };
            let text = format!(
                "The set {verb} its write budget of {limit} for {} in run {} of {}: {:.1} GiB are written by then, \
                 including earlier writes and all preparing. Raise `device.write_budget`, or reduce the runs.",
                directory.display(),
                index + 1,
                runs.len(),
                bytes / f64::from(1 << 30),
            );
            Some(Finding::new("write-budget-too-small", Severity::Warning, text))
        };
        ledgers.iter().filter_map(overrun).collect()
    }
}

/// The first of `runs` in `directory` after which its budget is exceeded, where each writes `bytes`: its index, the budget,
/// and the bytes written by then.
fn first_over(
    runs: &[PlannedRun],
    directory: &PathBuf,
    entries: &LedgerEntries,
    bytes: impl Iterator<Item = f64>,
) -> Option<(usize, ByteSize, f64)> {
    let mut total = entries.written_bytes() as f64;
    let mut own = runs.iter().zip(bytes).enumerate().filter(|(_, (run, _))| run.experiment.directory == *directory);
    own.find_map(|(index, (run, bytes))| {
        total += bytes;
        let limit = run.experiment.write_budget.filter(|limit| total > limit.0 as f64)?;
        Some((index, limit, total))
    })
}

/// The preparation of each of `runs`.
fn forecast_all(runs: &[&Experiment], ledgers: &Ledgers, reuse: bool) -> Vec<RunPreparation> {
    let created = BTreeSet::new();
    let forecast = |entries| PreparationForecast::new(entries, reuse, &created);
    let mut directories: BTreeMap<&PathBuf, PreparationForecast<'_>> =
        ledgers.iter().map(|(directory, entries)| (directory, forecast(entries))).collect();
    let preparation = |run: &&Experiment| directories.get_mut(&run.directory).map(|forecast| forecast.next_run(run));
    runs.iter().map(preparation).map(Option::unwrap_or_default).collect()
}

/// The maximum time of `phase` in `plan`, without its settle time.
fn max_length_s(run: &Experiment, plan: &Plan, phase: &Phase) -> f64 {
    let is_in_blocks = !matches!(phase.kind, PhaseKind::Warmup | PhaseKind::Solo);
    match (run.times.stop, plan.interleaved.as_ref().filter(|_| is_in_blocks)) {
        (Some(_), Some(rounds)) => {
            let further = rounds.orders.len() as f64 - f64::from(rounds.rounds);
            phase.duration_s + further * rounds.block_s
        }
        (Some(stop), None) if phase.kind != PhaseKind::Warmup => stop.max_length_s(phase.duration_s),
        _ => phase.duration_s,
    }
}

fn run_costs(
    runs: &[&Experiment],
    preparations: &[RunPreparation],
    length_s: impl Fn(&Experiment, &Plan, &Phase) -> f64,
) -> Vec<RunCost> {
    let of_run = |(run, preparation): (&&Experiment, &RunPreparation)| {
        let (prepared_bytes, settle_s) = (preparation.bytes(), preparation.settle_s());
        let mut cost = RunCost { prepared_bytes, settle_s, ..RunCost::default() };
        let plan = plan(run);
        for phase in &plan.phases {
            let seconds = phase.settle_s + length_s(run, &plan, phase);
            cost.seconds += seconds;
            let running = run.workloads().filter(|workload| phase.running.contains(&workload.name));
            let writes: Vec<Option<f64>> = running.map(|workload| written_per_s(workload, phase)).collect();
            cost.written_bytes += writes.iter().flatten().sum::<f64>() * seconds;
            cost.unbounded_s += if writes.contains(&None) { seconds } else { 0.0 };
        }
        cost
    };
    runs.iter().zip(preparations).map(of_run).collect()
}

/// The approximate bytes that `workload` writes per second in `phase`; nothing where only the device limits it.
fn written_per_s(workload: &ExperimentWorkload, phase: &Phase) -> Option<f64> {
    match &workload.in_phase(phase).ok()?.settings {
        WorkloadSettings::Io(io) => io_written_per_s(io),
        WorkloadSettings::Files(files) => files::writes_per_s(files),
        // It only reads; a file system may note the times of access.
        WorkloadSettings::Paths(_) => Some(0.0),
        WorkloadSettings::Kv(kv) => reads_only(kv).then_some(0.0),
        settings @ WorkloadSettings::Replay(_) => (!settings.keeps_data()).then_some(0.0),
        WorkloadSettings::Command(_) => None,
    }
}

fn io_written_per_s(io: &IoSettings) -> Option<f64> {
    if io.replay.trace.is_some() {
        return io.writes().is_ok_and(|writes| !writes).then_some(0.0);
    }
    if io.write_ratio == 0.0 {
        return Some(0.0);
    }
    match io.rate? {
        Rate::Requests(requests) => Some(requests * io.block_size.0 as f64 * io.write_ratio),
        Rate::Bytes(bytes) => Some(bytes as f64 * io.write_ratio),
    }
}

/// Whether a key-value workload certainly writes nothing to the device. An engine with data on disk also writes when it
/// compacts.
fn reads_only(kv: &KvSettings) -> bool {
    let reads =
        || WorkloadSettings::Kv(kv.clone()).operations().iter().all(|operation| READ_OPERATIONS.contains(operation));
    KvPlan::new(kv).is_ok_and(|plan| plan.engine.storage != StorageKind::Disk) || reads()
}
