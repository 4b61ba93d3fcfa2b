//! The tables of an experiment file, as a person writes them. From these the JSON Schema is made.

use std::path::PathBuf;

use manometer_measure::{ByteSize, Span};
use manometer_workload::command::CommandSettings;
use manometer_workload::files::FilesSettings;
use manometer_workload::io::IoSettings;
use manometer_workload::kv::KvSettings;
use manometer_workload::replay::ReplaySettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::prepare::PrepareTable;
use super::sweep::{PhaseStop, SweepTable};
use crate::isolate::{Isolation, Limits};

/// An experiment: what a primary loses under its neighbours on one device.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ExperimentTable {
    /// What it shows, for people.
    pub name: String,
    /// Another experiment file, relative to this one; what is set here wins.
    pub extends: Option<PathBuf>,
    /// Where all randomness comes from: the same seed gives the same requests.
    #[serde(default = "one")]
    pub seed: u64,
    /// What is judged: `throughput`, or a latency such as `latency.read.p99`.
    #[serde(default = "throughput")]
    pub criterion: String,
    /// How often everything is sampled.
    #[serde(default = "one_second")]
    pub interval: Span,
    /// Where the databases and the neighbours' files lie.
    pub device: DeviceTable,
    /// How the device and the data are brought into a state that can be measured.
    #[serde(default)]
    pub prepare: PrepareTable,
    /// The workload whose performance is judged.
    pub primary: Option<PrimaryTable>,
    /// The workloads beside it.
    #[serde(default)]
    pub neighbour: Vec<NeighbourTable>,
    /// The phases of one run.
    pub plan: PlanTable,
    /// Settings that change from one run to the next, and in which order the runs come.
    #[serde(default)]
    pub sweep: SweepTable,
}

fn one() -> u64 {
    1
}

fn throughput() -> String {
    "throughput".to_owned()
}

fn one_second() -> Span {
    Span(std::time::Duration::from_secs(1))
}

/// The device that is measured.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct DeviceTable {
    /// A folder on it; databases and neighbours' files lie below, nothing elsewhere. Relative to the
    /// folder that the command is started in.
    pub directory: PathBuf,
    /// Whether records and file sizes shrink in proportion when they would take more than half of the
    /// free space; a finding says so.
    #[serde(default)]
    pub fit: bool,
    /// The most bytes that may be written to the device, by all runs and preparations in this directory together:
    /// flash wears. Unlimited unless said.
    pub write_budget: Option<ByteSize>,
    /// Its I/O scheduler while the run lasts; the one it has unless said.
    pub scheduler: Option<String>,
}

/// The workload whose performance is judged.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PrimaryTable {
    /// Its name in the recording.
    #[serde(default = "primary")]
    pub name: String,
    /// How it is parted from the others.
    #[serde(default)]
    pub isolation: Isolation,
    /// What it may use.
    #[serde(default)]
    pub limits: Limits,
    /// What it is and does.
    #[serde(flatten)]
    pub workload: WorkloadTable,
}

fn primary() -> String {
    "primary".to_owned()
}

/// A workload beside the primary.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct NeighbourTable {
    /// Its name; with `instances`, copies are called `name1`, `name2` …
    pub name: String,
    /// How many copies of it, each on files of its own.
    #[schemars(range(min = 1, max = 64))]
    pub instances: Option<u32>,
    /// How it is parted from the others.
    #[serde(default)]
    pub isolation: Isolation,
    /// What it may use.
    #[serde(default)]
    pub limits: Limits,
    /// What it is and does.
    #[serde(flatten)]
    pub workload: WorkloadTable,
}

/// What a workload is and does; `kind` is `kv` for a primary unless said.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WorkloadTable {
    /// Reads and writes of files.
    Io(IoSettings),
    /// Files that are created, written, read and deleted, as by a file server, a mail server or a database.
    Files(FilesSettings),
    /// Operations on a key-value engine.
    Kv(KvSettings),
    /// A recorded trace on a key-value engine.
    Replay(ReplaySettings),
    /// An external program.
    Command(CommandSettings),
}

/// The phases of one run.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PlanTable {
    /// How long the primary runs alone before anything is measured.
    #[serde(default)]
    pub warmup: Span,
    /// How long each phase is measured.
    pub phase: Span,
    /// How long `w0`, the phase without neighbours, is measured; as long as `phase` unless said.
    pub baseline: Option<Span>,
    /// How long each phase runs before it is measured.
    #[serde(default)]
    pub settle: Span,
    /// Whether each neighbour is first measured alone, so that its own loss can be told.
    #[serde(default)]
    pub solo: bool,
    /// How long a neighbour alone runs before its first measurement.
    #[serde(default)]
    pub solo_warmup: Span,
    /// Whether the primary runs alone once more at the end, so that drift shows.
    #[serde(default)]
    pub closing: bool,
    /// A ladder: settings of neighbours and the values they take; several keys make their product, the
    /// last one changing fastest.
    #[serde(default)]
    pub vary: Map<String, Value>,
    /// Prolongs each measured phase until its interval is narrow.
    pub stop: Option<PhaseStop>,
    /// Explicit phases instead of a ladder, each changing something and keeping the rest.
    #[serde(default)]
    pub step: Vec<StepTable>,
}

/// One explicit phase.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[serde(default)]
pub struct StepTable {
    /// What is special about it, for people; made from the changes unless said.
    pub label: Option<String>,
    /// Settings that change: `{ "n1.write_ratio" = 0.1 }`.
    pub set: Map<String, Value>,
    /// Neighbours that begin to send requests.
    pub start: Vec<String>,
    /// Neighbours that pause.
    pub stop: Vec<String>,
    /// How long this phase is measured; as long as `plan.phase` unless said.
    pub phase: Option<Span>,
}
