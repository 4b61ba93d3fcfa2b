//! The design of a plan: the lengths of its phases, or of its rounds and blocks.

use manometer_measure::Span;
use manometer_workload::settings::WorkloadSettings;

use super::Checker;
use crate::definition::{BlockTimes, Experiment, ExperimentWorkload, MAX_ROUNDS, PlanDesign, PlanTimes, phase_states};
use crate::file::source::Origin;
use crate::file::tables::PlanTable;
use crate::file::tree::Node;

/// Fewer rounds give no interval.
const MIN_ROUNDS: u32 = 5;

/// The maximum number of blocks of a plan.
const MAX_BLOCKS: usize = 100_000;

/// The keys of `[plan]` that only an interleaved plan has.
const INTERLEAVED_KEYS: [&str; 3] = ["rounds", "block", "washout"];

/// The keys of `[plan]` that only a ladder has, and what to do without each.
const LADDER_KEYS: [(&str, &str); 3] = [
    ("baseline", "`w0` has as many blocks as every other phase"),
    ("settle", "the unmeasured beginning of a block is `washout`"),
    ("closing", "`w0` is measured in every round, so that drift shows"),
];

impl Checker<'_> {
    /// Reads the lengths of the phases or of the blocks, without `plan.stop`.
    pub(super) fn read_times(&mut self, root: &Node, plan: &PlanTable, interval: Span) -> Option<PlanTimes> {
        let table = root.get("plan")?;
        let (phase, blocks) = match plan.design {
            PlanDesign::Ladder => (self.read_ladder_phase(table, plan)?, None),
            PlanDesign::Interleaved => {
                let blocks = self.read_blocks(table, plan, interval);
                let phase = self.read_solo_phase(table, plan);
                (phase?, Some(blocks?))
            }
        };
        Some(PlanTimes {
            warmup: plan.warmup,
            baseline: plan.baseline.unwrap_or(phase),
            phase,
            settle: plan.settle,
            solo: plan.solo.then_some(plan.solo_warmup),
            closing: plan.closing,
            blocks,
            stop: None,
        })
    }

    fn read_ladder_phase(&mut self, table: &Node, plan: &PlanTable) -> Option<Span> {
        for key in INTERLEAVED_KEYS {
            if let Some(node) = table.get(key) {
                let help = "add `design = \"interleaved\"`, or remove it";
                self.report(format!("`{key}` belongs to an interleaved plan"), Some(&node.key_origin), Some(help));
            }
        }
        if plan.phase.is_none() {
            self.report(
                "`phase` is missing",
                Some(&table.key_origin),
                Some("it is how long a phase is measured: `10m`"),
            );
        }
        plan.phase
    }

    /// The length of the phases of each neighbour alone, which are the only ones of an interleaved plan that are not made of
    /// blocks.
    fn read_solo_phase(&mut self, table: &Node, plan: &PlanTable) -> Option<Span> {
        match (plan.solo, plan.phase) {
            (true, Some(phase)) => Some(phase),
            (false, None) => Some(Span::default()),
            (true, None) => {
                let help = "it is how long each neighbour is measured alone";
                self.report("`solo` needs `phase`", self.origin_of(table, "solo").as_ref(), Some(help));
                None
            }
            (false, Some(_)) => {
                let help = "write how long a `block` is, and how many `rounds` there are";
                let origin = table.get("phase").map(|node| node.key_origin.clone());
                self.report("an interleaved plan has blocks, no `phase`", origin.as_ref(), Some(help));
                None
            }
        }
    }

    fn read_blocks(&mut self, table: &Node, plan: &PlanTable, interval: Span) -> Option<BlockTimes> {
        for (key, help) in LADDER_KEYS.into_iter().filter(|(key, _)| table.get(key).is_some()) {
            let origin = table.get(key).map(|node| node.key_origin.clone());
            self.report(format!("`{key}` belongs to a ladder"), origin.as_ref(), Some(help));
        }
        for (step, node) in plan.step.iter().zip(table.get("step").map_or(&[][..], Node::elements)) {
            if step.phase.is_some() {
                let help = "all blocks have the same length, `plan.block`";
                let origin = node.get("phase").map(|node| node.key_origin.clone());
                self.report("a step of an interleaved plan has no `phase`", origin.as_ref(), Some(help));
            }
        }
        for (key, help) in [
            ("rounds", "each round measures `w0` and every other phase for one block: 20 are a good beginning"),
            ("block", "it is the length of a block with its washout, such as `1400ms`"),
            ("washout", "it is the beginning of a block that is not measured, such as `400ms`"),
        ] {
            if table.get(key).is_none() {
                self.report(format!("`{key}` is missing in an interleaved plan"), Some(&table.key_origin), Some(help));
            }
        }
        let (rounds, block, washout) = (plan.rounds?, plan.block?, plan.washout?);
        self.check_rounds(table, rounds);
        self.check_block(table, (block, washout), interval);
        Some(BlockTimes { rounds, block, washout })
    }

    fn check_rounds(&mut self, table: &Node, rounds: u32) {
        if !(MIN_ROUNDS..=MAX_ROUNDS).contains(&rounds) {
            let help = format!("write a number from {MIN_ROUNDS}, the fewest with an interval, to {MAX_ROUNDS}");
            self.report(
                format!("{rounds} rounds are out of range"),
                self.origin_of(table, "rounds").as_ref(),
                Some(&help),
            );
        }
    }

    fn check_block(&mut self, table: &Node, (block, washout): (Span, Span), interval: Span) {
        for (key, span) in [("block", block), ("washout", washout)] {
            if span < interval || !span.nanoseconds().is_multiple_of(interval.nanoseconds().max(1)) {
                let help = format!("blocks consist of whole sample intervals, here of {interval}");
                let message = format!("`{key} = {span}` is not a multiple of the sample interval");
                self.report(message, self.origin_of(table, key).as_ref(), Some(&help));
            }
        }
        if block <= washout {
            let help = "the rest of the block after the washout is what is measured";
            self.report(
                "the block must be longer than its washout",
                self.origin_of(table, "block").as_ref(),
                Some(help),
            );
        }
    }

    /// Reports what an interleaved plan cannot do with the workloads and phases of `experiment`.
    pub(super) fn check_blocks(&mut self, root: &Node, experiment: &Experiment) {
        let Some(blocks) = experiment.times.blocks else { return };
        let origin = root.get("plan").and_then(|plan| self.origin_of(plan, "design"));
        let mut refuse = |message: &str, help: &str| self.report(message, origin.as_ref(), Some(help));
        let treatments = 1 + phase_states(experiment).len();
        if experiment.primary.is_none() {
            refuse("an interleaved plan needs a primary", "it compares the primary's blocks with those of `w0`");
        }
        if treatments < 2 {
            refuse("an interleaved plan needs phases besides `w0`", "add a `[[neighbour]]`, `vary` or steps");
        }
        if treatments * blocks.rounds as usize > MAX_BLOCKS {
            let message =
                format!("{} phases in {} rounds are more than {MAX_BLOCKS} blocks", treatments, blocks.rounds);
            refuse(&message, "use fewer values or fewer rounds");
        }
        let external = |workload: &&ExperimentWorkload| matches!(workload.settings, WorkloadSettings::Command(_));
        if let Some(workload) = experiment.workloads().find(external) {
            let message = format!("`{}` is an external program, which a block cannot pause or measure", workload.name);
            refuse(&message, "use the design `ladder`: a program would be ended and started again in every round");
        }
    }

    fn origin_of(&self, table: &Node, key: &str) -> Option<Origin> {
        table.get(key).map(|node| node.origin.clone())
    }
}
