//! What changes: the ladder, the explicit phases, the timetables and the sweep.

use std::collections::BTreeMap;
use std::time::Duration;

use manometer_measure::Span;
use manometer_workload::io::parse_script;
use manometer_workload::kv::read_script;
use manometer_workload::script::ScriptStep;
use manometer_workload::settings::WorkloadSettings;
use serde_json::Value;

use super::Checker;
use super::reading::nearest_of;
use super::workloads::{setting_names, with_paths};
use crate::file::experiment::{Change, Neighbour, Rung, Step, Workload, text};
use crate::file::isolation::DEVICE_SCHEDULER;
use crate::file::tree::{Node, Origin};
use crate::file::types::{PlanTable, StepTable};
use crate::isolate::Setting;

/// The most phases or runs that a ladder or a sweep may make.
const MAX_PRODUCT: usize = 10_000;

impl Checker<'_> {
    /// The ladder. `changing` holds the neighbours and behind them the primary, whose settings change alike.
    pub(super) fn vary(&mut self, root: &Node, changing: &[Neighbour], block_size: u64) -> Vec<Rung> {
        let Some(table) = root.get("plan").and_then(|plan| plan.get("vary")) else { return Vec::new() };
        let mut rungs = Vec::new();
        for (key, node) in table.entries() {
            let Some(targets) = self.targets(key, &node.key_origin, changing) else { continue };
            let fitting = |element: &Node| self.fitting(key, element, &targets, changing, block_size);
            let values: Vec<Value> = node.elements().iter().filter_map(fitting).collect();
            self.not_empty(key, node);
            rungs.push(Rung { targets, key: key.clone(), values });
        }
        self.product_is_bounded("plan.vary", rungs.iter().map(|rung| rung.values.len()), &table.key_origin);
        rungs
    }

    pub(super) fn steps(
        &mut self,
        root: &Node,
        plan: &PlanTable,
        (neighbours, changing): (&[Neighbour], &[Neighbour]),
        block_size: u64,
    ) -> Vec<Step> {
        let nodes = root.get("plan").and_then(|plan| plan.get("step")).map_or(&[][..], Node::elements);
        let mut steps = Vec::new();
        for (table, node) in plan.step.iter().zip(nodes) {
            let mut changes = Vec::new();
            for (key, value) in node.get("set").map_or(&[][..], Node::entries) {
                let Some(targets) = self.targets(key, &value.key_origin, changing) else { continue };
                let Some(fitting) = self.fitting(key, value, &targets, changing, block_size) else { continue };
                changes.extend(targets.into_iter().map(|(workload, setting)| Change {
                    workload,
                    setting,
                    value: fitting.clone(),
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
    pub(super) fn members(&mut self, step: &Node, key: &str, neighbours: &[Neighbour]) -> Vec<usize> {
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

    /// The workloads and the setting that a key such as `writer.iodepth` names.
    pub(super) fn targets(
        &mut self,
        key: &str,
        origin: &Origin,
        neighbours: &[Neighbour],
    ) -> Option<Vec<(usize, String)>> {
        let Some((name, setting)) = key.split_once('.') else {
            let help = "write `\"workload.setting\"`, in quotes, such as `\"writer.iodepth\"`";
            self.report(format!("`{key}` names no workload's setting"), Some(origin), Some(help));
            return None;
        };
        let found = matching(name, neighbours);
        let Some(first) = found.first() else {
            let help = nearest_of(name, neighbours.iter().map(|one| one.workload.name.as_str()));
            self.report(format!("no workload is called `{name}`"), Some(origin), Some(&help));
            return None;
        };
        let workload = &neighbours[*first].workload;
        let changeable = workload.changeable();
        if !changeable.iter().any(|name| name == setting) {
            let known = names_of(workload).iter().any(|name| name == setting);
            let message = if known {
                format!("`{setting}` cannot change while `{name}` runs")
            } else {
                format!("`{name}` has no setting `{setting}`")
            };
            let help = if known {
                "put it into `[sweep]`, which begins a new run for each value".to_owned()
            } else {
                nearest_of(setting, changeable.iter().map(String::as_str))
            };
            self.report(message, Some(origin), Some(&help));
            return None;
        }
        Some(found.into_iter().map(|neighbour| (neighbour, setting.to_owned())).collect())
    }

    fn not_empty(&mut self, key: &str, node: &Node) {
        if node.elements().is_empty() {
            self.report(format!("`{key}` takes a list of at least one value"), Some(&node.origin), None);
        }
    }

    /// The value of a setting as the setting itself writes it, where it can take it.
    fn fitting(
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

    pub(super) fn sweep(
        &mut self,
        root: &Node,
        primary: Option<&Workload>,
        neighbours: &[Neighbour],
    ) -> Vec<(String, Vec<Value>)> {
        let Some(table) = root.get("sweep") else { return Vec::new() };
        let mut tables: Vec<(&str, &Workload)> =
            neighbours.iter().map(|one| (one.table.as_str(), &one.workload)).collect();
        tables.extend(primary.map(|primary| (primary.name.as_str(), primary)));
        let mut sweep = Vec::new();
        for (key, node) in table.entries() {
            if key == DEVICE_SCHEDULER {
                self.not_empty(key, node);
                sweep.push((key.clone(), self.schedulers(key, node)));
                continue;
            }
            // Keys without a dot are no settings but say how the runs come.
            let Some((name, setting)) = key.split_once('.') else { continue };
            let Some((_, workload)) = tables.iter().find(|(table, _)| *table == name) else {
                let (message, help) = no_table(name, &tables);
                self.report(message, Some(&node.key_origin), Some(&help));
                continue;
            };
            let names = names_of(workload);
            if !names.iter().any(|name| name == setting) {
                let help = nearest_of(setting, names.iter().map(String::as_str));
                self.report(format!("`{name}` has no setting `{setting}`"), Some(&node.key_origin), Some(&help));
                continue;
            }
            self.not_empty(key, node);
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

    pub(super) fn product_is_bounded(&mut self, what: &str, sizes: impl Iterator<Item = usize>, origin: &Origin) {
        let product = sizes.fold(1_usize, usize::saturating_mul);
        if product > MAX_PRODUCT {
            self.report(
                format!("`{what}` makes {product} runs or phases, more than {MAX_PRODUCT}"),
                Some(origin),
                None,
            );
        }
    }
}

/// The indices of the neighbours that `name` means: one copy, or all copies of a table.
fn matching(name: &str, neighbours: &[Neighbour]) -> Vec<usize> {
    let named = |one: &Neighbour| one.workload.name == name || one.table == name;
    (0..neighbours.len()).filter(|index| named(&neighbours[*index])).collect()
}

/// That a sweep cannot name `name`, which is none of `tables`, and what would be right.
fn no_table(name: &str, tables: &[(&str, &Workload)]) -> (String, String) {
    match tables.iter().find(|(_, workload)| workload.name == name) {
        Some((table, _)) => (
            format!("`{name}` is one of the copies of `{table}`, and a sweep changes all of them"),
            format!("write `\"{table}.…\"`, or a `[[neighbour]]` of its own for the one that differs"),
        ),
        None => {
            let help = nearest_of(name, tables.iter().map(|(table, _)| *table));
            (format!("no workload is called `{name}`"), help)
        }
    }
}

/// Every setting of `workload`, its isolation included.
fn names_of(workload: &Workload) -> Vec<String> {
    let mut names = setting_names(workload.settings.kind()).unwrap_or_default();
    names.extend(Setting::names());
    names
}

fn step_label(step: &StepTable) -> String {
    let sets = step.set.iter().map(|(key, value)| format!("{key} = {}", text(value)));
    let starts = step.start.iter().map(|name| format!("start {name}"));
    let stops = step.stop.iter().map(|name| format!("stop {name}"));
    let parts: Vec<String> = starts.chain(stops).chain(sets).collect();
    if parts.is_empty() { "as before".to_owned() } else { parts.join(", ") }
}

pub(super) fn script_of(neighbour: &Neighbour) -> Option<&str> {
    match &neighbour.workload.settings {
        WorkloadSettings::Io(io) => io.script.as_deref(),
        WorkloadSettings::Kv(kv) => kv.script.as_deref(),
        WorkloadSettings::Files(_) | WorkloadSettings::Replay(_) | WorkloadSettings::Command(_) => None,
    }
}

/// The phases that the timetables of `changing` make, since every change opens one: the timetables begin
/// together with `w1`, and the last phase is `last` long. The workloads lose their scripts to the plan; the
/// first `neighbours` of them start with it.
pub(super) fn scripted_steps(changing: &mut [Neighbour], neighbours: usize, last: Span, block_size: u64) -> Vec<Step> {
    let mut changes: BTreeMap<u64, Vec<Change>> = BTreeMap::from([(0, Vec::new())]);
    for (workload, one) in changing.iter_mut().enumerate() {
        for step in timetable(&mut one.workload.settings, block_size) {
            let change = |(setting, value)| Change { workload, setting, value };
            changes.entry(step.at_ns).or_default().extend(step.settings.into_iter().map(change));
        }
    }
    let times: Vec<u64> = changes.keys().copied().collect();
    let all: Vec<usize> = (0..neighbours).collect();
    let lengths = times.windows(2).map(|pair| Span(Duration::from_nanos(pair[1] - pair[0]))).chain([last]);
    let numbered = changes.into_values().zip(lengths).enumerate();
    numbered
        .map(|(number, (changes, phase))| {
            let label = |change: &Change| {
                let name = &changing[change.workload].workload.name;
                format!("{name}.{} = {}", change.setting, text(&change.value))
            };
            let labels: Vec<String> = changes.iter().map(label).collect();
            let label = if labels.is_empty() { "timetable begins".to_owned() } else { labels.join(", ") };
            Step { label, changes, start: if number == 0 { all.clone() } else { Vec::new() }, stop: Vec::new(), phase }
        })
        .collect()
}

/// The timetable of a workload, which loses it.
fn timetable(settings: &mut WorkloadSettings, block_size: u64) -> Vec<ScriptStep> {
    // Both were tried when the workload was checked.
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
        WorkloadSettings::Files(_) | WorkloadSettings::Replay(_) | WorkloadSettings::Command(_) => Vec::new(),
    }
}
