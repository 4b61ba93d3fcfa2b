//! The tables of an experiment file as a user writes them. The JSON Schema is generated from these types.

use std::path::PathBuf;

use manometer_measure::{ByteSize, Ratio, Span};
use manometer_session::group::OnLost;
use manometer_workload::command::CommandSettings;
use manometer_workload::files::FilesSettings;
use manometer_workload::io::IoSettings;
use manometer_workload::kv::KvSettings;
use manometer_workload::paths::PathsSettings;
use manometer_workload::replay::ReplaySettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::definition::{ArraySettings, PhaseStop, PlanDesign, PrepareSettings, RunOrder, SweepStop};
use crate::limits::{Isolation, Limits};

/// An experiment: how much a primary loses to its neighbours on one device.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ExperimentTable {
    /// Name of the experiment, shown in reports.
    pub name: String,
    /// Another experiment file, relative to this one. Tables are merged; values of this file win.
    pub extends: Option<PathBuf>,
    /// Seed of all randomness. The same seed generates the same requests.
    #[serde(default = "one")]
    pub seed: u64,
    /// The judged metric of the primary: `throughput`, or a latency percentile such as `latency.read.p99`. Default:
    /// `throughput`; for a primary with a `rate` the p99 response time of its main operation, such as `response.read.p99`.
    pub criterion: Option<String>,
    /// Sample interval of all series.
    #[serde(default = "one_second")]
    pub interval: Span,
    /// How long a worker may send nothing, and the device may leave requests unanswered, before the run fails. Default: ten
    /// sample intervals, at least `10s`.
    pub silence: Option<Span>,
    /// The measured device, with the databases and the neighbours' files.
    pub device: DeviceTable,
    /// The arrangement of disks that each run builds, with a file system that is mounted at the device directory.
    pub array: Option<ArraySettings>,
    /// Preparation of the device and the data before anything is measured.
    #[serde(default)]
    pub prepare: PrepareSettings,
    /// The workload whose performance is judged.
    pub primary: Option<PrimaryTable>,
    /// The workloads that run concurrently with the primary.
    #[serde(default)]
    pub neighbour: Vec<NeighbourTable>,
    /// The phases of one run.
    pub plan: PlanTable,
    /// Settings that change from run to run, and the order of the runs.
    #[serde(default)]
    pub sweep: SweepTable,
    /// What the result has to meet; the exit status of `run` says whether it does.
    pub goal: Option<GoalTable>,
}

fn one() -> u64 {
    1
}

fn one_second() -> Span {
    Span(std::time::Duration::from_secs(1))
}

/// The measured device.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct DeviceTable {
    /// A directory on the device, relative to the current directory. All databases and neighbours' files are created
    /// below it.
    pub directory: PathBuf,
    /// Shrink record counts and file sizes in proportion when the data would take more than half of the available space.
    /// A finding reports it.
    #[serde(default)]
    pub fit: bool,
    /// Maximum number of bytes that all runs and preparations in this directory together may write to the device, as
    /// flash wears out. Default: unlimited.
    pub write_budget: Option<ByteSize>,
    /// Let root write to a directory that belongs to another user, who can then lead these writes elsewhere.
    #[serde(default)]
    pub foreign_owner: bool,
    /// I/O scheduler of the device during the run. Default: unchanged.
    pub scheduler: Option<String>,
    /// Name by which hosts of a cluster announce the device: `manometer cluster run` sends a run to a host that has it.
    pub name: Option<String>,
    /// Release of the kernel that the host must run, or its beginning: `6.8`. Default: any.
    pub kernel: Option<String>,
}

/// The workload whose performance is judged.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PrimaryTable {
    /// Name of the workload in the recording.
    #[serde(default = "primary")]
    pub name: String,
    /// How the workload is isolated from the others.
    #[serde(default)]
    pub isolation: Isolation,
    /// Resource limits of the workload.
    #[serde(default)]
    pub limits: Limits,
    /// The clients that share the workload.
    #[serde(flatten)]
    pub clients: ClientsTable,
    /// Kind and settings of the workload.
    #[serde(flatten)]
    pub workload: WorkloadTable,
}

fn primary() -> String {
    "primary".to_owned()
}

/// A workload that runs concurrently with the primary.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct NeighbourTable {
    /// Name of the workload in the recording. With `instances`, they are called `name1`, `name2` …
    pub name: String,
    /// Number of instances, each with its own files.
    #[schemars(range(min = 1, max = 64))]
    pub instances: Option<u32>,
    /// How the workload is isolated from the others.
    #[serde(default)]
    pub isolation: Isolation,
    /// Resource limits of the workload.
    #[serde(default)]
    pub limits: Limits,
    /// The clients that share the workload.
    #[serde(flatten)]
    pub clients: ClientsTable,
    /// Kind and settings of the workload.
    #[serde(flatten)]
    pub workload: WorkloadTable,
}

/// The clients that share a workload.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ClientsTable {
    /// Clients that share the workload: processes that begin together, each with its `threads` and an equal part of `rate`
    /// and `operations`. They need a server as engine. Default: one.
    #[schemars(range(min = 1, max = 64))]
    pub clients: Option<u32>,
    /// Where the clients run, in turn: commands that lead to `manometer` on another host, or `local`. Default: here, or
    /// the hosts of the cluster.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// What the other clients do when one is lost: stop, so that the run fails, or continue, with less load.
    #[serde(default)]
    pub on_lost: OnLost,
}

/// Kind and settings of a workload. The default `kind` of a primary is `kv`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WorkloadTable {
    /// Reads and writes of files.
    Io(IoSettings),
    /// Files that are created, written, read and deleted, as by a file server, a mail server or a database.
    Files(FilesSettings),
    /// A tree of files that is looked up, opened, read and listed by path: metadata operations.
    Paths(PathsSettings),
    /// Operations on a key-value engine.
    Kv(KvSettings),
    /// Replay of a recorded trace on a key-value engine.
    Replay(ReplaySettings),
    /// An external program.
    Command(CommandSettings),
}

/// The phases of one run.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PlanTable {
    /// Whether the phases run one after another, or in blocks of every setting and of `w0`, round after round.
    #[serde(default)]
    pub design: PlanDesign,
    /// Interleaved: the number of rounds. In each, `w0` and every setting run for one block, in a balanced random order.
    #[schemars(range(min = 5, max = 10_000))]
    pub rounds: Option<u32>,
    /// Interleaved: the length of a block, with its washout.
    pub block: Option<Span>,
    /// Interleaved: the beginning of each block that is not measured.
    pub washout: Option<Span>,
    /// Warm-up: the primary alone, before anything is measured.
    #[serde(default)]
    pub warmup: Span,
    /// Measured length of each phase of a ladder; interleaved, that of each neighbour alone (`solo`).
    pub phase: Option<Span>,
    /// Measured length of `w0`, the phase without neighbours. Default: `phase`.
    pub baseline: Option<Span>,
    /// Settle time: how long each phase runs before it is measured.
    #[serde(default)]
    pub settle: Span,
    /// Measure each neighbour alone first, to report its own loss.
    #[serde(default)]
    pub solo: bool,
    /// Warm-up of a neighbour alone, before its first measurement.
    #[serde(default)]
    pub solo_warmup: Span,
    /// Measure the primary alone once more at the end, to detect drift.
    #[serde(default)]
    pub closing: bool,
    /// A ladder: settings and their values. Several keys make their product, the last one changing fastest.
    #[serde(default)]
    pub vary: Map<String, Value>,
    /// Extend each measured phase until its confidence interval is narrow enough.
    pub stop: Option<PhaseStop>,
    /// Explicit phases instead of a ladder. Each changes some settings and keeps the rest.
    #[serde(default)]
    pub step: Vec<StepTable>,
}

/// What the result has to meet.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct GoalTable {
    /// The largest pressure of any phase: the share of a throughput that is lost, or by which a latency rises.
    pub pressure: Ratio,
}

/// One explicit phase.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[serde(default)]
pub struct StepTable {
    /// Label of the phase. Default: its changes.
    pub label: Option<String>,
    /// Settings that change: `{ "n1.write_ratio" = 0.1 }`.
    pub set: Map<String, Value>,
    /// Neighbours that start to send requests.
    pub start: Vec<String>,
    /// Neighbours that pause.
    pub stop: Vec<String>,
    /// Measured length of this phase. Default: `plan.phase`.
    pub phase: Option<Span>,
}

/// Settings that change from run to run, and the order of the runs.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SweepTable {
    /// Order of the runs.
    pub order: RunOrder,
    /// Number of runs of each combination of settings; with `stop`, the minimum.
    #[schemars(range(min = 1, max = 1000))]
    pub repeats: Option<u32>,
    /// Run the file's own settings as the first, the last, and every n-th run, to detect drift.
    #[schemars(range(min = 2))]
    pub reference_every: Option<u32>,
    /// Repeat each combination until its confidence interval over the repeats is narrow enough.
    pub stop: Option<SweepStop>,
    /// How often a run that failed is tried again before the set goes on without it. Default: once.
    #[schemars(range(max = 10))]
    pub retry: Option<u32>,
    /// `"workload.setting" = [values]`, in quotes. Several keys make their product.
    #[serde(flatten)]
    pub settings: Map<String, Value>,
}
