//! `summary.json`: what the analysis says. The contract of `docs/recording.md`: fields may be added,
//! never renamed; a number that was not measured is null, with a `reason` beside it.

use std::collections::BTreeMap;

use manometer_measure::event::Finding;
use manometer_measure::plan::{Criterion, PhaseKind, Settings};
use serde::{Deserialize, Serialize};

use crate::fidelity::Fidelity;

/// What the analysis of one recording says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Our version.
    pub manometer: String,
    /// The experiment's name.
    pub experiment: String,
    /// `complete`, `interrupted`, `failed`, or `cut` when the recording has no end.
    pub status: String,
    /// What is judged.
    pub criterion: Criterion,
    /// One sentence for people: what the worst neighbour costs.
    pub headline: String,
    /// The rule by which phases share a step of the scale.
    pub scale_rule: String,
    /// Every phase of the plan, in order, warm-up left out.
    pub phases: Vec<PhaseSummary>,
    /// The phases by growing pressure; those that cannot be told apart share a step.
    pub scale: Vec<Vec<String>>,
    /// How like its trace each workload was that replayed one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub replays: BTreeMap<String, Fidelity>,
    /// What a reader must know.
    pub findings: Vec<Finding>,
}

impl Summary {
    /// Whether `phase` is the one that pressures are measured against.
    pub fn is_baseline(&self, phase: &PhaseSummary) -> bool {
        let first = |measured: bool| {
            let mut baselines = self.phases.iter().filter(|phase| phase.kind == PhaseKind::Baseline);
            baselines.find(|phase| !measured || phase.performance.mean.is_some())
        };
        first(true).or_else(|| first(false)).is_some_and(|first| first.id == phase.id)
    }
}

/// What one phase showed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseSummary {
    /// Its id in the plan.
    pub id: String,
    /// What is special about it.
    pub label: String,
    /// What it is for.
    pub kind: PhaseKind,
    /// When its measurement began, in seconds since the recording's start; null when it did not.
    pub start_s: Option<f64>,
    /// When its measurement ended.
    pub end_s: Option<f64>,
    /// Whether the criterion neither drifted nor swung; null when that cannot be told.
    pub steady: Option<bool>,
    /// The settings in force.
    pub settings: Settings,
    /// The criterion, as measured on the primary.
    pub performance: Estimate,
    /// What the phase costs against `w0`; null for `w0`'s lack, and for solo phases.
    pub pressure: Ratio,
    /// What each neighbour reached itself.
    pub neighbours: BTreeMap<String, NeighbourSummary>,
    /// How evenly all who ran suffered, where neighbours were measured alone too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fairness: Option<Fairness>,
    /// The primary's latencies by operation.
    pub latency_us: BTreeMap<String, LatencySummary>,
    /// The same from when requests were due, where the primary ran in an open loop.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub response_us: BTreeMap<String, LatencySummary>,
}

/// A mean over a phase, with its 95 % interval.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Estimate {
    /// The mean.
    pub mean: Option<f64>,
    /// The interval's lower end.
    pub ci_low: Option<f64>,
    /// The interval's upper end.
    pub ci_high: Option<f64>,
    /// How many sample intervals it comes from.
    pub samples: usize,
    /// The unit of all three.
    pub unit: String,
    /// Quantiles over the sample intervals, 5 %, 25 %, 50 %, 75 %, 95 %; shown where there is no interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantiles: Option<[f64; 5]>,
    /// Why something is null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A pressure, with its 95 % interval.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Ratio {
    /// The pressure: 0 no harm, 0.9 nine tenths gone, below 0 help.
    pub value: Option<f64>,
    /// The interval's lower end.
    pub ci_low: Option<f64>,
    /// The interval's upper end.
    pub ci_high: Option<f64>,
    /// Why something is null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a neighbour reached in a phase.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct NeighbourSummary {
    /// Its own performance.
    pub performance: Estimate,
    /// What the phase costs it against running alone; null unless it was measured alone.
    pub pressure: Ratio,
}

/// How evenly the harm of a phase falls on those who share the device.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Fairness {
    /// By workload: what it reaches alone by what it reaches here, 1 is no harm.
    pub slowdown: BTreeMap<String, Option<f64>>,
    /// Jain's index on the slowdowns: 1 where all suffer alike, 1 / n where one of n alone does.
    pub jain_index: Option<f64>,
    /// Why something is null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Latencies of one operation in a phase, in microseconds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LatencySummary {
    /// The median.
    pub p50: Option<f64>,
    /// The 90th percentile.
    pub p90: Option<f64>,
    /// The 99th percentile.
    pub p99: Option<f64>,
    /// The 99.9th percentile.
    pub p999: Option<f64>,
    /// The longest.
    pub max: Option<f64>,
    /// How many requests.
    pub samples: u64,
}
