//! What a workload may use, and how it is parted from the others: the words of an experiment file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{CpuMax, IoCost, IoLatency, IoMax, IoWeight, MemoryMax, PriorityClass};

/// How a workload is parted from the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Isolation {
    /// A process among all others.
    #[default]
    None,
    /// A control group of its own.
    Cgroup,
    /// A container of podman or docker.
    Container,
}

/// What a workload may use; every key by the name of the kernel's file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// How much it may ask of the device: `rbps=100MiB wbps=50MiB riops=1000 wiops=500`.
    #[serde(rename = "io.max", skip_serializing_if = "Option::is_none")]
    pub io_max: Option<IoMax>,
    /// Its share of a busy device, where io.cost or the scheduler bfq shares it.
    #[serde(rename = "io.weight", skip_serializing_if = "Option::is_none")]
    pub io_weight: Option<IoWeight>,
    /// The latency that the kernel is to keep for it.
    #[serde(rename = "io.latency", skip_serializing_if = "Option::is_none")]
    pub io_latency: Option<IoLatency>,
    /// Whether the device is shared by what requests cost, while the run lasts.
    #[serde(rename = "io.cost", skip_serializing_if = "Option::is_none")]
    pub io_cost: Option<IoCost>,
    /// The priority of its requests; needs no group.
    #[serde(rename = "io.prio.class", skip_serializing_if = "Option::is_none")]
    pub io_prio_class: Option<PriorityClass>,
    /// Its processor time.
    #[serde(rename = "cpu.max", skip_serializing_if = "Option::is_none")]
    pub cpu_max: Option<CpuMax>,
    /// Its memory, page cache included.
    #[serde(rename = "memory.max", skip_serializing_if = "Option::is_none")]
    pub memory_max: Option<MemoryMax>,
}

impl Limits {
    /// Every limit.
    pub const NAMES: [&str; 7] =
        ["io.max", "io.weight", "io.latency", "io.cost", "io.prio.class", "cpu.max", "memory.max"];

    /// Those that can be changed while a workload runs: files of its group.
    pub const CHANGEABLE: [&str; 5] = ["io.max", "io.weight", "io.latency", "cpu.max", "memory.max"];

    /// The limits by name, those that are set.
    pub fn to_map(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(map)) => map,
            _ => Map::new(),
        }
    }

    /// The limit `name` as it is; null when it is unset.
    pub fn get(&self, name: &str) -> Value {
        self.to_map().remove(name).unwrap_or(Value::Null)
    }

    /// The same with the limit `name` at `value`; null takes it away.
    ///
    /// # Errors
    /// There is no such limit, or it does not take `value`; the text says what would be right.
    pub fn with(&self, name: &str, value: &Value) -> Result<Self, String> {
        let mut all = self.to_map();
        all.insert(name.to_owned(), value.clone());
        serde_json::from_value(Value::Object(all)).map_err(|error| error.to_string())
    }

    /// The names of those that are set.
    pub fn set(&self) -> impl Iterator<Item = &'static str> {
        let all = self.to_map();
        Self::NAMES.into_iter().filter(move |name| all.contains_key(*name))
    }

    /// The names of those that are set and hold in a control group only.
    pub fn of_group(&self) -> impl Iterator<Item = &'static str> {
        self.set().filter(|name| *name != "io.prio.class")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn limits_are_read_written_and_changed_by_the_kernels_names() {
        let limits: Limits = serde_json::from_value(json!({ "io.max": "rbps=1MiB", "io.weight": 50 })).unwrap();
        assert_eq!(limits.get("io.max"), "rbps=1MiB");
        assert_eq!(limits.get("io.weight"), 50);
        assert_eq!(limits.get("cpu.max"), Value::Null);
        let changed = limits.with("memory.max", &json!(4096)).unwrap().with("io.max", &Value::Null).unwrap();
        assert_eq!(changed.set().collect::<Vec<_>>(), ["io.weight", "memory.max"]);
    }

    #[test]
    fn every_name_is_one_of_the_tables() {
        let schema = schemars::schema_for!(Limits).to_value();
        let names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(names.len(), Limits::NAMES.len());
        assert!(Limits::NAMES.iter().chain(&Limits::CHANGEABLE).all(|name| names.iter().any(|one| one == name)));
    }

    #[test]
    fn what_is_wrong_is_told_with_what_would_be_right() {
        let error = Limits::default().with("io.max", &json!("fast")).unwrap_err();
        assert!(error.contains("\"fast\"") && error.contains("rbps=100MiB"), "{error}");
        let error = Limits::default().with("io.max", &json!(true)).unwrap_err();
        assert!(error.contains("rbps=100MiB"), "{error}");
        assert!(Limits::default().with("io.speed", &json!(1)).unwrap_err().contains("io.speed"));
    }
}
