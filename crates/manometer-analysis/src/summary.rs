//! `summary.json`: the results of the analysis. The contract of `docs/recording.md`: fields may be added, never renamed;
//! a number that was not measured is null, with a `reason`.

use std::collections::BTreeMap;

use manometer_measure::event::Finding;
use manometer_measure::plan::{Criterion, PhaseKind, Settings};
use serde::{Deserialize, Serialize};

pub use crate::estimate::{IntervalEstimate, LatencySummary, MeanEstimate, NeededLength};
use crate::fidelity::Fidelity;
pub use crate::scale::{ScaleState, ScaleTest, ScaleTestMethod, UntestedPhase};
use crate::verdict::{GoalResult, Grade, Verdict};

/// An operation with fewer requests than this share is none of the main ones.
const MAIN_SHARE: f64 = 0.1;

/// The results of the analysis of one recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// The version of Manometer.
    pub manometer: String,
    /// The experiment's name.
    pub experiment: String,
    /// `complete`, `interrupted`, `failed`, or `cut` if the recording has no end.
    pub status: String,
    /// The criterion by which phases are compared.
    pub criterion: Criterion,
    /// The main result in a sentence, with its interval and what the verdict says of it.
    pub headline: String,
    /// The same without what the verdict says: a sentence without a full stop.
    #[serde(default)]
    pub claim: String,
    /// The phase that the claim is about; null where it is about no single one.
    #[serde(default)]
    pub claim_phase: Option<String>,
    /// What the result may be used for, and why.
    #[serde(default)]
    pub verdict: Verdict,
    /// Whether the result meets the goal of the experiment; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<GoalResult>,
    /// The rounds of an interleaved plan; none for a ladder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interleaved: Option<InterleavedSummary>,
    /// The rule by which phases share a step of the scale.
    pub scale_rule: String,
    /// Every phase of the plan except the warm-up, in order.
    pub phases: Vec<PhaseSummary>,
    /// The pressure scale: the tested phases in ascending order of pressure; those that do not differ significantly
    /// share a step.
    pub scale: Vec<Vec<String>>,
    /// The phases that have a pressure and could not be tested against the others, in ascending order of pressure: they
    /// are on no step.
    #[serde(default)]
    pub untested: Vec<UntestedPhase>,
    /// The tests on which the scale rests: every pair of its phases, in the order of the plan.
    #[serde(default)]
    pub scale_tests: Vec<ScaleTest>,
    /// The fidelity of each replay, by workload.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub replays: BTreeMap<String, Fidelity>,
    /// The findings, in the order in which they should be read.
    pub findings: Vec<Finding>,
}

impl RunSummary {
    /// The step of the pressure scale that `phase` is on, from 0; `None` for a phase that was not tested.
    pub fn step(&self, phase: &str) -> Option<usize> {
        self.scale.iter().position(|ids| ids.iter().any(|id| id == phase))
    }

    /// Whether `phase` is the baseline of all pressures.
    pub fn is_baseline(&self, phase: &PhaseSummary) -> bool {
        let first = |measured: bool| {
            let mut baselines = self.phases.iter().filter(|phase| phase.kind == PhaseKind::Baseline);
            baselines.find(|phase| !measured || phase.performance.mean.is_some())
        };
        first(true).or_else(|| first(false)).is_some_and(|first| first.id == phase.id)
    }

    /// Whether the corrected test of the pressure scale tells `phase` from the baseline.
    pub(crate) fn tells_from_baseline(&self, phase: &str) -> bool {
        let Some(baseline) = self.phases.iter().find(|one| self.is_baseline(one)) else { return false };
        let is_pair = |test: &&ScaleTest| {
            (test.a == baseline.id && test.b == phase) || (test.a == phase && test.b == baseline.id)
        };
        self.scale_tests.iter().find(is_pair).is_some_and(|test| test.differ)
    }

    /// The metric, besides that of the criterion, whose pressures were measured.
    pub fn companion(&self) -> Option<&str> {
        // An import may have no latencies by interval.
        let compared = self.phases.iter().filter(|phase| !self.is_baseline(phase));
        let measured = compared.flat_map(|phase| &phase.pressures).filter(|(_, pressure)| pressure.value.is_some());
        measured.map(|(metric, _)| metric.as_str()).find(|metric| *metric != self.criterion.metric)
    }

    /// The operations with a tenth of the requests or more.
    pub fn main_operations(&self) -> Vec<&str> {
        let mut requests: BTreeMap<&str, u64> = BTreeMap::new();
        for (name, latency) in self.phases.iter().flat_map(|phase| &phase.latency_us) {
            *requests.entry(name).or_default() += latency.samples;
        }
        let all: u64 = requests.values().sum();
        let main = requests.into_iter().filter(|(_, requests)| *requests as f64 >= MAIN_SHARE * all as f64);
        main.map(|(name, _)| name).collect()
    }

    /// The longest of the phase lengths that are needed where an interval is missing or too wide, with the phase that needs
    /// it: one with neighbours, where any does; `None` for a void result, which no length mends.
    pub fn longest_needed(&self) -> Option<(&str, &NeededLength)> {
        let longest = |has_neighbours: bool| {
            let phases = self.phases.iter().filter(|phase| (phase.kind == PhaseKind::Pressure) == has_neighbours);
            let needed = phases.filter_map(|phase| {
                let needed = phase.pressure.needed.as_ref().or(phase.performance.needed.as_ref())?;
                Some((phase.id.as_str(), needed))
            });
            needed.max_by(|one, other| one.1.phase_s.total_cmp(&other.1.phase_s))
        };
        let is_void = self.verdict.grade == Grade::Void;
        longest(true).or_else(|| longest(false)).filter(|_| !is_void)
    }
}

/// The results of all rounds of an interleaved plan together.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct InterleavedSummary {
    /// The number of rounds in which every phase was measured.
    pub rounds: usize,
    /// By phase but `w0`: the p-value of the same performance as `w0` (paired t test over rounds, Holm-corrected over phases);
    /// null with fewer than five rounds.
    pub p_values: BTreeMap<String, Option<f64>>,
    /// Whether blocks depend on the block before them; null where the blocks do not determine it.
    pub carry_over: Option<CarryOverSummary>,
    /// The states in which blocks begin.
    pub block_states: Vec<BlockStateSummary>,
}

/// The test for carry-over.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CarryOverSummary {
    /// The p-value of no carry-over (randomisation test).
    pub p_value: f64,
    /// By phase but `w0`: by which share the criterion is higher in blocks after it than in blocks after `w0`.
    pub effects: BTreeMap<String, IntervalEstimate>,
}

/// The test of a state in which blocks begin.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct BlockStateSummary {
    /// The column that holds it: `pending_compaction_bytes` of the engine, `busy` of the device, `dirty` of the memory.
    pub column: String,
    /// The p-value of no dependence on the block before (randomisation test on ranks, Holm-corrected over the states).
    pub p_value: f64,
    /// By phase: the mean at the start of blocks after it, in the column's unit.
    pub after: BTreeMap<String, Option<f64>>,
}

/// One block of a phase.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct BlockSummary {
    /// Its round, from 1.
    pub round: u32,
    /// Its place in its round, from 1.
    pub position: Option<usize>,
    /// The phase of the block before it; null for the first block of all.
    pub after: Option<String>,
    /// When its measurement started, in seconds since the start of the recording.
    pub start_s: f64,
    /// When its measurement ended, in the same unit.
    pub end_s: f64,
    /// The mean of the criterion, in the unit of the phase's performance; null where no sample interval lies in it.
    pub mean: Option<f64>,
}

/// The results of one phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseSummary {
    /// Its id in the plan.
    pub id: String,
    /// Its label: the settings that set it apart.
    pub label: String,
    /// Its kind.
    pub kind: PhaseKind,
    /// When its measurement started, in seconds since the start of the recording; null if it did not.
    pub start_s: Option<f64>,
    /// When its measurement ended, in the same unit.
    pub end_s: Option<f64>,
    /// Its blocks, in the order of the rounds; only in an interleaved plan, where `start_s` and `end_s` are those of the first
    /// and of the last, and each block counts as one sample.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<BlockSummary>,
    /// Whether the phase is in steady state; null where the test needs more samples, and in an interleaved plan.
    pub steady: Option<bool>,
    /// The settings in force.
    pub settings: Settings,
    /// The criterion as measured on the primary.
    pub performance: MeanEstimate,
    /// The pressure against `w0`; null without a measured `w0`, and for solo phases.
    pub pressure: IntervalEstimate,
    /// Its state on the pressure scale; null without a pressure.
    #[serde(default)]
    pub scale_state: Option<ScaleState>,
    /// The pressure by metric: of the throughput, and of the p99 latency of the primary's main operation.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pressures: BTreeMap<String, IntervalEstimate>,
    /// The performance of each neighbour.
    pub neighbours: BTreeMap<String, NeighbourSummary>,
    /// The fairness among all workloads, where neighbours were also measured alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fairness: Option<Fairness>,
    /// The primary's latencies by operation.
    pub latency_us: BTreeMap<String, LatencySummary>,
    /// The primary's response times, from when each request was due; only in an open loop.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub response_us: BTreeMap<String, LatencySummary>,
}

impl PhaseSummary {
    /// The intervals in which it was measured, in seconds since the start of the recording: one, or one for each block.
    pub fn stretches_s(&self) -> Vec<(f64, f64)> {
        match self.blocks.is_empty() {
            true => self.start_s.zip(self.end_s).into_iter().collect(),
            false => self.blocks.iter().map(|block| (block.start_s, block.end_s)).collect(),
        }
    }
}

/// The results of one neighbour in a phase.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct NeighbourSummary {
    /// Its own performance.
    pub performance: MeanEstimate,
    /// Its pressure against running alone; null unless it was measured alone.
    pub pressure: IntervalEstimate,
}

/// How evenly a phase slows down the workloads that share the device.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Fairness {
    /// By workload: its performance alone divided by its performance here; 1 means no slowdown.
    pub slowdown: BTreeMap<String, Option<f64>>,
    /// Jain's fairness index of the slowdowns: 1 if all are equal, 1 / n in the most unequal case among n.
    pub jain_index: Option<f64>,
    /// Why something is null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
