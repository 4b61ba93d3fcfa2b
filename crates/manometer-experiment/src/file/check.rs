//! From the tree to an experiment that can run: types, units, names, ranges. Every problem is told, not
//! only the first.

use std::path::PathBuf;

use manometer_measure::host::environment;
use manometer_measure::plan::{Better, Criterion};
use manometer_measure::{ByteSize, Span};
use manometer_workload::kv::EngineOptions;
use manometer_workload::settings::WorkloadSettings;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::problem::Finding;
use super::tree::{Kind, Node, Origin, Sources};
use super::types::{DeviceTable, ExperimentTable, PlanTable, StepTable};

/// Percentiles that a latency criterion can name.
const PERCENTILES: [&str; 5] = ["p50", "p90", "p99", "p999", "max"];

/// Sample series that a workload must not take the name of.
const RESERVED_NAMES: [&str; 4] = ["cpu", "device", "memory", "pressure_stall"];

/// The most phases or runs that a ladder or a sweep may make.
const MAX_PRODUCT: usize = 10_000;

/// An experiment that can run.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// Its name, for people.
    pub name: String,
    /// Where all randomness comes from.
    pub seed: u64,
    /// What is judged.
    pub criterion: Criterion,
    /// The sample interval.
    pub interval: Span,
    /// The folder below which everything is written.
    pub directory: PathBuf,
    /// Whether it may shrink to fit a small disk.
    pub fit: bool,
    /// The judged workload.
    pub primary: Option<Workload>,
    /// The workloads beside it, copies counted singly.
    pub neighbours: Vec<Neighbour>,
    /// Times of the plan.
    pub times: Times,
    /// The ladder: what changes together, and its values.
    pub vary: Vec<Rung>,
    /// The explicit phases, instead of a ladder.
    pub steps: Vec<Step>,
    /// What changes from run to run, by `workload.setting`, with its values.
    pub sweep: Vec<(String, Vec<Value>)>,
    /// The resolved whole, `extends` and `--set` applied.
    pub resolved: Value,
}

/// A workload and its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// Its name in the recording.
    pub name: String,
    /// What it does.
    pub settings: WorkloadSettings,
}

/// A neighbour: a workload, and the name of the table it was written in.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbour {
    /// The table's name; several copies share it.
    pub table: String,
    /// The workload itself.
    pub workload: Workload,
}

/// Times of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// The primary alone, unmeasured.
    pub warmup: Span,
    /// `w0`.
    pub baseline: Span,
    /// Every other phase.
    pub phase: Span,
    /// Before each measured phase.
    pub settle: Span,
    /// Whether neighbours are measured alone first, and after which time.
    pub solo: Option<Span>,
}

/// One key of a ladder.
#[derive(Debug, Clone, PartialEq)]
pub struct Rung {
    /// The changes that take each value, one per copy.
    pub targets: Vec<(usize, String)>,
    /// The key as written.
    pub key: String,
    /// The values, in order.
    pub values: Vec<Value>,
}

/// A changed setting of one neighbour.
#[derive(Debug, Clone, PartialEq)]
pub struct NeighbourChange {
    /// Which neighbour.
    pub neighbour: usize,
    /// The setting.
    pub setting: String,
    /// Its new value.
    pub value: Value,
}

/// One explicit phase.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// What is special about it.
    pub label: String,
    /// What changes.
    pub changes: Vec<NeighbourChange>,
    /// Who begins.
    pub start: Vec<usize>,
    /// Who pauses.
    pub stop: Vec<usize>,
    /// How long it is measured.
    pub phase: Span,
}

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
        let interval = self.optional(root, "interval").unwrap_or(Span(std::time::Duration::from_secs(1)));
        let device: Option<DeviceTable> = self.table(root, "device");
        let plan: Option<PlanTable> = self.table(root, "plan");
        let (device, plan) = (device?, plan?);
        self.directory(root, &device);
        self.times(root, &plan, interval);
        let block_size = environment::block_size_bytes(&device.directory);
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
        let vary = self.vary(root, &neighbours, block_size);
        let steps = self.steps(root, &plan, &neighbours, block_size);
        if let (false, Some(step)) = (vary.is_empty(), root.get("plan").and_then(|plan| plan.get("step"))) {
            let help = "a ladder (`vary`) and explicit phases (`[[plan.step]]`) exclude one another";
            self.report("both `plan.vary` and `plan.step` are there", Some(&step.origin), Some(help));
        }
        let sweep = self.sweep(root, primary.as_ref(), &neighbours);
        Some(Experiment {
            name,
            seed,
            criterion,
            interval,
            directory: device.directory,
            fit: device.fit,
            primary,
            neighbours,
            times: Times {
                warmup: plan.warmup,
                baseline: plan.baseline.unwrap_or(plan.phase),
                phase: plan.phase,
                settle: plan.settle,
                solo: plan.solo.then_some(plan.solo_warmup),
            },
            vary,
            steps,
            sweep,
            resolved: root.to_json(),
        })
    }

    fn report(&mut self, message: impl Into<String>, origin: Option<&Origin>, help: Option<&str>) {
        let finding = Finding::new(message, origin.cloned());
        self.findings.push(match help {
            Some(help) => finding.with_help(help),
            None => finding,
        });
    }

    /// Reports keys that are none of `known`, each with the nearest one that is.
    fn known_keys(&mut self, table: &Node, known: &[String]) {
        for (key, node) in table.entries() {
            if !known.contains(key) {
                let help = nearest_of(key, known.iter().map(String::as_str));
                self.report(format!("`{key}` is no key here"), Some(&node.key_origin), Some(&help));
            }
        }
    }

    fn required<T: DeserializeOwned>(&mut self, table: &Node, key: &str) -> Option<T> {
        match table.get(key) {
            Some(node) => self.value(node, key),
            None => {
                self.report(format!("`{key}` is missing"), Some(&table.key_origin), None);
                None
            }
        }
    }

    fn optional<T: DeserializeOwned>(&mut self, table: &Node, key: &str) -> Option<T> {
        let node = table.get(key)?;
        self.value(node, key)
    }

    fn value<T: DeserializeOwned>(&mut self, node: &Node, key: &str) -> Option<T> {
        match serde_path_to_error::deserialize::<_, T>(node.to_json()) {
            Ok(value) => Some(value),
            Err(error) => {
                let at = follow(node, error.path());
                let inside = error.path().to_string();
                let key = if inside == "." { key.to_owned() } else { inside };
                self.report(format!("`{key}`: {}", error.inner()), Some(&at.origin), None);
                None
            }
        }
    }

    /// Reads a table that must be there, its keys those of `T`.
    fn table<T: DeserializeOwned + JsonSchema>(&mut self, root: &Node, key: &str) -> Option<T> {
        let Some(node) = root.get(key) else {
            self.report(format!("the table `[{key}]` is missing"), None, None);
            return None;
        };
        let found_before = self.findings.len();
        self.known_keys(node, &property_names::<T>());
        if key == "plan" {
            for step in node.get("step").map_or(&[][..], Node::elements) {
                self.known_keys(step, &property_names::<StepTable>());
            }
        }
        // A misspelt key would be told again as a missing one.
        (self.findings.len() == found_before).then(|| self.value(node, key))?
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

    fn primary(&mut self, node: &Node, block_size: Option<u64>) -> Option<Workload> {
        let name = self.optional(node, "name").unwrap_or_else(|| "primary".to_owned());
        self.name(&name, node);
        let settings = self.workload(node, Some("kv"), &["name"], block_size)?;
        Some(Workload { name, settings })
    }

    fn neighbours(&mut self, root: &Node, primary: Option<&Workload>, block_size: Option<u64>) -> Vec<Neighbour> {
        let mut neighbours: Vec<Neighbour> = Vec::new();
        for node in root.get("neighbour").map_or(&[][..], Node::elements) {
            let Some(table) = self.required::<String>(node, "name") else { continue };
            self.name(&table, node);
            let instances: Option<u32> = self.optional(node, "instances");
            if instances.is_some_and(|count| !(1..=64).contains(&count)) {
                let origin = node.get("instances").map(|node| node.origin.clone());
                self.report("`instances` is a number from 1 to 64", origin.as_ref(), None);
                continue;
            }
            let Some(settings) = self.workload(node, None, &["name", "instances"], block_size) else { continue };
            let names = match instances {
                None => vec![table.clone()],
                Some(count) => (1..=count).map(|copy| format!("{table}{copy}")).collect(),
            };
            for name in names {
                let taken = primary.is_some_and(|primary| primary.name == name)
                    || neighbours.iter().any(|other| other.workload.name == name || other.table == name);
                if taken {
                    let origin = node.get("name").map(|node| node.origin.clone());
                    self.report(format!("two workloads are called `{name}`"), origin.as_ref(), None);
                }
                let workload = Workload { name, settings: settings.clone() };
                neighbours.push(Neighbour { table: table.clone(), workload });
            }
        }
        neighbours
    }

    fn name(&mut self, name: &str, node: &Node) {
        let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        let origin = node.get("name").map_or(&node.origin, |node| &node.origin).clone();
        if !plain {
            let help = "a name names files: letters, digits, `-` and `_`";
            self.report(format!("`{name}` cannot be a name"), Some(&origin), Some(help));
        } else if RESERVED_NAMES.contains(&name) {
            self.report(format!("`{name}` is a sample series of the host"), Some(&origin), Some("choose another name"));
        }
    }

    /// Reads a workload: `kind` says which, its other keys but `beside` are its settings.
    fn workload(
        &mut self,
        node: &Node,
        default_kind: Option<&str>,
        beside: &[&str],
        block_size: Option<u64>,
    ) -> Option<WorkloadSettings> {
        let kind = match (node.get("kind"), default_kind) {
            (Some(kind), _) => self.value::<String>(kind, "kind")?,
            (None, Some(kind)) => kind.to_owned(),
            (None, None) => {
                self.report(
                    "`kind` is missing",
                    Some(&node.key_origin),
                    Some("write `kind = \"io\"` or `kind = \"kv\"`"),
                );
                return None;
            }
        };
        let Some(mut known) = setting_names(&kind) else {
            let origin = node.get("kind").map(|node| node.origin.clone());
            self.report(format!("`{kind}` is no kind of workload"), origin.as_ref(), Some("there are `io` and `kv`"));
            return None;
        };
        known.extend(beside.iter().map(|key| (*key).to_owned()));
        known.push("kind".to_owned());
        self.known_keys(node, &known);
        let own: Vec<(String, Node)> = node
            .entries()
            .iter()
            .filter(|(key, _)| key != "kind" && known.contains(key) && !beside.contains(&key.as_str()))
            .cloned()
            .collect();
        let own = Node { kind: Kind::Table(own), ..node.clone() };
        let settings = match kind.as_str() {
            "io" => WorkloadSettings::Io(self.value(&own, "io")?),
            _ => WorkloadSettings::Kv(self.value(&own, "kv")?),
        };
        let settings = self.with_paths(settings, node);
        if let Err(error) = settings.validate(block_size) {
            let origin = node.get(error.setting).map_or(&node.key_origin, |node| &node.origin).clone();
            self.report(error.to_string(), Some(&origin), None);
            return None;
        }
        Some(settings)
    }

    /// Paths in a file are relative to the file that says them.
    fn with_paths(&self, mut settings: WorkloadSettings, node: &Node) -> WorkloadSettings {
        let folder = |key: &str| node.get(key).map(|node| self.sources.folder(&node.origin));
        if let WorkloadSettings::Kv(kv) = &mut settings {
            if let (Some(EngineOptions::File(file)), Some(folder)) = (&mut kv.options, folder("options")) {
                *file = folder.join(&*file);
            }
            let beside = folder("workload").map(|folder| folder.join(&kv.workload));
            if let Some(file) = beside.filter(|file| file.is_file()) {
                kv.workload = file.display().to_string();
            }
        }
        settings
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

    fn vary(&mut self, root: &Node, neighbours: &[Neighbour], block_size: Option<u64>) -> Vec<Rung> {
        let Some(table) = root.get("plan").and_then(|plan| plan.get("vary")) else { return Vec::new() };
        let mut rungs = Vec::new();
        for (key, node) in table.entries() {
            let Some(targets) = self.targets(key, &node.key_origin, neighbours) else { continue };
            let values = self.values(key, node);
            for (value, element) in values.iter().zip(node.elements()) {
                self.value_fits(key, value, &element.origin, &targets, neighbours, block_size);
            }
            rungs.push(Rung { targets, key: key.clone(), values });
        }
        self.product_is_bounded("plan.vary", rungs.iter().map(|rung| rung.values.len()), &table.key_origin);
        rungs
    }

    fn steps(&mut self, root: &Node, plan: &PlanTable, neighbours: &[Neighbour], block_size: Option<u64>) -> Vec<Step> {
        let nodes = root.get("plan").and_then(|plan| plan.get("step")).map_or(&[][..], Node::elements);
        let mut steps = Vec::new();
        for (table, node) in plan.step.iter().zip(nodes) {
            let mut changes = Vec::new();
            for (key, value) in node.get("set").map_or(&[][..], Node::entries) {
                let Some(targets) = self.targets(key, &value.key_origin, neighbours) else { continue };
                let json = value.to_json();
                self.value_fits(key, &json, &value.origin, &targets, neighbours, block_size);
                changes.extend(targets.into_iter().map(|(neighbour, setting)| NeighbourChange {
                    neighbour,
                    setting,
                    value: json.clone(),
                }));
            }
            let start = self.members(node, "start", neighbours);
            let stop = self.members(node, "stop", neighbours);
            let label = table.label.clone().unwrap_or_else(|| step_label(table));
            steps.push(Step { label, changes, start, stop, phase: table.phase.unwrap_or(plan.phase) });
        }
        steps
    }

    /// The neighbours that `start` or `stop` of a step names; a table's name stands for all its copies.
    fn members(&mut self, step: &Node, key: &str, neighbours: &[Neighbour]) -> Vec<usize> {
        let mut members = Vec::new();
        for node in step.get(key).map_or(&[][..], Node::elements) {
            let Value::String(name) = node.to_json() else { continue };
            let found = matching(&name, neighbours);
            if found.is_empty() {
                let help = nearest_of(&name, neighbours.iter().map(|one| one.workload.name.as_str()));
                self.report(format!("no neighbour is called `{name}`"), Some(&node.origin), Some(&help));
            }
            members.extend(found);
        }
        members
    }

    /// The neighbours and the setting that a key such as `writer.iodepth` names.
    fn targets(&mut self, key: &str, origin: &Origin, neighbours: &[Neighbour]) -> Option<Vec<(usize, String)>> {
        let Some((name, setting)) = key.split_once('.') else {
            let help = "write `\"neighbour.setting\"`, in quotes, such as `\"writer.iodepth\"`";
            self.report(format!("`{key}` names no neighbour's setting"), Some(origin), Some(help));
            return None;
        };
        let found = matching(name, neighbours);
        let Some(first) = found.first() else {
            let help = nearest_of(name, neighbours.iter().map(|one| one.workload.name.as_str()));
            self.report(format!("no neighbour is called `{name}`"), Some(origin), Some(&help));
            return None;
        };
        let settings = &neighbours[*first].workload.settings;
        let changeable = settings.changeable();
        if !changeable.contains(&setting) {
            let known = setting_names(settings.kind()).is_some_and(|names| names.iter().any(|name| name == setting));
            let message = if known {
                format!("`{setting}` cannot change while `{name}` runs")
            } else {
                format!("`{name}` has no setting `{setting}`")
            };
            let help = if known {
                "put it into `[sweep]`, which begins a new run for each value".to_owned()
            } else {
                nearest_of(setting, changeable.iter().copied())
            };
            self.report(message, Some(origin), Some(&help));
            return None;
        }
        Some(found.into_iter().map(|neighbour| (neighbour, setting.to_owned())).collect())
    }

    fn values(&mut self, key: &str, node: &Node) -> Vec<Value> {
        let values: Vec<Value> = node.elements().iter().map(Node::to_json).collect();
        if values.is_empty() {
            self.report(format!("`{key}` takes a list of at least one value"), Some(&node.origin), None);
        }
        values
    }

    fn value_fits(
        &mut self,
        key: &str,
        value: &Value,
        origin: &Origin,
        targets: &[(usize, String)],
        neighbours: &[Neighbour],
        block_size: Option<u64>,
    ) {
        let Some((neighbour, setting)) = targets.first() else { return };
        let changed = neighbours[*neighbour].workload.settings.with(setting, value);
        let checked = changed.and_then(|settings| settings.validate(block_size).map_err(|error| error.to_string()));
        if let Err(reason) = checked {
            self.report(format!("`{key}`: {reason}"), Some(origin), None);
        }
    }

    fn sweep(
        &mut self,
        root: &Node,
        primary: Option<&Workload>,
        neighbours: &[Neighbour],
    ) -> Vec<(String, Vec<Value>)> {
        let Some(table) = root.get("sweep") else { return Vec::new() };
        let mut tables: Vec<(&str, &WorkloadSettings)> =
            neighbours.iter().map(|one| (one.table.as_str(), &one.workload.settings)).collect();
        tables.extend(primary.map(|primary| (primary.name.as_str(), &primary.settings)));
        let mut sweep = Vec::new();
        for (key, node) in table.entries() {
            let (name, setting) = key.split_once('.').unwrap_or((key, ""));
            let Some((_, settings)) = tables.iter().find(|(table, _)| *table == name) else {
                let help = nearest_of(name, tables.iter().map(|(table, _)| *table));
                self.report(format!("no workload is called `{name}`"), Some(&node.key_origin), Some(&help));
                continue;
            };
            let names = setting_names(settings.kind()).unwrap_or_default();
            if !names.iter().any(|name| name == setting) {
                let help = nearest_of(setting, names.iter().map(String::as_str));
                self.report(format!("`{name}` has no setting `{setting}`"), Some(&node.key_origin), Some(&help));
                continue;
            }
            let values = self.values(key, node);
            for (value, element) in values.iter().zip(node.elements()) {
                if let Err(reason) = settings.with(setting, value) {
                    self.report(format!("`{key}`: {reason}"), Some(&element.origin), None);
                }
            }
            sweep.push((key.clone(), values));
        }
        self.product_is_bounded("sweep", sweep.iter().map(|(_, values)| values.len()), &table.key_origin);
        sweep
    }

    fn product_is_bounded(&mut self, what: &str, sizes: impl Iterator<Item = usize>, origin: &Origin) {
        let product = sizes.fold(1_usize, usize::saturating_mul);
        if product > MAX_PRODUCT {
            self.report(format!("`{what}` makes {product} combinations, more than {MAX_PRODUCT}"), Some(origin), None);
        }
    }
}

/// The indices of the neighbours that `name` means: one copy, or all copies of a table.
fn matching(name: &str, neighbours: &[Neighbour]) -> Vec<usize> {
    let named = |one: &Neighbour| one.workload.name == name || one.table == name;
    (0..neighbours.len()).filter(|index| named(&neighbours[*index])).collect()
}

fn step_label(step: &StepTable) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let sets = step.set.iter().map(|(key, value)| format!("{key} = {}", text(value)));
    let starts = step.start.iter().map(|name| format!("start {name}"));
    let stops = step.stop.iter().map(|name| format!("stop {name}"));
    let parts: Vec<String> = starts.chain(stops).chain(sets).collect();
    if parts.is_empty() { "as before".to_owned() } else { parts.join(", ") }
}

/// The settings of workloads of `kind`.
fn setting_names(kind: &str) -> Option<Vec<String>> {
    match kind {
        "io" => Some(property_names::<manometer_workload::io::IoSettings>()),
        "kv" => Some(property_names::<manometer_workload::kv::KvSettings>()),
        _ => None,
    }
}

fn property_names<T: JsonSchema>() -> Vec<String> {
    let schema = schemars::schema_for!(T).to_value();
    let empty = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&empty);
    properties.keys().cloned().collect()
}

/// A sentence that names what is nearest to `word`, and else everything there is.
fn nearest_of<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.collect();
    let distance = |name: &&&str| strsim::damerau_levenshtein(word, name);
    let nearest = known.iter().min_by_key(distance).filter(|name| distance(name) <= 1 + word.len() / 3);
    match nearest {
        Some(name) => format!("did you mean `{name}`?"),
        None if known.is_empty() => "there is none".to_owned(),
        None => format!("there are `{}`", known.join("`, `")),
    }
}

/// The node that a path of a failed reading leads to, as far as it leads.
fn follow<'a>(node: &'a Node, path: &serde_path_to_error::Path) -> &'a Node {
    let mut at = node;
    for segment in path {
        let next = match segment {
            serde_path_to_error::Segment::Map { key } => at.get(key),
            serde_path_to_error::Segment::Seq { index } => at.elements().get(*index),
            _ => None,
        };
        match next {
            Some(node) => at = node,
            None => return at,
        }
    }
    at
}

impl Experiment {
    /// Every workload: the primary first.
    pub fn workloads(&self) -> impl Iterator<Item = &Workload> {
        self.primary.iter().chain(self.neighbours.iter().map(|one| &one.workload))
    }

    /// The bytes that preparing the databases and files writes.
    pub fn bytes_to_prepare(&self) -> ByteSize {
        ByteSize(self.workloads().map(|workload| workload.settings.bytes_to_prepare()).sum())
    }

    /// The resolved whole as TOML: what `--dry-run` prints and `experiment.toml` holds.
    pub fn to_toml(&self) -> String {
        toml::to_string_pretty(&self.resolved).unwrap_or_else(|_| json!(self.resolved).to_string())
    }

    /// One experiment for each combination of the sweep's values, the last key changing fastest, each
    /// with the settings that make it; without a sweep, the experiment itself.
    pub fn runs(&self) -> Vec<(Map<String, Value>, Experiment)> {
        let mut runs = vec![(Map::new(), Experiment { sweep: Vec::new(), ..self.clone() })];
        for (key, values) in &self.sweep {
            runs = runs
                .iter()
                .flat_map(|(settings, experiment)| {
                    values.iter().map(|value| {
                        let mut settings = settings.clone();
                        settings.insert(key.clone(), value.clone());
                        (settings, experiment.with_swept(key, value))
                    })
                })
                .collect();
        }
        runs
    }

    fn with_swept(&self, key: &str, value: &Value) -> Self {
        let mut swept = self.clone();
        let (name, setting) = key.split_once('.').unwrap_or((key, ""));
        let primary = swept.primary.iter_mut().filter(|primary| primary.name == name);
        let copies = swept.neighbours.iter_mut().filter(|one| one.table == name).map(|one| &mut one.workload);
        for workload in primary.chain(copies) {
            if let Ok(settings) = workload.settings.with(setting, value) {
                workload.settings = settings;
            }
        }
        let tables = swept.resolved.as_object_mut().into_iter().flat_map(|root| {
            root.remove("sweep");
            root.iter_mut().flat_map(|(key, value)| match (key.as_str(), value) {
                ("primary", table) => vec![table],
                ("neighbour", Value::Array(tables)) => tables.iter_mut().collect(),
                _ => Vec::new(),
            })
        });
        for table in tables {
            let named = table.get("name").and_then(Value::as_str).unwrap_or("primary") == name;
            if let (true, Some(table)) = (named, table.as_object_mut()) {
                table.insert(setting.to_owned(), value.clone());
            }
        }
        swept
    }
}
