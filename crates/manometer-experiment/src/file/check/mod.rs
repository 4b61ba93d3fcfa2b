//! From the tree to an experiment that can run: types, units, names, ranges. Every problem is told, not
//! only the first.

mod changes;
mod reading;
mod workloads;

use std::time::Duration;

use manometer_measure::Span;
use manometer_measure::host::environment;
use manometer_measure::plan::{Better, Criterion};

use self::changes::{script_of, scripted_steps};
use self::reading::property_names;
use super::experiment::{Experiment, Neighbour, Rung, Step, Times, Workload};
use super::problem::Finding;
use super::tree::{Node, Sources};
use super::types::{DeviceTable, ExperimentTable, PlanTable};

/// Percentiles that a latency criterion can name.
const PERCENTILES: [&str; 5] = ["p50", "p90", "p99", "p999", "max"];

/// The file system's block where it does not tell.
const USUAL_BLOCK_BYTES: u64 = 4096;

/// Reads and checks the whole tree.
pub(super) fn check(root: &Node, sources: &Sources) -> Result<Experiment, Vec<Finding>> {
    let mut checker = Checker { findings: Vec::new(), sources };
    let experiment = checker.experiment(root);
    match experiment {
        Some(experiment) if checker.findings.is_empty() => Ok(experiment),
        _ => Err(checker.findings),
    }
}

struct Checker<'a> {
    findings: Vec<Finding>,
    sources: &'a Sources,
}

impl Checker<'_> {
    fn experiment(&mut self, root: &Node) -> Option<Experiment> {
        self.known_keys(root, &property_names::<ExperimentTable>());
        let name: String = self.required(root, "name")?;
        let seed = self.optional(root, "seed").unwrap_or(1);
        let interval = self.optional(root, "interval").unwrap_or(Span(Duration::from_secs(1)));
        let device: Option<DeviceTable> = self.table(root, "device");
        let plan: Option<PlanTable> = self.table(root, "plan");
        let (device, plan) = (device?, plan?);
        self.directory(root, &device);
        self.times(root, &plan, interval);
        let block_size = environment::block_size_bytes(&device.directory).unwrap_or(USUAL_BLOCK_BYTES);
        let primary = root.get("primary").and_then(|node| self.primary(node, block_size));
        let neighbours = self.neighbours(root, primary.as_ref(), block_size);
        if root.get("primary").is_none() && root.get("neighbour").is_none() {
            self.report("there is no workload: write a `[primary]`, a `[[neighbour]]`, or both", None, None);
        }
        let criterion = self.criterion(root, primary.as_ref())?;
        if !self.findings.is_empty() {
            // What follows speaks of workloads: where one is wrong, its echoes would only confuse.
            return None;
        }
        let mut neighbours = neighbours;
        let (vary, steps) = self.phases(root, &plan, &mut neighbours, block_size);
        let sweep = self.sweep(root, primary.as_ref(), &neighbours);
        let experiment = Experiment {
            name,
            seed,
            criterion,
            interval,
            directory: device.directory,
            fit: device.fit,
            primary,
            neighbours,
            times: times_of(&plan),
            vary,
            steps,
            sweep,
            swept: serde_json::Map::new(),
            resolved: root.to_json(),
        };
        if let (true, Some((phase, reason))) =
            (self.findings.is_empty(), crate::plan::impossible_phase(&experiment, block_size))
        {
            let origin = root.get("plan").map(|plan| plan.key_origin.clone());
            self.report(format!("the phase `{phase}` cannot be: {reason}"), origin.as_ref(), None);
        }
        Some(experiment)
    }

    /// The ladder or the explicit phases; timetables of neighbours become explicit phases.
    fn phases(
        &mut self,
        root: &Node,
        plan: &PlanTable,
        neighbours: &mut [Neighbour],
        block_size: u64,
    ) -> (Vec<Rung>, Vec<Step>) {
        let vary = self.vary(root, neighbours, block_size);
        let steps = self.steps(root, plan, neighbours, block_size);
        let scripted = neighbours.iter().any(|one| script_of(one).is_some());
        if [!vary.is_empty(), !steps.is_empty(), scripted].into_iter().filter(|there| *there).count() > 1 {
            let origin = root.get("plan").map(|plan| plan.key_origin.clone());
            let help = "a ladder (`vary`), explicit phases (`step`) and a timetable (`script`) exclude one another";
            self.report("the phases are said in two ways", origin.as_ref(), Some(help));
        }
        let steps = if scripted { scripted_steps(neighbours, plan.phase, block_size) } else { steps };
        (vary, steps)
    }

    fn directory(&mut self, root: &Node, device: &DeviceTable) {
        let origin = root.get("device").and_then(|table| table.get("directory")).map(|node| node.origin.clone());
        if environment::is_memory(&device.directory) {
            let message = format!("{} lies in memory, not on a device", device.directory.display());
            let help = "a memory file system accepts direct I/O and says nothing about a disk: choose a folder on one";
            self.report(message, origin.as_ref(), Some(help));
        }
    }

    fn times(&mut self, root: &Node, plan: &PlanTable, interval: Span) {
        let table = root.get("plan");
        let origin = |key: &str| table.and_then(|table| table.get(key)).map(|node| node.origin.clone());
        if interval.0.as_millis() < 10 {
            let origin = root.get("interval").map(|node| node.origin.clone());
            self.report("`interval` is shorter than 10ms", origin.as_ref(), None);
        }
        for (key, span) in [("phase", Some(plan.phase)), ("baseline", plan.baseline)] {
            if span.is_some_and(|span| span < interval) {
                let help = format!("a phase holds whole sample intervals, here of {interval}");
                self.report(format!("`{key}` is shorter than one sample interval"), origin(key).as_ref(), Some(&help));
            }
        }
    }

    fn criterion(&mut self, root: &Node, primary: Option<&Workload>) -> Option<Criterion> {
        let metric = self.optional(root, "criterion").unwrap_or_else(|| "throughput".to_owned());
        if metric == "throughput" {
            let unit = primary.map_or("ops/s", |primary| primary.settings.unit()).to_owned();
            return Some(Criterion { metric, unit, better: Better::Higher });
        }
        let parts: Vec<&str> = metric.split('.').collect();
        match parts.as_slice() {
            ["latency", operation, percentile] if !operation.is_empty() && PERCENTILES.contains(percentile) => {
                Some(Criterion { metric, unit: "us".to_owned(), better: Better::Lower })
            }
            _ => {
                let origin = root.get("criterion").map(|node| node.origin.clone());
                let help = "write `throughput`, or `latency.OPERATION.PERCENTILE` such as `latency.read.p99`";
                self.report(format!("`{metric}` is no criterion"), origin.as_ref(), Some(help));
                None
            }
        }
    }
}

fn times_of(plan: &PlanTable) -> Times {
    Times {
        warmup: plan.warmup,
        baseline: plan.baseline.unwrap_or(plan.phase),
        phase: plan.phase,
        settle: plan.settle,
        solo: plan.solo.then_some(plan.solo_warmup),
    }
}
