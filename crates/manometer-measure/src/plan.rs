//! `plan.json`: the phases of a run.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Settings by `workload.setting`.
pub type Settings = Map<String, Value>;

/// The plan of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The name of the experiment, for people.
    pub experiment: String,
    /// The criterion.
    pub criterion: Criterion,
    /// The sample interval in seconds.
    pub interval_s: f64,
    /// The seed of every random choice of the run.
    pub seed: u64,
    /// The settings of the sweep for this run; empty without a sweep.
    #[serde(default)]
    pub sweep: Settings,
    /// Whether it is the reference of a sweep: a run with the file's own settings, repeated between the others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reference: bool,
    /// What the result has to meet; absent without a goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<Goal>,
    /// The workloads.
    pub workloads: Vec<Workload>,
    /// The phases, in the order they run.
    pub phases: Vec<Phase>,
}

impl Plan {
    /// The primary, if there is one.
    pub fn primary(&self) -> Option<&Workload> {
        self.workloads.iter().find(|workload| workload.role == Role::Primary)
    }

    /// The neighbours, in the order of the experiment.
    pub fn neighbours(&self) -> impl Iterator<Item = &Workload> {
        self.workloads.iter().filter(|workload| workload.role == Role::Neighbour)
    }

    /// The length of all phases in seconds, without loading.
    pub fn duration_s(&self) -> f64 {
        self.phases.iter().map(|phase| phase.settle_s + phase.duration_s).sum()
    }
}

/// A workload of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Its name; also the name of its sample series and its latency log.
    pub name: String,
    /// Its role.
    pub role: Role,
    /// Its kind: `io`, `kv`.
    pub kind: String,
    /// The unit of its performance: `ops/s` or `MiB/s`.
    pub unit: String,
}

/// What the result of a run has to meet.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    /// The largest pressure that any phase may have: a share of the performance in `w0`.
    pub pressure: f64,
}

/// The role of a workload in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Its performance is judged.
    Primary,
    /// It runs beside the primary.
    Neighbour,
}

/// The metric that is judged: `throughput`, or a latency such as `latency.read.p99`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Criterion {
    /// The name of the metric, as in the experiment file.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// The better direction.
    pub better: BetterDirection,
}

/// The better direction of a criterion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BetterDirection {
    /// Higher is better, as for throughput.
    Higher,
    /// Lower is better, as for a latency.
    Lower,
}

/// A stretch of time in which no setting changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// Its name: `warmup`, `w0` (no neighbour), `w1` …, or `s1` … for a neighbour alone.
    pub id: String,
    /// Its label, for people.
    pub label: String,
    /// Its purpose.
    pub kind: PhaseKind,
    /// The length of its measurement, in seconds.
    pub duration_s: f64,
    /// The settle time before its measurement, in seconds.
    #[serde(default)]
    pub settle_s: f64,
    /// The workloads that send requests in it.
    pub running: Vec<String>,
    /// The values in this phase of all settings that some phase changes.
    pub settings: Settings,
}

/// The purpose of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseKind {
    /// A neighbour runs alone, to measure its own performance.
    Solo,
    /// Caches fill; not measured.
    Warmup,
    /// The primary runs alone: `w0`.
    Baseline,
    /// The primary runs beside neighbours.
    Pressure,
}
