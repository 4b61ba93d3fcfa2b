//! What a set costs before it runs: time, bytes that preparing writes, bytes that its workloads will write as far as
//! that can be known.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use manometer_measure::event::{Finding, Severity};
use manometer_measure::plan::{Phase, PhaseKind};
use manometer_measure::{ByteSize, Rate};
use manometer_target::engine::Keeps;
use manometer_workload::files;
use manometer_workload::io::IoSettings;
use manometer_workload::kv::{KvPlan, KvSettings};
use manometer_workload::settings::WorkloadSettings;

use super::PlannedRun;
use super::ahead::{Ahead, Preparing};
use super::expand::needed;
use crate::conductor::most_s;
use crate::file::{Experiment, Workload};
use crate::plan::plan;
use crate::prepare::ledger::{Book, LedgerError};

/// Operations on a database that write nothing.
const READING: [&str; 5] = ["read", "multi_read", "scan", "next", "background_scan"];

/// What one run or several cost.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cost {
    /// The time of all phases, in seconds; preparing, and up to one sample interval a phase, aside.
    pub seconds: f64,
    /// How long primaries run until they are settled, at most, in seconds.
    pub settle_s: f64,
    /// Bytes that preparing writes: all steps, and what workers make.
    pub prepared_bytes: u64,
    /// Bytes that workloads write whose rate is bounded, about.
    pub written_bytes: f64,
    /// For how long somebody writes as fast as the device lets him.
    pub unbounded_s: f64,
}

impl Cost {
    fn add(&mut self, other: &Self) {
        self.seconds += other.seconds;
        self.settle_s += other.settle_s;
        self.prepared_bytes = self.prepared_bytes.saturating_add(other.prepared_bytes);
        self.written_bytes += other.written_bytes;
        self.unbounded_s += other.unbounded_s;
    }

    /// What is written whatever the device does.
    fn known_bytes(&self) -> f64 {
        self.prepared_bytes as f64 + self.written_bytes
    }

    /// What workloads write at most where the device writes `speed` bytes a second.
    pub fn written_at_most(&self, speed: f64) -> f64 {
        self.written_bytes + self.unbounded_s * speed
    }
}

/// What is written down of device directories, by directory.
pub type Books = BTreeMap<PathBuf, Book>;

/// Reads the ledgers of the directories of `runs`.
///
/// # Errors
/// One cannot be read, or is damaged.
pub fn books(runs: &[PlannedRun]) -> Result<Books, LedgerError> {
    let mut books = Books::new();
    for directory in runs.iter().map(|run| &run.experiment.directory) {
        if !books.contains_key(directory) {
            books.insert(directory.clone(), Book::read(directory)?);
        }
    }
    Ok(books)
}

/// What a set costs at least and at most: the same unless measuring may stop early.
#[derive(Debug, Clone, PartialEq)]
pub struct Costs {
    /// Every phase as long as it says, every combination as often as it must.
    pub least: Cost,
    /// Every phase as long and every combination as often as they may.
    pub most: Cost,
    /// How every run is prepared, where all run that may.
    pub preparing: Vec<Preparing>,
    /// What every run costs then.
    pub runs: Vec<Cost>,
    /// What every run costs at least; nothing for those that may be left out.
    least_runs: Vec<Option<Cost>>,
}

impl Costs {
    /// What `runs` cost, in this order, where `books` hold what is there before; `reuse` as in
    /// [`Setup`](crate::conductor::Setup).
    pub fn of(runs: &[PlannedRun], books: &Books, reuse: bool) -> Self {
        let planned: Vec<&PlannedRun> = runs.iter().collect();
        let needed = needed(&planned);
        let kept = planned.iter().zip(&needed).filter(|(_, needed)| **needed);
        let kept: Vec<&Experiment> = kept.map(|(run, _)| &run.experiment).collect();
        let all: Vec<&Experiment> = runs.iter().map(|run| &run.experiment).collect();
        let sum = |costs: &[Cost]| {
            let mut sum = Cost::default();
            costs.iter().for_each(|cost| sum.add(cost));
            sum
        };
        let least = each(&kept, &preparing(&kept, books, reuse), |_, phase| phase.duration_s);
        let preparing = preparing(&all, books, reuse);
        let most = each(&all, &preparing, most_of);
        let mut costs = least.iter().peekable();
        let least_runs = needed.iter().map(|needed| costs.next_if(|_| *needed).cloned()).collect();
        Self { least: sum(&least), most: sum(&most), preparing, runs: most, least_runs }
    }

    /// The first run in each directory that is expected to pass its write budget, by what is written at least or, where
    /// the device writes `speed` bytes a second, at most.
    pub fn over_budget(&self, runs: &[PlannedRun], books: &Books, speed: Option<f64>) -> Vec<Finding> {
        let overrun = |(directory, book): (&PathBuf, &Book)| {
            let least = self.least_runs.iter().map(|cost| cost.as_ref().map_or(0.0, Cost::known_bytes));
            let most =
                self.runs.iter().map(|cost| cost.prepared_bytes as f64 + cost.written_at_most(speed.unwrap_or(0.0)));
            let least = first_over(runs, directory, book, least);
            let (will, (index, limit, bytes)) = match least {
                Some(over) => ("passes", over),
                None => ("may pass", first_over(runs, directory, book, most)?),
            };
            let text = format!(
                "The set {will} its write budget of {limit} for {} in run {} of {}: by then {:.1} GiB are written, with \
                 what was written before and all preparing. Raise `device.write_budget`, or have fewer or smaller runs.",
                directory.display(),
                index + 1,
                runs.len(),
                bytes / f64::from(1 << 30),
            );
            Some(Finding { id: "write-budget-too-small".to_owned(), severity: Severity::Warning, phase: None, text })
        };
        books.iter().filter_map(overrun).collect()
    }
}

/// The first of `runs` in `directory` behind which more is written than its budget allows, where each writes `bytes`: its
/// place, the budget, and what is written by then.
fn first_over(
    runs: &[PlannedRun],
    directory: &PathBuf,
    book: &Book,
    bytes: impl Iterator<Item = f64>,
) -> Option<(usize, ByteSize, f64)> {
    let mut total = book.written_bytes() as f64;
    let mut own = runs.iter().zip(bytes).enumerate().filter(|(_, (run, _))| run.experiment.directory == *directory);
    own.find_map(|(index, (run, bytes))| {
        total += bytes;
        let limit = run.experiment.write_budget.filter(|limit| total > limit.0 as f64)?;
        Some((index, limit, total))
    })
}

/// How each of `runs` is prepared.
fn preparing(runs: &[&Experiment], books: &Books, reuse: bool) -> Vec<Preparing> {
    let made = BTreeSet::new();
    let mut directories: BTreeMap<&PathBuf, Ahead<'_>> =
        books.iter().map(|(directory, book)| (directory, Ahead::new(book, reuse, &made))).collect();
    let prepare = |run: &&Experiment| directories.get_mut(&run.directory).map(|ahead| ahead.prepare(run));
    runs.iter().map(prepare).map(Option::unwrap_or_default).collect()
}

/// How long `phase` is measured at most.
fn most_of(run: &Experiment, phase: &Phase) -> f64 {
    match run.times.stop {
        Some(stop) if phase.kind != PhaseKind::Warmup => most_s(stop, phase.duration_s),
        _ => phase.duration_s,
    }
}

fn each(runs: &[&Experiment], preparing: &[Preparing], length_s: impl Fn(&Experiment, &Phase) -> f64) -> Vec<Cost> {
    let of_run = |(run, preparing): (&&Experiment, &Preparing)| {
        let (prepared_bytes, settle_s) = (preparing.bytes(), preparing.settle_s());
        let mut cost = Cost { prepared_bytes, settle_s, ..Cost::default() };
        for phase in plan(run).phases {
            let seconds = phase.settle_s + length_s(run, &phase);
            cost.seconds += seconds;
            let running = run.workloads().filter(|workload| phase.running.contains(&workload.name));
            let writes: Vec<Option<f64>> = running.map(|workload| writes_per_s(workload, &phase)).collect();
            cost.written_bytes += writes.iter().flatten().sum::<f64>() * seconds;
            cost.unbounded_s += if writes.contains(&None) { seconds } else { 0.0 };
        }
        cost
    };
    runs.iter().zip(preparing).map(of_run).collect()
}

/// The bytes a second that `workload` writes in `phase`, about; nothing where only the device bounds it.
fn writes_per_s(workload: &Workload, phase: &Phase) -> Option<f64> {
    let prefix = format!("{}.", workload.name);
    let changed = phase.settings.iter().filter_map(|(key, value)| Some((key.strip_prefix(&prefix)?, value)));
    let changed = changed.into_iter().try_fold(workload.clone(), |workload, (name, value)| workload.with(name, value));
    match &changed.ok()?.settings {
        WorkloadSettings::Io(io) => io_writes_per_s(io),
        WorkloadSettings::Files(files) => files::writes_per_s(files),
        WorkloadSettings::Kv(kv) => reads_only(kv).then_some(0.0),
        settings @ WorkloadSettings::Replay(_) => (!settings.keeps_data()).then_some(0.0),
        WorkloadSettings::Command(_) => None,
    }
}

fn io_writes_per_s(io: &IoSettings) -> Option<f64> {
    if io.recorded.trace.is_some() {
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

/// Whether a key-value workload surely writes nothing to the device: an engine that keeps data on it writes some
/// of it again whenever it merges.
fn reads_only(kv: &KvSettings) -> bool {
    let reads = || WorkloadSettings::Kv(kv.clone()).operations().iter().all(|operation| READING.contains(operation));
    KvPlan::new(kv).is_ok_and(|plan| plan.engine.keeps != Keeps::Disk) || reads()
}
