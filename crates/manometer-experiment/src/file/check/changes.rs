//! Changes of settings: the ladder, the explicit phases, the timetables and the sweep.

use std::collections::BTreeMap;
use std::time::Duration;

use manometer_measure::Span;
use manometer_measure::suggest::correction;
use manometer_workload::io::parse_script;
use manometer_workload::kv::read_script;
use manometer_workload::paths;
use manometer_workload::script::ScriptStep;
use manometer_workload::settings::WorkloadSettings;
use serde_json::Value;

use super::Checker;
use super::workloads::{setting_names, with_paths};
use crate::definition::{
    CLIENTS, DEVICE_SWEEP_KEYS, ExperimentWorkload, LadderKey, Neighbour, PlanStep, SettingChange, format_value,
};
use crate::file::source::Origin;
use crate::file::tables::{PlanTable, StepTable};
use crate::file::tree::Node;
use crate::limits::IsolationSetting;

/// The maximum number of phases of a ladder, or of runs of a sweep.
const MAX_PRODUCT: usize = 10_000;

impl Checker<'_> {
    /// Reads the ladder. `changing` holds the neighbours, then the primary.
    pub(super) fn read_ladder(&mut self, root: &Node, changing: &[Neighbour], block_size: u64) -> Vec<LadderKey> {
        let Some(table) = root.get("plan").and_then(|plan| plan.get("vary")) else { return Vec::new() };
        let mut ladder = Vec::new();
        for (key, node) in table.entries() {
            let Some(targets) = self.read_targets(key, &node.key_origin, changing) else { continue };
            let normalized = |element: &Node| self.normalized_value(key, element, &targets, changing, block_size);
            let values: Vec<Value> = node.elements().iter().filter_map(normalized).collect();
            self.check_not_empty(key, node);
            ladder.push(LadderKey { targets, key: key.clone(), values });
        }
        self.check_product("plan.vary", ladder.iter().map(|key| key.values.len()), &table.key_origin);
        ladder
    }

    /// Reads the explicit phases.
    pub(super) fn read_steps(
        &mut self,
        root: &Node,
        (plan, phase): (&PlanTable, Span),
        (neighbours, changing): (&[Neighbour], &[Neighbour]),
        block_size: u64,
    ) -> Vec<PlanStep> {
        let nodes = root.get("plan").and_then(|plan| plan.get("step")).map_or(&[][..], Node::elements);
        let mut steps = Vec::new();
        for (table, node) in plan.step.iter().zip(nodes) {
            let mut changes = Vec::new();
            for (key, value) in node.get("set").map_or(&[][..], Node::entries) {
                let Some(targets) = self.read_targets(key, &value.key_origin, changing) else { continue };
                let Some(value) = self.normalized_value(key, value, &targets, changing, block_size) else { continue };
                let change = |(workload, setting)| SettingChange { workload, setting, value: value.clone() };
                changes.extend(targets.into_iter().map(change));
            }
            let start = self.read_neighbour_names(node, "start", neighbours);
            let stop = self.read_neighbour_names(node, "stop", neighbours);
            let label = table.label.clone().unwrap_or_else(|| default_label(table));
            steps.push(PlanStep { label, changes, start, stop, phase: table.phase.unwrap_or(phase) });
        }
        steps
    }

    /// The neighbours that `start` or `stop` of a step names. The name of a table means all its instances.
    fn read_neighbour_names(&mut self, step: &Node, key: &str, neighbours: &[Neighbour]) -> Vec<usize> {
        let mut named = Vec::new();
        for node in step.get(key).map_or(&[][..], Node::elements) {
            let Value::String(name) = node.to_json() else { continue };
            let found = neighbours_named(&name, neighbours);
            if found.is_empty() {
                let help = correction(&name, neighbours.iter().map(|one| one.workload.name.as_str()));
                self.report(format!("there is no neighbour `{name}`"), Some(&node.origin), Some(&help));
            }
            named.extend(found);
        }
        named
    }

    /// The workloads and the setting that a key such as `writer.iodepth` names.
    fn read_targets(&mut self, key: &str, origin: &Origin, neighbours: &[Neighbour]) -> Option<Vec<(usize, String)>> {
        let Some((name, setting)) = key.split_once('.') else {
            let help = "write `\"workload.setting\"` in quotes, such as `\"writer.iodepth\"`";
            self.report(format!("`{key}` does not name a setting of a workload"), Some(origin), Some(help));
            return None;
        };
        let found = neighbours_named(name, neighbours);
        let Some(first) = found.first() else {
            let help = correction(name, neighbours.iter().map(|one| one.workload.name.as_str()));
            self.report(format!("there is no workload `{name}`"), Some(origin), Some(&help));
            return None;
        };
        let workload = &neighbours[*first].workload;
        let changeable = workload.changeable();
        if !changeable.iter().any(|name| name == setting) {
            let known = setting_names_of(workload).iter().any(|name| name == setting);
            let message = if known {
                format!("`{setting}` cannot change while `{name}` runs")
            } else {
                format!("`{name}` has no setting `{setting}`")
            };
            let help = if known {
                "move it to `[sweep]`, which starts a new run for each value".to_owned()
            } else {
                correction(setting, changeable.iter().map(String::as_str))
            };
            self.report(message, Some(origin), Some(&help));
            return None;
        }
        Some(found.into_iter().map(|neighbour| (neighbour, setting.to_owned())).collect())
    }

    fn check_not_empty(&mut self, key: &str, node: &Node) {
        if node.elements().is_empty() {
            self.report(format!("`{key}` must be a list of at least one value"), Some(&node.origin), None);
        }
    }

    /// The value at `node` in the canonical form of the setting, where the setting accepts it.
    fn normalized_value(
        &mut self,
        key: &str,
        node: &Node,
        targets: &[(usize, String)],
        neighbours: &[Neighbour],
        block_size: u64,
    ) -> Option<Value> {
        let (neighbour, setting) = targets.first()?;
        let changed = neighbours[*neighbour].workload.with(setting, &node.to_json());
        let checked = changed.and_then(|workload| {
            workload.validate(block_size).map_err(|(_, text)| text)?;
            Ok(workload.get(setting))
        });
        checked.map_err(|reason| self.report(format!("`{key}`: {reason}"), Some(&node.origin), None)).ok()
    }

    /// Reads the swept settings.
    pub(super) fn read_sweep(
        &mut self,
        root: &Node,
        primary: Option<&ExperimentWorkload>,
        neighbours: &[Neighbour],
    ) -> Vec<(String, Vec<Value>)> {
        let Some(table) = root.get("sweep") else { return Vec::new() };
        let mut tables: Vec<(&str, &ExperimentWorkload)> =
            neighbours.iter().map(|one| (one.table.as_str(), &one.workload)).collect();
        tables.extend(primary.map(|primary| (primary.name.as_str(), primary)));
        let mut sweep = Vec::new();
        for (key, node) in table.entries() {
            if DEVICE_SWEEP_KEYS.contains(&key.as_str()) {
                self.check_not_empty(key, node);
                sweep.push((key.clone(), self.read_device_values(root, key, node)));
                continue;
            }
            // Keys without a dot are the sweep's own.
            let Some((name, setting)) = key.split_once('.') else { continue };
            let Some((_, workload)) = tables.iter().find(|(table, _)| *table == name) else {
                let (message, help) = unknown_table(name, &tables);
                self.report(message, Some(&node.key_origin), Some(&help));
                continue;
            };
            let names = setting_names_of(workload);
            if !names.iter().any(|name| name == setting) {
                let help = correction(setting, names.iter().map(String::as_str));
                self.report(format!("`{name}` has no setting `{setting}`"), Some(&node.key_origin), Some(&help));
                continue;
            }
            if is_varied(root, key) {
                let message =
                    format!("`plan.vary` sets `{key}` in every phase with `{name}`: a swept value has no effect");
                self.report(message, Some(&node.key_origin), Some("remove it here or from `plan.vary`"));
                continue;
            }
            self.check_not_empty(key, node);
            let sources = self.sources;
            let mut values = Vec::new();
            for element in node.elements() {
                match workload.with(setting, &element.to_json()) {
                    Ok(mut swept) => {
                        let folder = |name: &str| (name == setting).then(|| sources.folder(&element.origin));
                        swept.settings = with_paths(swept.settings, folder);
                        values.push(swept.get(setting));
                    }
                    Err(reason) => self.report(format!("`{key}`: {reason}"), Some(&element.origin), None),
                }
            }
            sweep.push((key.clone(), values));
        }
        sweep
    }

    /// Reports a product of `sizes` beyond the maximum.
    pub(super) fn check_product(&mut self, what: &str, sizes: impl Iterator<Item = usize>, origin: &Origin) {
        let product = sizes.fold(1_usize, usize::saturating_mul);
        if product > MAX_PRODUCT {
            self.report(
                format!("`{what}` makes {product} runs or phases; the maximum is {MAX_PRODUCT}"),
                Some(origin),
                None,
            );
        }
    }
}

/// Whether the ladder has the key `key`.
fn is_varied(root: &Node, key: &str) -> bool {
    root.get("plan").and_then(|plan| plan.get("vary")).is_some_and(|vary| vary.get(key).is_some())
}

/// The indices of the neighbours called `name`: one instance, or all instances of a table.
fn neighbours_named(name: &str, neighbours: &[Neighbour]) -> Vec<usize> {
    let named = |one: &Neighbour| one.workload.name == name || one.table == name;
    (0..neighbours.len()).filter(|index| named(&neighbours[*index])).collect()
}

/// The message and the remedy for a sweep of `name`, which is not among `tables`.
fn unknown_table(name: &str, tables: &[(&str, &ExperimentWorkload)]) -> (String, String) {
    match tables.iter().find(|(_, workload)| workload.name == name) {
        Some((table, _)) => (
            format!("`{name}` is one instance of `{table}`, and a sweep changes all of them"),
            format!("write `\"{table}.…\"`, or define a separate `[[neighbour]]` for the one that differs"),
        ),
        None => {
            let help = correction(name, tables.iter().map(|(table, _)| *table));
            (format!("there is no workload `{name}`"), help)
        }
    }
}

/// The names of all settings of `workload`, including those of its isolation.
fn setting_names_of(workload: &ExperimentWorkload) -> Vec<String> {
    let mut names = setting_names(workload.settings.kind()).unwrap_or_default();
    names.extend(IsolationSetting::keys());
    names.push(CLIENTS.to_owned());
    names
}

/// The label of a step without one: its changes.
fn default_label(step: &StepTable) -> String {
    let sets = step.set.iter().map(|(key, value)| format!("{key} = {}", format_value(value)));
    let starts = step.start.iter().map(|name| format!("start {name}"));
    let stops = step.stop.iter().map(|name| format!("stop {name}"));
    let parts: Vec<String> = starts.chain(stops).chain(sets).collect();
    if parts.is_empty() { "no change".to_owned() } else { parts.join(", ") }
}

pub(super) fn script_of(neighbour: &Neighbour) -> Option<&str> {
    match &neighbour.workload.settings {
        WorkloadSettings::Io(io) => io.script.as_deref(),
        WorkloadSettings::Kv(kv) => kv.script.as_deref(),
        WorkloadSettings::Paths(paths) => paths.script.as_deref(),
        WorkloadSettings::Files(_) | WorkloadSettings::Replay(_) | WorkloadSettings::Command(_) => None,
    }
}

/// The phases that the timetables of `changing` make, one for each change. The timetables start together with `w1`, and
/// the last phase is `last` long. The timetables are taken from the workloads; the first `neighbours` of these start
/// with `w1`.
pub(super) fn scripted_steps(
    changing: &mut [Neighbour],
    neighbours: usize,
    last: Span,
    block_size: u64,
) -> Vec<PlanStep> {
    let mut changes: BTreeMap<u64, Vec<SettingChange>> = BTreeMap::from([(0, Vec::new())]);
    for (workload, one) in changing.iter_mut().enumerate() {
        for step in take_timetable(&mut one.workload.settings, block_size) {
            let change = |(setting, value)| SettingChange { workload, setting, value };
            changes.entry(step.at_ns).or_default().extend(step.settings.into_iter().map(change));
        }
    }
    let times: Vec<u64> = changes.keys().copied().collect();
    let all: Vec<usize> = (0..neighbours).collect();
    let lengths = times.windows(2).map(|pair| Span(Duration::from_nanos(pair[1] - pair[0]))).chain([last]);
    let numbered = changes.into_values().zip(lengths).enumerate();
    numbered
        .map(|(number, (changes, phase))| {
            let label = |change: &SettingChange| {
                let name = &changing[change.workload].workload.name;
                format!("{name}.{} = {}", change.setting, format_value(&change.value))
            };
            let labels: Vec<String> = changes.iter().map(label).collect();
            let label = if labels.is_empty() { "timetable begins".to_owned() } else { labels.join(", ") };
            PlanStep {
                label,
                changes,
                start: if number == 0 { all.clone() } else { Vec::new() },
                stop: Vec::new(),
                phase,
            }
        })
        .collect()
}

/// Takes the timetable of a workload out of its settings.
fn take_timetable(settings: &mut WorkloadSettings, block_size: u64) -> Vec<ScriptStep> {
    // Both parsed when the workload was checked.
    match settings {
        WorkloadSettings::Io(io) => match io.script.take() {
            Some(script) => parse_script(&script, io, block_size).unwrap_or_default(),
            None => Vec::new(),
        },
        WorkloadSettings::Kv(kv) => {
            let steps = read_script(kv).unwrap_or_default();
            kv.script = None;
            steps
        }
        WorkloadSettings::Paths(paths) => {
            let steps = paths::read_script(paths).unwrap_or_default();
            paths.script = None;
            steps
        }
        WorkloadSettings::Files(_) | WorkloadSettings::Replay(_) | WorkloadSettings::Command(_) => Vec::new(),
    }
}
