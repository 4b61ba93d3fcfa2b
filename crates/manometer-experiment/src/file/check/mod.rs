//! From the tree to an experiment that can run: keys, types, units, names, ranges. All problems are reported, not only
//! the first.

mod array;
mod changes;
mod design;
mod isolation;
mod preparation;
mod reading;
mod servers;
mod sweep_rules;
mod workloads;

use std::os::unix::ffi::OsStrExt as _;
use std::time::Duration;

use manometer_measure::Span;
use manometer_measure::host::mount::{self, Backing};
use manometer_measure::plan::{BetterDirection, Criterion, PlanGoal};
use manometer_measure::suggest::correction;
use manometer_workload::settings::{Pace, WorkloadSettings};

use self::changes::{script_of, scripted_steps};
use self::reading::property_names;
pub(super) use self::reading::{deserialize, unknown_keys};
use super::problem::CheckError;
use super::source::Sources;
use super::tables::{DeviceTable, ExperimentTable, GoalTable, PlanTable};
use super::tree::Node;
use crate::definition::{
    Experiment, ExperimentWorkload, LadderKey, Neighbour, PlanDesign, PlanStep, PlanTimes, format_settings,
    invalid_phase, phase_states,
};

/// The percentiles that a latency criterion can name.
const PERCENTILES: [&str; 5] = ["p50", "p90", "p99", "p999", "max"];

/// The maximum length of a phase: a longer one is a typing error.
const MAX_PHASE_S: f64 = 366.0 * 86_400.0;

/// The assumed block size of a file system that does not report it.
const DEFAULT_BLOCK_BYTES: u64 = 4096;

/// Checks the whole tree and resolves it into an experiment. Adds what is wrong to `errors`.
pub(super) fn check(root: &Node, sources: &Sources, errors: &mut Vec<CheckError>) -> Option<Experiment> {
    let mut checker = Checker { errors: Vec::new(), sources };
    let experiment = checker.experiment(root);
    errors.append(&mut checker.errors);
    experiment
}

/// The longest part of a path, in bytes.
const LONGEST_PART: usize = 255;

/// A busy host may keep a worker from sending for seconds.
const LEAST_DEFAULT_SILENCE: Duration = Duration::from_secs(10);

struct Checker<'a> {
    errors: Vec<CheckError>,
    sources: &'a Sources,
}

impl Checker<'_> {
    fn experiment(&mut self, root: &Node) -> Option<Experiment> {
        self.check_keys(root, &property_names::<ExperimentTable>());
        let has_shape = self.check_table_shapes(root);
        let name: Option<String> = self.read_required(root, "name");
        let seed = self.read_optional(root, "seed").unwrap_or(1);
        let interval = self.read_optional(root, "interval").unwrap_or(Span(Duration::from_secs(1)));
        let silence = self.read_silence(root, interval);
        let device = self.read_device(root);
        let array = self.read_array(root);
        let prepare = self.read_preparation(root, interval);
        let plan: Option<PlanTable> = self.read_root_table(root, "plan");
        let times = plan.as_ref().and_then(|plan| {
            self.check_times(root, plan, interval);
            self.read_times(root, plan, interval)
        });
        let block_size = device.as_ref().and_then(|device| mount::block_size_bytes(&device.directory));
        let block_size = block_size.unwrap_or(DEFAULT_BLOCK_BYTES);
        let errors_before = self.errors.len();
        let mut primary =
            root.get("primary").filter(|node| node.is_table()).and_then(|node| self.read_primary(node, block_size));
        let mut neighbours = self.read_neighbours(root, primary.as_ref(), block_size);
        let has_workloads = has_shape && self.errors.len() == errors_before;
        self.check_has_workload(root);
        let criterion = self.read_criterion(root, primary.as_ref());
        let goal = self.read_goal(root, criterion.as_ref());
        if !has_workloads {
            // What is below changes workloads, and would be reported again.
            return None;
        }
        let sweep = self.read_sweep(root, primary.as_ref(), &neighbours);
        let sweep_rules = self.read_sweep_rules(root, &sweep);
        let plan = plan?;
        let phase = times.as_ref().map(|times| times.phase).unwrap_or_default();
        let (ladder, steps) = self.read_phases(root, (&plan, phase), (&mut neighbours, &mut primary), block_size);
        if !self.errors.is_empty() {
            return None;
        }
        let (device, times) = (device?, times?);
        let experiment = Experiment {
            name: name?,
            seed,
            criterion: criterion?,
            goal,
            interval,
            silence,
            directory: device.directory,
            fit: device.fit,
            foreign_owner: device.foreign_owner,
            scheduler: device.scheduler,
            device_name: device.name,
            kernel: device.kernel,
            write_budget: device.write_budget,
            array,
            prepare: prepare?,
            primary,
            neighbours,
            times,
            ladder,
            steps,
            sweep,
            sweep_rules,
            swept: serde_json::Map::new(),
            reference: false,
            disk_fit: None,
            findings: Vec::new(),
            resolved: root.to_json(),
        }
        .with_absolute_paths();
        Some(self.check_whole(root, experiment, block_size))
    }

    /// Checks what depends on several valid parts of `experiment`, and reads `plan.stop`.
    fn check_whole(&mut self, root: &Node, mut experiment: Experiment, block_size: u64) -> Experiment {
        self.check_blocks(root, &experiment);
        experiment.times.stop = self.read_phase_stop(root, longest(&experiment));
        self.check_stop_criterion(root, &experiment);
        if self.errors.is_empty() {
            self.check_runs(root, &experiment, block_size);
            self.check_arrays(root, &experiment);
        }
        experiment
    }

    fn read_device(&mut self, root: &Node) -> Option<DeviceTable> {
        let device: DeviceTable = self.read_root_table(root, "device")?;
        self.check_directory(root, &device);
        self.check_write_budget(root, &device);
        Some(device)
    }

    fn check_has_workload(&mut self, root: &Node) {
        if root.get("primary").is_none() && root.get("neighbour").is_none() {
            let help = "add a `[primary]`, a `[[neighbour]]`, or both";
            self.report("the experiment has no workload", Some(&root.key_origin), Some(help));
        }
    }

    /// Reports `plan.stop` by the throughput of a paced primary: it has its rate from the first second on, and the analysis
    /// judges it by its latencies.
    fn check_stop_criterion(&mut self, root: &Node, experiment: &Experiment) {
        let is_judged = experiment.criterion.metric == "throughput" && experiment.times.stop.is_some();
        let runs = experiment.combinations();
        let mut primaries = runs.iter().chain([experiment]).filter_map(|run| run.primary.as_ref());
        if is_judged && primaries.any(|primary| primary.settings.pace() != Pace::Free) {
            let origin = root.get("criterion").map(|node| node.origin.clone());
            let help = "set it to a latency such as `response.read.p99`, or leave out `rate` or `stop`";
            self.report(
                "`plan.stop` cannot wait for the throughput of a paced primary, which is its rate",
                origin.as_ref(),
                Some(help),
            );
        }
    }

    /// Reports the first run whose settings are valid one by one and not together.
    fn check_runs(&mut self, root: &Node, experiment: &Experiment, block_size: u64) {
        let reference = experiment.sweep_rules.reference_every.map(|_| experiment.without_sweep());
        let invalid = experiment.combinations().into_iter().chain(reference).find_map(|run| {
            let workload = run.workloads().find_map(|workload| {
                let (_, reason) = workload.validate(block_size).err()?;
                Some(("sweep", format!("the run with {} is invalid: {reason}", format_settings(&run.swept))))
            });
            let conflict = || Some(("primary", servers::flush_conflict(&run)?));
            let preparation = || Some(("prepare", preparation::unsupported(&run)?));
            workload.or_else(conflict).or_else(preparation).or_else(|| {
                let (phase, reason) = invalid_phase(&run, block_size)?;
                Some(("plan", format!("the phase `{phase}` is invalid: {reason}")))
            })
        });
        if let Some((table, message)) = invalid {
            let origin = root.get(table).map_or(&root.key_origin, |table| &table.key_origin).clone();
            self.report(message, Some(&origin), None);
        }
    }

    /// Reports tables written as lists and lists written as tables, which would be read as empty. Whether there is none.
    fn check_table_shapes(&mut self, root: &Node) -> bool {
        let errors_before = self.errors.len();
        let tables = [
            ("primary", "[primary]"),
            ("sweep", "[sweep]"),
            ("goal", "[goal]"),
            ("device", "[device]"),
            ("array", "[array]"),
            ("plan", "[plan]"),
            ("prepare", "[prepare]"),
        ];
        for (key, header) in tables {
            if let Some(node) = root.get(key).filter(|node| !node.is_table()) {
                self.report(
                    format!("`{key}` must be one table"),
                    Some(&node.key_origin),
                    Some(&format!("write `{header}`")),
                );
            }
        }
        let invalid = root
            .get("neighbour")
            .filter(|node| node.elements().is_empty() || node.elements().iter().any(|element| !element.is_table()));
        if let Some(node) = invalid {
            self.report("`neighbour` must be a list of tables", Some(&node.key_origin), Some("write `[[neighbour]]`"));
        }
        self.errors.len() == errors_before
    }

    /// Reads the ladder or the explicit phases. Timetables become explicit phases.
    fn read_phases(
        &mut self,
        root: &Node,
        (plan, phase): (&PlanTable, Span),
        (neighbours, primary): (&mut [Neighbour], &mut Option<ExperimentWorkload>),
        block_size: u64,
    ) -> (Vec<LadderKey>, Vec<PlanStep>) {
        let mut changing = neighbours.to_vec();
        changing
            .extend(primary.iter().map(|primary| Neighbour { table: primary.name.clone(), workload: primary.clone() }));
        let ladder = self.read_ladder(root, &changing, block_size);
        let steps = self.read_steps(root, (plan, phase), (neighbours, &changing), block_size);
        let scripted = changing.iter().any(|one| script_of(one).is_some());
        if [!ladder.is_empty(), !steps.is_empty(), scripted].into_iter().filter(|used| *used).count() > 1 {
            let origin = root.get("plan").map(|plan| plan.key_origin.clone());
            let help = "use one of a ladder (`vary`), explicit phases (`step`) and timetables (`script`)";
            self.report("the phases are defined in more than one way", origin.as_ref(), Some(help));
        }
        if !scripted {
            return (ladder, steps);
        }
        if plan.design == PlanDesign::Interleaved {
            let origin = root.get("plan").map(|plan| plan.key_origin.clone());
            let help = "a timetable already is a sequence: use the design `ladder`, or `vary`";
            self.report("an interleaved plan has no timetable (`script`)", origin.as_ref(), Some(help));
        }
        let steps = scripted_steps(&mut changing, neighbours.len(), phase, block_size);
        let without_scripts = changing.into_iter().map(|one| one.workload);
        for (workload, without) in
            neighbours.iter_mut().map(|one| &mut one.workload).chain(primary.as_mut()).zip(without_scripts)
        {
            *workload = without;
        }
        (ladder, steps)
    }

    fn check_directory(&mut self, root: &Node, device: &DeviceTable) {
        let origin = root.get("device").and_then(|table| table.get("directory")).map(|node| node.origin.clone());
        let bytes = device.directory.as_os_str().as_bytes();
        if bytes.contains(&0) || bytes.split(|byte| *byte == b'/').any(|part| part.len() > LONGEST_PART) {
            let help = "a part of a path has at most 255 bytes, and none is 0";
            self.report("`directory` is not a path", origin.as_ref(), Some(help));
            return;
        }
        if root.get("array").is_some() {
            // Its own file system will be mounted there.
            return;
        }
        let Some(mount) = mount::mount_of(&device.directory) else { return };
        let backing = mount.backing();
        let help = match backing {
            // A file system in user space may lie on a local disk: a finding of the run reports what could not be observed.
            Backing::Device | Backing::Program => return,
            Backing::Memory => {
                "a file system in memory accepts direct I/O but measures no disk: choose a directory on a disk"
            }
            Backing::Network | Backing::Layered => {
                "the device below it cannot be observed: choose a directory on a local disk (in a container, on a \
                 volume); `manometer doctor DIR` shows what lies below a directory"
            }
        };
        let message = format!("{} lies on {} ({})", device.directory.display(), backing.description(), mount.fs_type);
        self.report(message, origin.as_ref(), Some(help));
    }

    /// The limit of silence: by default ten sample intervals, and long enough for a busy host.
    fn read_silence(&mut self, root: &Node, interval: Span) -> Span {
        let default = Span(interval.0.saturating_mul(10).max(LEAST_DEFAULT_SILENCE));
        let Some(silence) = self.read_optional::<Span>(root, "silence") else { return default };
        if silence.0 < interval.0.saturating_mul(2) {
            let origin = root.get("silence").map(|node| node.origin.clone());
            let help = format!("workers send one sample each interval, here of {interval}: write twice that or more");
            self.report(format!("`silence = {silence}` is too short"), origin.as_ref(), Some(&help));
        }
        silence
    }

    fn check_times(&mut self, root: &Node, plan: &PlanTable, interval: Span) {
        let table = root.get("plan");
        let origin = |key: &str| table.and_then(|table| table.get(key)).map(|node| node.origin.clone());
        let whole_milliseconds = interval.nanoseconds().is_multiple_of(1_000_000);
        if interval.0.as_millis() < 10 || !whole_milliseconds {
            let origin = root.get("interval").map(|node| node.origin.clone());
            self.report("`interval` must be a whole number of milliseconds, at least 10ms", origin.as_ref(), None);
        }
        let all = [
            ("warmup", plan.warmup),
            ("phase", plan.phase.unwrap_or_default()),
            ("baseline", plan.baseline.unwrap_or_default()),
            ("settle", plan.settle),
            ("solo_warmup", plan.solo_warmup),
        ];
        for (key, _) in all.into_iter().filter(|(_, span)| span.seconds() > MAX_PHASE_S) {
            self.report(format!("`{key}` is longer than a year"), origin(key).as_ref(), None);
        }
        if plan.closing && root.get("primary").is_none() {
            let help = "it measures the primary alone once more: add a `[primary]`, or remove `closing`";
            self.report("`closing` needs a primary", origin("closing").as_ref(), Some(help));
        }
        for (key, span) in [("phase", plan.phase), ("baseline", plan.baseline)] {
            if span.is_some_and(|span| span < interval) {
                let help = format!("a phase consists of whole sample intervals, here of {interval}");
                self.report(format!("`{key}` is shorter than the sample interval"), origin(key).as_ref(), Some(&help));
            }
        }
    }

    /// Reports the operation of a latency criterion where the primary does not have it.
    fn check_operation(&mut self, root: &Node, operation: &str, primary: Option<&ExperimentWorkload>) {
        let Some(primary) = primary else { return };
        let known = primary.settings.operations();
        if !known.contains(&operation) {
            let origin = root.get("criterion").map(|node| node.origin.clone());
            let help = match &primary.settings {
                WorkloadSettings::Command(_) if known.is_empty() => {
                    "this parser reports no latencies per sample interval: use `throughput`".to_owned()
                }
                _ => correction(operation, known),
            };
            self.report(format!("`{}` has no operation `{operation}`", primary.name), origin.as_ref(), Some(&help));
        }
    }

    /// Reads `[goal]`, which needs a primary.
    fn read_goal(&mut self, root: &Node, criterion: Option<&Criterion>) -> Option<PlanGoal> {
        let node = root.get("goal").filter(|node| node.is_table())?;
        let goal: GoalTable = self.read_table(node, "goal")?;
        if root.get("primary").is_none() {
            let help = "a goal is about the primary: add a `[primary]`, or remove `[goal]`";
            self.report("`[goal]` needs a primary", Some(&node.key_origin), Some(help));
        }
        if criterion.is_some_and(|criterion| criterion.better == BetterDirection::Higher) && goal.pressure.0 >= 1.0 {
            let help = "a throughput cannot lose all: write `5%` or `0.05`";
            self.report("the goal's pressure of a throughput is below 1", Some(&node.key_origin), Some(help));
        }
        Some(PlanGoal { pressure: goal.pressure.0 })
    }

    fn read_criterion(&mut self, root: &Node, primary: Option<&ExperimentWorkload>) -> Option<Criterion> {
        let metric = self.read_optional(root, "criterion").unwrap_or_else(|| default_metric(primary));
        if metric == "throughput" {
            let unit = primary.map_or("ops/s", |primary| primary.settings.unit()).to_owned();
            return Some(Criterion { metric, unit, better: BetterDirection::Higher });
        }
        let parts: Vec<&str> = metric.split('.').collect();
        match parts.as_slice() {
            ["latency" | "response", operation, percentile]
                if !operation.is_empty() && PERCENTILES.contains(percentile) =>
            {
                self.check_operation(root, operation, primary);
                Some(Criterion { metric, unit: "us".to_owned(), better: BetterDirection::Lower })
            }
            _ => {
                let origin = root.get("criterion").map(|node| node.origin.clone());
                let help = "write `throughput`, `latency.OPERATION.PERCENTILE` such as `latency.read.p99`, or `response.OPERATION.PERCENTILE` for the latency since a request was due";
                self.report(format!("`{metric}` is not a criterion"), origin.as_ref(), Some(help));
                None
            }
        }
    }
}

/// The throughput; of a paced primary, whose throughput is its rate as long as the target keeps up, the p99 of its main
/// operation: of the response time, or of the latency where no request is due before it is sent.
fn default_metric(primary: Option<&ExperimentWorkload>) -> String {
    let latency = primary.and_then(|primary| {
        let kind = match primary.settings.pace() {
            Pace::Free => return None,
            Pace::Due => "response",
            Pace::HeldBack => "latency",
        };
        Some(format!("{kind}.{}.p99", primary.settings.main_operation()?))
    });
    latency.unwrap_or_else(|| "throughput".to_owned())
}

/// What `plan.stop` extends, and how long it is in the file: the longest phase, or all rounds.
fn longest(experiment: &Experiment) -> (&'static str, Span) {
    let PlanTimes { phase, baseline, blocks, .. } = experiment.times;
    match blocks {
        Some(blocks) => {
            let rounds_s = blocks.length_s(1 + phase_states(experiment).len());
            ("the rounds", Span(Duration::try_from_secs_f64(rounds_s).unwrap_or(Duration::MAX)))
        }
        None => {
            let longest = experiment.steps.iter().map(|step| step.phase).chain([baseline]).fold(phase, Ord::max);
            ("a phase", longest)
        }
    }
}
