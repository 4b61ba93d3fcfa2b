//! From the tree to an experiment that can run: types, units, names, ranges. Every problem is told, not
//! only the first.

mod changes;
mod isolation;
mod preparation;
mod reading;
mod servers;
mod stop;
mod workloads;

use std::time::Duration;

use manometer_measure::Span;
use manometer_measure::host::environment::{self, Backing};
use manometer_measure::plan::{Better, Criterion};
use manometer_workload::settings::WorkloadSettings;

use self::changes::{script_of, scripted_steps};
pub(super) use self::reading::{follow, known_keys};
use self::reading::{nearest_of, property_names};
use super::experiment::{Experiment, Neighbour, Rung, Step, Times, Workload, settings_text};
use super::problem::Complaint;
use super::sweep::PhaseStop;
use super::tree::{Node, Sources};
use super::types::{DeviceTable, ExperimentTable, PlanTable};

/// Percentiles that a latency criterion can name.
const PERCENTILES: [&str; 5] = ["p50", "p90", "p99", "p999", "max"];

/// More than a year is a slip of the finger.
const LONGEST_PHASE_S: f64 = 366.0 * 86_400.0;

/// The file system's block where it does not tell.
const USUAL_BLOCK_BYTES: u64 = 4096;

/// Reads and checks the whole tree.
pub(super) fn check(root: &Node, sources: &Sources) -> Result<Experiment, Vec<Complaint>> {
    let mut checker = Checker { complaints: Vec::new(), sources };
    let experiment = checker.experiment(root);
    match experiment {
        Some(experiment) if checker.complaints.is_empty() => Ok(experiment),
        _ => Err(checker.complaints),
    }
}

struct Checker<'a> {
    complaints: Vec<Complaint>,
    sources: &'a Sources,
}

impl Checker<'_> {
    fn experiment(&mut self, root: &Node) -> Option<Experiment> {
        self.known_keys(root, &property_names::<ExperimentTable>());
        self.shapes(root);
        let name: String = self.required(root, "name")?;
        let seed = self.optional(root, "seed").unwrap_or(1);
        let interval = self.optional(root, "interval").unwrap_or(Span(Duration::from_secs(1)));
        let device: Option<DeviceTable> = self.table(root, "device");
        let plan: Option<PlanTable> = self.table(root, "plan");
        let (device, plan) = (device?, plan?);
        self.directory(root, &device);
        self.write_budget(root, &device);
        let prepare = self.preparation(root, interval);
        self.times(root, &plan, interval);
        let block_size = environment::block_size_bytes(&device.directory).unwrap_or(USUAL_BLOCK_BYTES);
        let primary = root.get("primary").and_then(|node| self.primary(node, block_size));
        let neighbours = self.neighbours(root, primary.as_ref(), block_size);
        if root.get("primary").is_none() && root.get("neighbour").is_none() {
            let help = "write a `[primary]`, a `[[neighbour]]`, or both";
            self.report("there is no workload", Some(&root.key_origin), Some(help));
        }
        let criterion = self.criterion(root, primary.as_ref())?;
        if !self.complaints.is_empty() {
            // What follows speaks of workloads: where one is wrong, its echoes would only confuse.
            return None;
        }
        let (mut neighbours, mut primary) = (neighbours, primary);
        let (vary, steps) = self.phases(root, &plan, (&mut neighbours, &mut primary), block_size);
        let sweep = self.sweep(root, primary.as_ref(), &neighbours);
        let rules = self.sweep_rules(root, &sweep);
        let stop = self.phase_stop(root, &plan);
        let experiment = Experiment {
            name,
            seed,
            criterion,
            interval,
            directory: device.directory,
            fit: device.fit,
            scheduler: device.scheduler,
            write_budget: device.write_budget,
            prepare: prepare?,
            primary,
            neighbours,
            times: times_of(&plan, stop),
            vary,
            steps,
            sweep,
            rules,
            swept: serde_json::Map::new(),
            reference: false,
            shrunk_by: None,
            known: Vec::new(),
            resolved: root.to_json(),
        }
        .with_absolute_paths();
        if self.complaints.is_empty() {
            self.every_run(root, &experiment, block_size);
        }
        Some(experiment)
    }

    /// Reports the first run whose settings, valid one by one, cannot be together.
    fn every_run(&mut self, root: &Node, experiment: &Experiment, block_size: u64) {
        let reference = experiment.rules.reference_every.map(|_| experiment.without_sweep());
        let wrong = experiment.combinations().into_iter().chain(reference).find_map(|run| {
            let workload = run.workloads().find_map(|workload| {
                let (_, reason) = workload.validate(block_size).err()?;
                Some(("sweep", format!("the run with {} cannot be: {reason}", settings_text(&run.swept))))
            });
            let conflict = || Some(("primary", servers::emptied_by_another(&run)?));
            let preparation = || Some(("prepare", preparation::impossible(&run)?));
            workload.or_else(conflict).or_else(preparation).or_else(|| {
                let (phase, reason) = crate::plan::impossible_phase(&run, block_size)?;
                Some(("plan", format!("the phase `{phase}` cannot be: {reason}")))
            })
        });
        if let Some((table, message)) = wrong {
            let origin = root.get(table).map_or(&root.key_origin, |table| &table.key_origin).clone();
            self.report(message, Some(&origin), None);
        }
    }

    /// Reports tables that are lists and lists that are tables: they would be read as empty.
    fn shapes(&mut self, root: &Node) {
        let tables = [
            ("primary", "[primary]"),
            ("sweep", "[sweep]"),
            ("device", "[device]"),
            ("plan", "[plan]"),
            ("prepare", "[prepare]"),
        ];
        for (key, header) in tables {
            if let Some(node) = root.get(key).filter(|node| !node.is_table()) {
                self.report(
                    format!("`{key}` is one table"),
                    Some(&node.key_origin),
                    Some(&format!("write `{header}`")),
                );
            }
        }
        let wrong = root
            .get("neighbour")
            .filter(|node| node.elements().is_empty() || node.elements().iter().any(|element| !element.is_table()));
        if let Some(node) = wrong {
            self.report("`neighbour` is a list of tables", Some(&node.key_origin), Some("write `[[neighbour]]`"));
        }
    }

    /// The ladder or the explicit phases; timetables become explicit phases.
    fn phases(
        &mut self,
        root: &Node,
        plan: &PlanTable,
        (neighbours, primary): (&mut [Neighbour], &mut Option<Workload>),
        block_size: u64,
    ) -> (Vec<Rung>, Vec<Step>) {
        let mut changing = neighbours.to_vec();
        changing
            .extend(primary.iter().map(|primary| Neighbour { table: primary.name.clone(), workload: primary.clone() }));
        let vary = self.vary(root, &changing, block_size);
        let steps = self.steps(root, plan, (neighbours, &changing), block_size);
        let scripted = changing.iter().any(|one| script_of(one).is_some());
        if [!vary.is_empty(), !steps.is_empty(), scripted].into_iter().filter(|there| *there).count() > 1 {
            let origin = root.get("plan").map(|plan| plan.key_origin.clone());
            let help = "a ladder (`vary`), explicit phases (`step`) and a timetable (`script`) exclude one another";
            self.report("the phases are said in two ways", origin.as_ref(), Some(help));
        }
        if !scripted {
            return (vary, steps);
        }
        let steps = scripted_steps(&mut changing, neighbours.len(), plan.phase, block_size);
        let without_scripts = changing.into_iter().map(|one| one.workload);
        for (workload, without) in
            neighbours.iter_mut().map(|one| &mut one.workload).chain(primary.as_mut()).zip(without_scripts)
        {
            *workload = without;
        }
        (vary, steps)
    }

    fn directory(&mut self, root: &Node, device: &DeviceTable) {
        let origin = root.get("device").and_then(|table| table.get("directory")).map(|node| node.origin.clone());
        let Some(mount) = environment::mount_of(&device.directory) else { return };
        let backing = mount.backing();
        let help = match backing {
            // What a program shows may lie on a local disk: the run says what it could not see.
            Backing::Device | Backing::Program => return,
            Backing::Memory => {
                "a memory file system accepts direct I/O and says nothing about a disk: choose a folder on one"
            }
            Backing::Network | Backing::Layered => {
                "no device can be observed through it: choose a folder on a local disk (in a container, on a volume); \
                 `manometer doctor DIR` says what lies under a folder"
            }
        };
        let message = format!("{} lies on {} ({})", device.directory.display(), backing.what(), mount.fs_type);
        self.report(message, origin.as_ref(), Some(help));
    }

    fn times(&mut self, root: &Node, plan: &PlanTable, interval: Span) {
        let table = root.get("plan");
        let origin = |key: &str| table.and_then(|table| table.get(key)).map(|node| node.origin.clone());
        let whole_milliseconds = interval.nanoseconds().is_multiple_of(1_000_000);
        if interval.0.as_millis() < 10 || !whole_milliseconds {
            let origin = root.get("interval").map(|node| node.origin.clone());
            self.report("`interval` is no whole number of milliseconds from 10ms", origin.as_ref(), None);
        }
        let all = [
            ("warmup", plan.warmup),
            ("phase", plan.phase),
            ("baseline", plan.baseline.unwrap_or_default()),
            ("settle", plan.settle),
            ("solo_warmup", plan.solo_warmup),
        ];
        for (key, _) in all.into_iter().filter(|(_, span)| span.seconds() > LONGEST_PHASE_S) {
            self.report(format!("`{key}` is longer than a year"), origin(key).as_ref(), None);
        }
        if plan.closing && root.get("primary").is_none() {
            let help = "it measures the primary alone once more: write a primary, or leave it out";
            self.report("`closing` needs a primary", origin("closing").as_ref(), Some(help));
        }
        for (key, span) in [("phase", Some(plan.phase)), ("baseline", plan.baseline)] {
            if span.is_some_and(|span| span < interval) {
                let help = format!("a phase holds whole sample intervals, here of {interval}");
                self.report(format!("`{key}` is shorter than one sample interval"), origin(key).as_ref(), Some(&help));
            }
        }
    }

    /// Whether the primary has the operation that a latency criterion names.
    fn operation(&mut self, root: &Node, operation: &str, primary: Option<&Workload>) {
        let Some(primary) = primary else { return };
        let known = primary.settings.operations();
        if !known.contains(&operation) {
            let origin = root.get("criterion").map(|node| node.origin.clone());
            let help = match &primary.settings {
                WorkloadSettings::Command(_) if known.is_empty() => {
                    "this parser finds no latencies interval by interval: judge by `throughput`".to_owned()
                }
                _ => nearest_of(operation, known.into_iter()),
            };
            self.report(format!("`{}` has no operation `{operation}`", primary.name), origin.as_ref(), Some(&help));
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
            ["latency" | "response", operation, percentile]
                if !operation.is_empty() && PERCENTILES.contains(percentile) =>
            {
                self.operation(root, operation, primary);
                Some(Criterion { metric, unit: "us".to_owned(), better: Better::Lower })
            }
            _ => {
                let origin = root.get("criterion").map(|node| node.origin.clone());
                let help = "write `throughput`, `latency.OPERATION.PERCENTILE` such as `latency.read.p99`, or `response.…` for the time from when a request was due";
                self.report(format!("`{metric}` is no criterion"), origin.as_ref(), Some(help));
                None
            }
        }
    }
}

fn times_of(plan: &PlanTable, stop: Option<PhaseStop>) -> Times {
    Times {
        warmup: plan.warmup,
        baseline: plan.baseline.unwrap_or(plan.phase),
        phase: plan.phase,
        settle: plan.settle,
        solo: plan.solo.then_some(plan.solo_warmup),
        closing: plan.closing,
        stop,
    }
}
