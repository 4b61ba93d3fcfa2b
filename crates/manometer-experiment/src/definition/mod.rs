//! An experiment that can run: an experiment file, read, checked and resolved.
//!
//! [`crate::file`] makes it, [`crate::plan`] turns it into the phases of a run. A sweep is resolved into one experiment
//! for each of its runs ([`Experiment::combinations`]).

mod array;
mod combinations;
mod disk_fit;
mod format;
mod phase_states;
mod plan_design;
mod prepare;
mod referenced_files;
mod resolved;
mod sweep;
mod workload;

use std::path::PathBuf;

use manometer_analysis::forecast::PlannedLength;
use manometer_measure::event::Finding;
use manometer_measure::plan::{Criterion, PlanGoal};
use manometer_measure::{ByteSize, Span};
use serde_json::{Map, Value};

pub use array::{ArraySettings, FileSystem};
pub use disk_fit::DiskFit;
pub(crate) use disk_fit::decimal_exponent;
pub use format::{format_settings, format_value};
pub(crate) use phase_states::{PhaseState, invalid_phase, phase_states, workloads_in_phases};
pub(crate) use plan_design::MAX_ROUNDS;
pub use plan_design::{BlockTimes, PlanDesign};
pub use prepare::{Precondition, PrepareSettings};
pub use referenced_files::ReferencedFiles;
pub(crate) use resolved::without_write_budget;
pub use sweep::{PhaseStop, RepeatStop, RunOrder, SweepRules, SweepStop};
pub(crate) use workload::CLIENTS;
pub use workload::ExperimentWorkload;

/// The keys of the device and of the array that a sweep can change.
pub(crate) const DEVICE_SWEEP_KEYS: [&str; 5] =
    ["device.scheduler", "device.name", "device.kernel", ARRANGEMENT_KEY, "array.file_system"];

/// The key of the array's arrangement.
pub(crate) const ARRANGEMENT_KEY: &str = "array.arrangement";

/// An experiment that can run.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// Its name.
    pub name: String,
    /// The seed of all randomness.
    pub seed: u64,
    /// The judged metric of the primary.
    pub criterion: Criterion,
    /// What the result has to meet.
    pub goal: Option<PlanGoal>,
    /// The sample interval.
    pub interval: Span,
    /// How long a worker may send nothing, and the device may leave requests unanswered, before the run fails.
    pub silence: Span,
    /// The device directory: all data are written below it.
    pub directory: PathBuf,
    /// Whether all data may shrink to fit the disk.
    pub fit: bool,
    /// Whether root may write to the directory of another user.
    pub foreign_owner: bool,
    /// The maximum number of bytes that may ever be written to the device from the directory.
    pub write_budget: Option<ByteSize>,
    /// The array that each run builds and mounts at the device directory.
    pub array: Option<ArraySettings>,
    /// How the device and the data are prepared.
    pub prepare: PrepareSettings,
    /// The device's I/O scheduler during the run; unchanged where there is none.
    pub scheduler: Option<String>,
    /// The name of the device among those of a cluster.
    pub device_name: Option<String>,
    /// The beginning of the kernel release that the host must run; any where there is none.
    pub kernel: Option<String>,
    /// The workload whose performance is judged.
    pub primary: Option<ExperimentWorkload>,
    /// The neighbours, every instance on its own.
    pub neighbours: Vec<Neighbour>,
    /// The lengths of the phases.
    pub times: PlanTimes,
    /// The ladder: the product of its keys' values makes the phases.
    pub ladder: Vec<LadderKey>,
    /// The explicit phases, instead of a ladder.
    pub steps: Vec<PlanStep>,
    /// What changes from run to run, by `workload.setting`, with its values.
    pub sweep: Vec<(String, Vec<Value>)>,
    /// The order and the number of the sweep's runs.
    pub sweep_rules: SweepRules,
    /// The settings that the sweep gives this run; empty before [`Experiment::combinations`] and without a sweep.
    pub swept: Map<String, Value>,
    /// Whether this run is the reference of a sweep.
    pub reference: bool,
    /// How far its data were shrunk to fit the disk, where they may shrink.
    pub disk_fit: Option<DiskFit>,
    /// Findings about the run that are known before it starts.
    pub findings: Vec<Finding>,
    /// The whole file, `extends` and `--set` applied.
    pub resolved: Value,
}

/// A neighbour: a workload, and the name of the table that defines it.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbour {
    /// The table's name, which all its instances share.
    pub table: String,
    /// The workload itself.
    pub workload: ExperimentWorkload,
}

/// The lengths of the phases.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlanTimes {
    /// The warm-up: the primary alone, unmeasured.
    pub warmup: Span,
    /// `w0`, the phase without neighbours.
    pub baseline: Span,
    /// Every other phase.
    pub phase: Span,
    /// The settle time before each measured phase.
    pub settle: Span,
    /// The warm-up of each neighbour alone, where neighbours are measured alone first.
    pub solo: Option<Span>,
    /// Whether the primary is measured alone once more at the end.
    pub closing: bool,
    /// The rounds of an interleaved plan; none for a ladder.
    pub blocks: Option<BlockTimes>,
    /// When a phase, or the rounds, that may be prolonged have been measured long enough.
    pub stop: Option<PhaseStop>,
}

impl PlanTimes {
    /// The measured length of the run, which a forecast compares with that of an earlier one.
    pub fn planned_length(&self) -> PlannedLength {
        match self.blocks {
            Some(blocks) => PlannedLength::Rounds { rounds: blocks.rounds as usize, block_s: blocks.measured_s() },
            None => PlannedLength::Phases { phase_s: self.phase.seconds() },
        }
    }
}

/// One key of a ladder and its values.
#[derive(Debug, Clone, PartialEq)]
pub struct LadderKey {
    /// The changed settings, one for each instance: the workload (as in [`SettingChange`]) and the setting.
    pub targets: Vec<(usize, String)>,
    /// The key as written.
    pub key: String,
    /// The values, in order.
    pub values: Vec<Value>,
}

/// A changed setting of one workload.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingChange {
    /// The workload, as an index into [`Experiment::changeable_workloads`].
    pub workload: usize,
    /// The setting.
    pub setting: String,
    /// Its new value.
    pub value: Value,
}

/// One explicit phase.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanStep {
    /// Its label.
    pub label: String,
    /// The settings that change.
    pub changes: Vec<SettingChange>,
    /// The neighbours that start, as indices.
    pub start: Vec<usize>,
    /// The neighbours that pause, as indices.
    pub stop: Vec<usize>,
    /// Its measured length.
    pub phase: Span,
}

impl Experiment {
    /// The workloads whose settings phases may change, in the order of [`SettingChange::workload`]: the neighbours, then
    /// the primary.
    pub fn changeable_workloads(&self) -> impl Iterator<Item = &ExperimentWorkload> {
        self.neighbours.iter().map(|one| &one.workload).chain(self.primary.iter())
    }

    /// All workloads: the primary, then the neighbours.
    pub fn workloads(&self) -> impl Iterator<Item = &ExperimentWorkload> {
        self.primary.iter().chain(self.neighbours.iter().map(|one| &one.workload))
    }

    /// All workloads, each with the name of the table that defines it.
    fn workloads_by_table(&self) -> impl Iterator<Item = (&str, &ExperimentWorkload)> {
        let neighbours = self.neighbours.iter().map(|one| (one.table.as_str(), &one.workload));
        self.primary.iter().map(|primary| (primary.name.as_str(), primary)).chain(neighbours)
    }

    /// The workload called `name`, and its index in [`Experiment::workloads`].
    pub(crate) fn workload(&self, name: &str) -> Option<(usize, &ExperimentWorkload)> {
        self.workloads().enumerate().find(|(_, workload)| workload.name == name)
    }

    /// Whether `workload` is the primary.
    pub(crate) fn is_primary(&self, workload: &ExperimentWorkload) -> bool {
        self.primary.as_ref().is_some_and(|primary| primary.name == workload.name)
    }

    /// The folder of the workload `name` below the device directory.
    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// The bytes that creating all databases and files writes.
    pub fn bytes_to_prepare(&self) -> ByteSize {
        ByteSize(self.workloads().map(|workload| workload.settings.bytes_to_prepare()).sum())
    }

    /// The resolved file as TOML, as `--dry-run` prints it and `experiment.toml` holds it.
    pub fn to_toml(&self) -> String {
        resolved::to_toml(&self.resolved)
    }

    /// The resolved file as TOML without `device.write_budget`: experiments that differ in it are different ones.
    pub(crate) fn identity_toml(&self) -> String {
        resolved::to_toml(&without_write_budget(&self.resolved))
    }
}
