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
    pub goal: Option<PlanGoal>,
    /// The workloads.
    pub workloads: Vec<PlannedWorkload>,
    /// The rounds of an interleaved plan; none for a ladder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interleaved: Option<InterleavedRounds>,
    /// The phases, in the order they run; those of an interleaved plan in blocks, in the order of each round.
    pub phases: Vec<Phase>,
}

impl Plan {
    /// The primary, if there is one.
    pub fn primary(&self) -> Option<&PlannedWorkload> {
        self.workloads.iter().find(|workload| workload.role == Role::Primary)
    }

    /// The neighbours, in the order of the experiment.
    pub fn neighbours(&self) -> impl Iterator<Item = &PlannedWorkload> {
        self.workloads.iter().filter(|workload| workload.role == Role::Neighbour)
    }

    /// The phase with this id.
    pub fn phase(&self, id: &str) -> Option<&Phase> {
        self.phases.iter().find(|phase| phase.id == id)
    }

    /// The length of all phases in seconds, without loading.
    pub fn duration_s(&self) -> f64 {
        self.phases.iter().map(|phase| phase.settle_s + phase.duration_s).sum()
    }
}

/// The rounds of an interleaved plan: in every round `w0` and each other phase runs for one block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InterleavedRounds {
    /// The number of rounds; more may follow until intervals are narrow enough.
    pub rounds: u32,
    /// The length of a block in seconds, with its washout.
    pub block_s: f64,
    /// The unmeasured beginning of a block, in seconds.
    pub washout_s: f64,
    /// The ids of the phases in the order of their blocks, for each round that may run.
    pub orders: Vec<Vec<String>>,
}

impl InterleavedRounds {
    /// The measured length of a block in seconds, in whole nanoseconds: 1.4 s − 0.4 s are less than 1 s in floating point.
    pub fn measured_s(&self) -> f64 {
        ((self.block_s - self.washout_s) * 1e9).round() / 1e9
    }

    /// The number of rounds after which every phase was directly after every other one equally often: that of the phases,
    /// twice as many where it is odd (Williams 1949).
    pub fn balanced_rounds(&self) -> usize {
        let phases = self.orders.first().map_or(0, Vec::len);
        if phases.is_multiple_of(2) { phases } else { 2 * phases }
    }

    /// Whether `phase` is made of blocks.
    pub fn has(&self, phase: &str) -> bool {
        self.orders.first().is_some_and(|order| order.iter().any(|id| id == phase))
    }

    /// The phase whose block comes before that of `phase` in `round`, counted from 1; none before the first block.
    pub fn preceding(&self, phase: &str, round: u32) -> Option<&str> {
        let round = usize::try_from(round).ok()?.checked_sub(1)?;
        let order = self.orders.get(round)?;
        let position = order.iter().position(|id| id == phase)?;
        let before = match position.checked_sub(1) {
            Some(before) => order.get(before),
            None => self.orders.get(round.checked_sub(1)?)?.last(),
        };
        before.map(String::as_str)
    }

    /// The place of `phase` in `round`, both counted from 1.
    pub fn position(&self, phase: &str, round: u32) -> Option<usize> {
        let order = self.orders.get(usize::try_from(round).ok()?.checked_sub(1)?)?;
        order.iter().position(|id| id == phase).map(|position| position + 1)
    }
}

/// A workload of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedWorkload {
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
pub struct PlanGoal {
    /// The largest pressure that any phase may have: a share of the performance in `w0`.
    pub pressure: f64,
}

/// The role of a workload in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Its performance is judged.
    Primary,
    /// It runs concurrently with the primary.
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

/// An interval in which no setting changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// Its name: `warmup`, `w0` (no neighbour), `w1` …, or `s1` … for a neighbour alone.
    pub id: String,
    /// Its label, for people.
    pub label: String,
    /// Its purpose.
    pub kind: PhaseKind,
    /// The length of its measurement, in seconds; of its blocks together in an interleaved plan.
    pub duration_s: f64,
    /// The settle time before its measurement, in seconds; the washouts of its blocks together in an interleaved plan.
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
    /// The primary runs with neighbours.
    Pressure,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds() -> InterleavedRounds {
        let order = |ids: [&str; 3]| ids.map(str::to_owned).to_vec();
        let orders = vec![order(["w1", "w0", "w2"]), order(["w2", "w1", "w0"])];
        InterleavedRounds { rounds: 2, block_s: 1.4, washout_s: 0.4, orders }
    }

    #[test]
    fn the_measured_part_of_a_block_is_exact() {
        assert_eq!(rounds().measured_s(), 1.0);
    }

    #[test]
    fn a_block_follows_the_one_before_it_across_rounds() {
        let rounds = rounds();
        let before = |phase, round| rounds.preceding(phase, round);
        assert_eq!([before("w1", 1), before("w0", 1), before("w2", 1)], [None, Some("w1"), Some("w0")]);
        assert_eq!([before("w2", 2), before("w1", 2), before("w0", 2)], [Some("w2"), Some("w2"), Some("w1")]);
        assert_eq!([before("w9", 1), before("w0", 0), before("w0", 3), before("w0", u32::MAX)], [None; 4]);
        assert_eq!(
            [rounds.position("w0", 2), rounds.position("w9", 1), rounds.position("w0", 0)],
            [Some(3), None, None]
        );
    }
}
