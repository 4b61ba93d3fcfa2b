//! `plan.json`: what a run set out to do, phase by phase.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The settings in force, by `workload.setting`.
pub type Settings = Map<String, Value>;

/// What a run set out to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The experiment's name, for people.
    pub experiment: String,
    /// What is judged.
    pub criterion: Criterion,
    /// The length of one sample interval in seconds.
    pub interval_s: f64,
    /// The seed that every random choice of the run descends from.
    pub seed: u64,
    /// What a sweep set for this run; empty without one.
    #[serde(default)]
    pub sweep: Settings,
    /// Whether it is the reference of a sweep: the file's own settings, again and again between the others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reference: bool,
    /// Who takes part.
    pub workloads: Vec<Workload>,
    /// The phases, in the order they run.
    pub phases: Vec<Phase>,
}

impl Plan {
    /// The workload whose performance is judged, if there is one.
    pub fn primary(&self) -> Option<&Workload> {
        self.workloads.iter().find(|workload| workload.role == Role::Primary)
    }

    /// The workloads that run beside it, in the order of the experiment.
    pub fn neighbours(&self) -> impl Iterator<Item = &Workload> {
        self.workloads.iter().filter(|workload| workload.role == Role::Neighbour)
    }

    /// The time all phases take together, in seconds, loading aside.
    pub fn duration_s(&self) -> f64 {
        self.phases.iter().map(|phase| phase.settle_s + phase.duration_s).sum()
    }
}

/// A source of requests and its part in the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Its name; also the name of its sample series and its latency log.
    pub name: String,
    /// Judged, or beside the judged one.
    pub role: Role,
    /// What kind it is: `io`, `kv`.
    pub kind: String,
    /// The unit of its performance: `ops/s` or `MiB/s`.
    pub unit: String,
}

/// A workload's part in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Its performance is judged.
    Primary,
    /// It runs beside the primary.
    Neighbour,
}

/// What is judged: `throughput`, or a latency such as `latency.read.p99`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Criterion {
    /// The metric's name, as in the experiment file.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// Which direction is good.
    pub better: BetterDirection,
}

/// Which direction of a criterion is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BetterDirection {
    /// More is better: a throughput.
    Higher,
    /// Less is better: a latency.
    Lower,
}

/// A stretch of time in which no setting changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// Its name: `warmup`, `w0` (no neighbour), `w1` …, or `s1` … for a neighbour alone.
    pub id: String,
    /// What is special about it, for people.
    pub label: String,
    /// What it is for.
    pub kind: PhaseKind,
    /// How long it is measured, in seconds.
    pub duration_s: f64,
    /// How long it runs before it is measured, in seconds.
    #[serde(default)]
    pub settle_s: f64,
    /// The workloads that send requests in it.
    pub running: Vec<String>,
    /// Every setting that some phase changes, as it is in this one.
    pub settings: Settings,
}

/// What a phase is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseKind {
    /// A neighbour runs alone, to know its own performance.
    Solo,
    /// Caches fill; not measured.
    Warmup,
    /// The primary runs alone: `w0`.
    Baseline,
    /// The primary runs beside neighbours.
    Pressure,
}
