//! A sweep, resolved into one experiment for each combination of its values.

use std::collections::{BTreeMap, BTreeSet};

use manometer_measure::event::{Finding, Severity};
use serde::Deserialize as _;
use serde_json::Value;

use super::resolved::{remove_limit_in_table, set_in_table, set_limit_in_table};
use super::{ARRANGEMENT_KEY, DEVICE_SWEEP_KEYS, Experiment, ExperimentWorkload, FileSystem, format_settings};
use crate::limits::{Isolation, IsolationSetting};

impl Experiment {
    /// The experiment without its sweep.
    pub fn without_sweep(&self) -> Experiment {
        let mut alone = Experiment { sweep: Vec::new(), ..self.clone() };
        if let Some(root) = alone.resolved.as_object_mut() {
            root.remove("sweep");
        }
        alone
    }

    /// One experiment for each combination of the sweep's values, the last key changing fastest; without a sweep, the
    /// experiment itself. Combinations that differ only in limits without effect are one.
    pub fn combinations(&self) -> Vec<Experiment> {
        let mut runs = vec![self.without_sweep()];
        for (key, values) in &self.sweep {
            let with_values = |run: &Experiment| values.iter().map(|value| run.with_swept(key, value)).collect();
            runs = runs.iter().flat_map::<Vec<Experiment>, _>(with_values).collect();
        }
        let mut seen = BTreeSet::new();
        let runs = runs.into_iter().map(|run| (run.swept.len(), run.without_idle_limits()));
        let first = runs.filter(|(keys, run)| run.swept.len() == *keys || seen.insert(format_settings(&run.swept)));
        first.map(|(_, run)| run).collect()
    }

    fn with_swept(&self, key: &str, value: &Value) -> Self {
        let mut swept = self.clone();
        swept.swept.insert(key.to_owned(), value.clone());
        let (name, setting) = key.split_once('.').unwrap_or((key, ""));
        for workload in swept.workloads_of_table_mut(name) {
            if let Ok(with) = workload.with(setting, value) {
                *workload = with;
            }
        }
        let is_of_device = DEVICE_SWEEP_KEYS.contains(&key);
        if is_of_device {
            swept.set_of_device(key, value);
        }
        match (is_of_device, IsolationSetting::parse(setting)) {
            (true, _) => swept.resolved[name][setting] = value.clone(),
            (false, Some(IsolationSetting::Limit(limit))) => {
                set_limit_in_table(&mut swept.resolved, name, limit, value);
            }
            (false, _) => set_in_table(&mut swept.resolved, name, setting, value),
        }
        swept
    }

    fn set_of_device(&mut self, key: &str, value: &Value) {
        let field = match (key, &mut self.array) {
            ("device.scheduler", _) => &mut self.scheduler,
            ("device.name", _) => &mut self.device_name,
            ("device.kernel", _) => &mut self.kernel,
            (ARRANGEMENT_KEY, Some(array)) => {
                array.arrangement = value.as_str().unwrap_or_default().into();
                return;
            }
            (_, Some(array)) => {
                array.file_system = FileSystem::deserialize(value).unwrap_or_default();
                return;
            }
            (_, None) => return,
        };
        *field = value.as_str().map(str::to_owned);
    }

    /// The same run without the limits that need a control group, of workloads from which the sweep takes theirs.
    fn without_idle_limits(mut self) -> Self {
        let ungrouped = self.workloads_by_table().filter(|(table, workload)| {
            workload.isolation == Isolation::None && self.swept.contains_key(&format!("{table}.isolation"))
        });
        let idle: BTreeMap<String, Vec<&str>> =
            ungrouped.map(|(table, workload)| (table.to_owned(), workload.limits.group_limits().collect())).collect();
        for (table, limits) in idle.into_iter().filter(|(_, limits)| !limits.is_empty()) {
            limits.iter().for_each(|limit| self.remove_limit(&table, limit));
            let text = format!(
                "`{table}` has no control group in this run of the sweep: its limits ({}) are not applied.",
                limits.join(", ")
            );
            self.findings.push(Finding::new("limits-left-out", Severity::Info, text));
        }
        self
    }

    /// Removes `limit` from the workloads of the table `name`.
    fn remove_limit(&mut self, name: &str, limit: &str) {
        self.swept.shift_remove(&format!("{name}.limits.{limit}"));
        for workload in self.workloads_of_table_mut(name) {
            if let Ok(limits) = workload.limits.with(limit, &Value::Null) {
                workload.limits = limits;
            }
        }
        remove_limit_in_table(&mut self.resolved, name, limit);
    }

    /// The workloads of the table `name`.
    fn workloads_of_table_mut(&mut self, name: &str) -> impl Iterator<Item = &mut ExperimentWorkload> {
        let primary = self.primary.iter_mut().filter(move |primary| primary.name == name);
        let instances = self.neighbours.iter_mut().filter(move |one| one.table == name).map(|one| &mut one.workload);
        primary.chain(instances)
    }
}
