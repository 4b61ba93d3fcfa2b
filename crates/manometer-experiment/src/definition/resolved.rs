//! The resolved file of an experiment, as a tree: what `experiment.toml` of a recording holds.

use std::path::Path;

use manometer_target::engine::EngineOptions;
use manometer_workload::kv::RateForm;
use manometer_workload::settings::WorkloadSettings;
use serde_json::{Map, Value, json};

use super::Experiment;

impl Experiment {
    /// The same experiment with absolute paths in its resolved file, so that the file can be moved.
    pub(crate) fn with_absolute_paths(mut self) -> Self {
        let tables = self.workloads_by_table().map(|(table, workload)| (table.to_owned(), workload.settings.clone()));
        for (table, settings) in tables.collect::<Vec<_>>() {
            for setting in path_settings(&settings) {
                set_in_table(&mut self.resolved, &table, setting, &settings.get(setting));
            }
        }
        if let Some(array) = &self.array {
            self.resolved["array"] = json!(array);
        }
        self
    }
}

/// The settings that hold paths.
fn path_settings(settings: &WorkloadSettings) -> Vec<&'static str> {
    let is_file = |options: &Option<EngineOptions>| matches!(options, Some(EngineOptions::File(_)));
    let all = match settings {
        WorkloadSettings::Replay(replay) => vec![("trace", true), ("options", is_file(&replay.options))],
        WorkloadSettings::Io(io) => vec![("trace", io.replay.trace.is_some())],
        WorkloadSettings::Kv(kv) => vec![
            ("options", is_file(&kv.options)),
            ("rate", matches!(kv.rate, Some(RateForm::Table { .. }))),
            ("workload", Path::new(&kv.workload).is_absolute()),
            ("properties_files", !kv.properties_files.is_empty()),
        ],
        WorkloadSettings::Files(_) | WorkloadSettings::Paths(_) | WorkloadSettings::Command(_) => Vec::new(),
    };
    all.into_iter().filter(|(_, holds_path)| *holds_path).map(|(setting, _)| setting).collect()
}

/// A resolved file as TOML.
pub(super) fn to_toml(resolved: &Value) -> String {
    toml::to_string_pretty(resolved).unwrap_or_else(|_| resolved.to_string())
}

/// A resolved file without `device.write_budget`, which limits what is written and does not change what is measured: it
/// may be raised before a set is resumed.
pub(crate) fn without_write_budget(resolved: &Value) -> Value {
    let mut without = resolved.clone();
    if let Some(device) = without.get_mut("device").and_then(Value::as_object_mut) {
        device.shift_remove("write_budget");
    }
    without
}

/// Sets a setting in the tables of the workload `name`.
pub(super) fn set_in_table(resolved: &mut Value, name: &str, setting: &str, value: &Value) {
    for table in tables_of(resolved, name) {
        table.insert(setting.to_owned(), value.clone());
    }
}

/// Sets a limit in the tables of the workload `name`.
pub(super) fn set_limit_in_table(resolved: &mut Value, name: &str, limit: &str, value: &Value) {
    for table in tables_of(resolved, name) {
        let limits = table.entry("limits").or_insert_with(|| json!({}));
        limits[limit] = value.clone();
    }
}

/// Removes a limit from the tables of the workload `name`.
pub(super) fn remove_limit_in_table(resolved: &mut Value, name: &str, limit: &str) {
    for table in tables_of(resolved, name) {
        if let Some(limits) = table.get_mut("limits").and_then(Value::as_object_mut) {
            limits.shift_remove(limit);
        }
    }
}

/// The tables of the workload `name`.
fn tables_of<'a>(resolved: &'a mut Value, name: &str) -> Vec<&'a mut Map<String, Value>> {
    let tables = resolved.as_object_mut().into_iter().flatten().flat_map(|(key, value)| match (key.as_str(), value) {
        ("primary", table) => vec![table],
        ("neighbour", Value::Array(tables)) => tables.iter_mut().collect(),
        _ => Vec::new(),
    });
    let has_name = |table: &&mut Value| table.get("name").and_then(Value::as_str).unwrap_or("primary") == name;
    tables.filter(has_name).filter_map(Value::as_object_mut).collect()
}
