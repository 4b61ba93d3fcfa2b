//! An experiment that can run: what a file means once it is read and checked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use manometer_measure::event::{Finding, Severity};
use manometer_measure::plan::Criterion;
use manometer_measure::{ByteSize, Span};
use manometer_workload::kv::{EngineOptions, RateForm};
use manometer_workload::settings::WorkloadSettings;
use serde_json::{Map, Value, json};

use super::isolation::DEVICE_SCHEDULER;
use super::prepare::PrepareTable;
use super::sweep::{PhaseStop, SweepRules};
use crate::fit::Fit;
use crate::isolate::{Isolation, Limits, Setting};

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
    /// The most bytes that may ever be written to the device from there.
    pub write_budget: Option<ByteSize>,
    /// How the device and the data are prepared.
    pub prepare: PrepareTable,
    /// The device's I/O scheduler while the run lasts; the one it has where none is said.
    pub scheduler: Option<String>,
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
    /// In which order the runs of the sweep come, and how often.
    pub rules: SweepRules,
    /// What a sweep has set for this run; empty before [`Experiment::combinations`] and without a sweep.
    pub swept: Map<String, Value>,
    /// Whether this run is the reference of a sweep.
    pub reference: bool,
    /// By how much its data were shrunk to fit the disk, where they were.
    pub shrunk_by: Option<Fit>,
    /// What a reader of its recording must know, as far as it is known before it runs.
    pub known: Vec<Finding>,
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
    /// How it is parted from the others.
    pub isolation: Isolation,
    /// What it may use.
    pub limits: Limits,
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
#[derive(Debug, Clone, Copy, PartialEq)]
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
    /// Whether the primary runs alone once more at the end.
    pub closing: bool,
    /// Until when a phase is prolonged, where it is.
    pub stop: Option<PhaseStop>,
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

/// A changed setting of one workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Which workload, as [`Experiment::changing`] counts them.
    pub workload: usize,
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
    pub changes: Vec<Change>,
    /// Who begins.
    pub start: Vec<usize>,
    /// Who pauses.
    pub stop: Vec<usize>,
    /// How long it is measured.
    pub phase: Span,
}

impl Experiment {
    /// Every workload whose settings phases may change, at the index by which changes name it: the neighbours, and
    /// behind them the primary.
    pub fn changing(&self) -> impl Iterator<Item = &Workload> {
        self.neighbours.iter().map(|one| &one.workload).chain(self.primary.iter())
    }

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
        toml_of(&self.resolved)
    }

    /// What makes it another experiment where it differs, as TOML.
    pub(crate) fn identity(&self) -> String {
        toml_of(&without_budget(&self.resolved))
    }

    /// The experiment itself, without its sweep.
    pub fn without_sweep(&self) -> Experiment {
        let mut alone = Experiment { sweep: Vec::new(), ..self.clone() };
        if let Some(root) = alone.resolved.as_object_mut() {
            root.remove("sweep");
        }
        alone
    }

    /// One experiment for each combination of the sweep's values, the last key changing fastest; without
    /// a sweep, the experiment itself. Combinations that differ in limits alone that do not hold are one.
    pub fn combinations(&self) -> Vec<Experiment> {
        let mut runs = vec![self.without_sweep()];
        for (key, values) in &self.sweep {
            let with_values = |run: &Experiment| values.iter().map(|value| run.with_swept(key, value)).collect();
            runs = runs.iter().flat_map::<Vec<Experiment>, _>(with_values).collect();
        }
        let mut seen = BTreeSet::new();
        let runs = runs.into_iter().map(|run| (run.swept.len(), run.without_idle_limits()));
        let first = runs.filter(|(keys, run)| run.swept.len() == *keys || seen.insert(settings_text(&run.swept)));
        first.map(|(_, run)| run).collect()
    }

    /// The same run, where the sweep takes a workload's control group away without the limits that need it.
    fn without_idle_limits(mut self) -> Self {
        let neighbours = self.neighbours.iter().map(|one| (one.table.clone(), &one.workload));
        let tables = self.primary.iter().map(|primary| (primary.name.clone(), primary)).chain(neighbours);
        let alone = tables.filter(|(table, workload)| {
            workload.isolation == Isolation::None && self.swept.contains_key(&format!("{table}.isolation"))
        });
        let idle: BTreeMap<String, Vec<&str>> =
            alone.map(|(table, workload)| (table, workload.limits.of_group().collect())).collect();
        for (table, limits) in idle.into_iter().filter(|(_, limits)| !limits.is_empty()) {
            limits.iter().for_each(|limit| self.take_limit(&table, limit));
            let text = format!(
                "`{table}` has no control group in this run, as the sweep says: its limits ({}) do not hold.",
                limits.join(", ")
            );
            self.known.push(Finding { id: "limits-left-out".to_owned(), severity: Severity::Info, phase: None, text });
        }
        self
    }

    /// Takes `limit` away from the workloads of the table `name`.
    fn take_limit(&mut self, name: &str, limit: &str) {
        self.swept.shift_remove(&format!("{name}.limits.{limit}"));
        for workload in self.of_table_mut(name) {
            if let Ok(limits) = workload.limits.with(limit, &Value::Null) {
                workload.limits = limits;
            }
        }
        for table in tables_of(&mut self.resolved, name) {
            if let Some(limits) = table.get_mut("limits").and_then(Value::as_object_mut) {
                limits.shift_remove(limit);
            }
        }
    }

    /// The workloads of the table `name`.
    fn of_table_mut(&mut self, name: &str) -> impl Iterator<Item = &mut Workload> {
        let primary = self.primary.iter_mut().filter(move |primary| primary.name == name);
        let copies = self.neighbours.iter_mut().filter(move |one| one.table == name).map(|one| &mut one.workload);
        primary.chain(copies)
    }

    /// The same experiment with the paths in its resolved whole made absolute, so that the whole means the
    /// same wherever it lies.
    pub(crate) fn with_absolute_paths(mut self) -> Self {
        let neighbours = self.neighbours.iter().map(|one| (one.table.clone(), one.workload.settings.clone()));
        let primary = self.primary.iter().map(|primary| (primary.name.clone(), primary.settings.clone()));
        for (table, settings) in primary.chain(neighbours) {
            if let WorkloadSettings::Replay(replay) = &settings {
                set_in_table(&mut self.resolved, &table, "trace", &settings.get("trace"));
                if matches!(replay.options, Some(EngineOptions::File(_))) {
                    set_in_table(&mut self.resolved, &table, "options", &settings.get("options"));
                }
            }
            if matches!(&settings, WorkloadSettings::Io(io) if io.recorded.trace.is_some()) {
                set_in_table(&mut self.resolved, &table, "trace", &settings.get("trace"));
            }
            let WorkloadSettings::Kv(kv) = &settings else { continue };
            if matches!(kv.options, Some(EngineOptions::File(_))) {
                set_in_table(&mut self.resolved, &table, "options", &settings.get("options"));
            }
            if matches!(kv.rate, Some(RateForm::Table { .. })) {
                set_in_table(&mut self.resolved, &table, "rate", &settings.get("rate"));
            }
            if Path::new(&kv.workload).is_absolute() {
                set_in_table(&mut self.resolved, &table, "workload", &settings.get("workload"));
            }
            if !kv.properties_files.is_empty() {
                set_in_table(&mut self.resolved, &table, "properties_files", &settings.get("properties_files"));
            }
        }
        self
    }

    /// Whether the data of `workload` may shrink to fit the disk.
    fn may_shrink(&self, workload: &Workload) -> bool {
        self.fit || workload.settings.scales_to_disk()
    }

    /// Whether any data may shrink to fit the disk.
    pub(crate) fn scales_to_disk(&self) -> bool {
        self.fit || self.workloads().any(|workload| self.may_shrink(workload))
    }

    /// The bytes of the data that are as large as they are.
    pub(crate) fn fixed_bytes(&self) -> u64 {
        let fixed = self.workloads().filter(|workload| !self.may_shrink(workload));
        fixed.map(|workload| workload.settings.bytes_to_prepare()).sum()
    }

    /// The same experiment with the data that may shrink shrunk to the share `factor`.
    pub(crate) fn shrunk(mut self, factor: f64) -> Self {
        let all = self.fit;
        let neighbours = self.neighbours.iter_mut().map(|one| (one.table.clone(), &mut one.workload));
        let primary = self.primary.iter_mut().map(|primary| (primary.name.clone(), primary));
        let chosen = primary.chain(neighbours).filter(|(_, one)| all || one.settings.scales_to_disk());
        for (table, workload) in chosen {
            workload.settings = workload.settings.shrunk(factor);
            let setting = match &workload.settings {
                WorkloadSettings::Io(_) => "file_size",
                WorkloadSettings::Files(files) => files.scaling(),
                WorkloadSettings::Kv(_) => "records",
                WorkloadSettings::Replay(_) | WorkloadSettings::Command(_) => continue,
            };
            let value = workload.settings.get(setting);
            set_in_table(&mut self.resolved, &table, setting, &value);
        }
        self
    }

    fn with_swept(&self, key: &str, value: &Value) -> Self {
        let mut swept = self.clone();
        swept.swept.insert(key.to_owned(), value.clone());
        let (name, setting) = key.split_once('.').unwrap_or((key, ""));
        for workload in swept.of_table_mut(name) {
            if let Ok(with) = workload.with(setting, value) {
                *workload = with;
            }
        }
        if key == DEVICE_SCHEDULER {
            swept.scheduler = value.as_str().map(str::to_owned);
        }
        match (key == DEVICE_SCHEDULER, Setting::of(setting)) {
            (true, _) => swept.resolved["device"]["scheduler"] = value.clone(),
            (false, Some(Setting::Limit(limit))) => set_limit_in_table(&mut swept.resolved, name, limit, value),
            (false, _) => set_in_table(&mut swept.resolved, name, setting, value),
        }
        swept
    }
}

fn toml_of(resolved: &Value) -> String {
    toml::to_string_pretty(resolved).unwrap_or_else(|_| resolved.to_string())
}

/// A resolved file without `device.write_budget`, which says when to stop and not what is measured: it may be raised
/// on the way.
pub(crate) fn without_budget(resolved: &Value) -> Value {
    let mut without = resolved.clone();
    if let Some(device) = without.get_mut("device").and_then(Value::as_object_mut) {
        device.shift_remove("write_budget");
    }
    without
}

/// Settings as people write them: `key = value, key = value`.
pub fn settings_text(settings: &Map<String, Value>) -> String {
    settings.iter().map(|(key, value)| format!("{key} = {}", text(value))).collect::<Vec<_>>().join(", ")
}

/// Puts a setting into the table of the workload `name` of a resolved file.
fn set_in_table(resolved: &mut Value, name: &str, setting: &str, value: &Value) {
    for table in tables_of(resolved, name) {
        table.insert(setting.to_owned(), value.clone());
    }
}

/// Puts a limit into the limits of the workload `name` of a resolved file.
fn set_limit_in_table(resolved: &mut Value, name: &str, limit: &str, value: &Value) {
    for table in tables_of(resolved, name) {
        let limits = table.entry("limits").or_insert_with(|| json!({}));
        limits[limit] = value.clone();
    }
}

/// The tables of the workload `name` in a resolved file.
fn tables_of<'a>(resolved: &'a mut Value, name: &str) -> Vec<&'a mut Map<String, Value>> {
    let tables = resolved.as_object_mut().into_iter().flatten().flat_map(|(key, value)| match (key.as_str(), value) {
        ("primary", table) => vec![table],
        ("neighbour", Value::Array(tables)) => tables.iter_mut().collect(),
        _ => Vec::new(),
    });
    let named = |table: &&mut Value| table.get("name").and_then(Value::as_str).unwrap_or("primary") == name;
    tables.filter(named).filter_map(Value::as_object_mut).collect()
}

/// A value as people write it in a label: text without its quotes.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
