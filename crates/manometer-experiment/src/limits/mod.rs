//! The isolation of a workload and its resource limits, as an experiment file sets them.
//!
//! One file per limit: how it is written, and its value in the kernel's format. [`crate::isolate`] applies them.

mod cpu_max;
mod io_cost;
mod io_latency;
mod io_max;
mod io_priority;
mod io_weight;
mod memory_max;
mod value;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use cpu_max::CpuMax;
pub use io_cost::IoCost;
pub use io_latency::IoLatency;
pub use io_max::IoMax;
pub use io_priority::PriorityClass;
pub use io_weight::IoWeight;
pub use memory_max::MemoryMax;

/// How a workload is isolated from the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Isolation {
    /// No isolation: a plain process.
    #[default]
    None,
    /// A separate control group.
    Cgroup,
    /// A separate container, run by podman or docker.
    Container,
}

/// Resource limits of a workload, keyed by the names of the kernel's control group files.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Maximum throughput and IOPS on the device: `rbps=100MiB wbps=50MiB riops=1000 wiops=500`.
    #[serde(rename = "io.max", skip_serializing_if = "Option::is_none")]
    pub io_max: Option<IoMax>,
    /// Relative share of a saturated device, 1 to 10000. Effective with io.cost or the scheduler bfq.
    #[serde(rename = "io.weight", skip_serializing_if = "Option::is_none")]
    pub io_weight: Option<IoWeight>,
    /// Latency target that the kernel protects by throttling other groups.
    #[serde(rename = "io.latency", skip_serializing_if = "Option::is_none")]
    pub io_latency: Option<IoLatency>,
    /// Whether the kernel shares the device by a cost model of requests during the run. A setting of the device: all workloads must agree.
    #[serde(rename = "io.cost", skip_serializing_if = "Option::is_none")]
    pub io_cost: Option<IoCost>,
    /// I/O priority class of its requests, as `ionice` sets it. Needs no control group.
    #[serde(rename = "io.prio.class", skip_serializing_if = "Option::is_none")]
    pub io_prio_class: Option<PriorityClass>,
    /// Maximum CPU time per period.
    #[serde(rename = "cpu.max", skip_serializing_if = "Option::is_none")]
    pub cpu_max: Option<CpuMax>,
    /// Maximum memory, including the page cache.
    #[serde(rename = "memory.max", skip_serializing_if = "Option::is_none")]
    pub memory_max: Option<MemoryMax>,
}

impl Limits {
    /// The names of all limits.
    pub const NAMES: [&str; 7] =
        ["io.max", "io.weight", "io.latency", "io.cost", "io.prio.class", "cpu.max", "memory.max"];

    /// The limits that can change while a workload runs: those held by files of its control group.
    pub const CHANGEABLE: [&str; 5] = ["io.max", "io.weight", "io.latency", "cpu.max", "memory.max"];

    /// The limits that are set, by name.
    pub fn to_map(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(map)) => map,
            _ => Map::new(),
        }
    }

    /// The value of the limit `name`; null when it is unset.
    pub fn get(&self, name: &str) -> Value {
        self.to_map().remove(name).unwrap_or(Value::Null)
    }

    /// The same limits with `name` set to `value`; null unsets it.
    ///
    /// # Errors
    /// There is no such limit, or `value` is invalid. The text describes the accepted format.
    pub fn with(&self, name: &str, value: &Value) -> Result<Self, String> {
        let mut all = self.to_map();
        all.insert(name.to_owned(), value.clone());
        serde_json::from_value(Value::Object(all)).map_err(|error| error.to_string())
    }

    /// The names of the limits that are set.
    pub fn names_set(&self) -> impl Iterator<Item = &'static str> {
        let all = self.to_map();
        Self::NAMES.into_iter().filter(move |name| all.contains_key(*name))
    }

    /// The names of the limits that are set and need a control group.
    pub fn group_limits(&self) -> impl Iterator<Item = &'static str> {
        self.names_set().filter(|name| *name != "io.prio.class")
    }
}

/// A setting of a workload's isolation, by its key in the experiment file.
pub(crate) enum IsolationSetting<'a> {
    /// `isolation`.
    Isolation,
    /// `limits.NAME`.
    Limit(&'a str),
}

impl<'a> IsolationSetting<'a> {
    /// Parses a key; nothing for a setting of the workload itself.
    pub(crate) fn parse(key: &'a str) -> Option<Self> {
        match key.strip_prefix("limits.") {
            Some(limit) => Some(Self::Limit(limit)),
            None => (key == "isolation").then_some(Self::Isolation),
        }
    }

    /// All keys.
    pub(crate) fn keys() -> impl Iterator<Item = String> {
        let limits = Limits::NAMES.iter().map(|name| format!("limits.{name}"));
        std::iter::once("isolation".to_owned()).chain(limits)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn limits_are_read_and_changed_by_the_kernels_names() {
        let limits: Limits = serde_json::from_value(json!({ "io.max": "rbps=1MiB", "io.weight": 50 })).unwrap();
        assert_eq!(limits.get("io.max"), "rbps=1MiB");
        assert_eq!(limits.get("io.weight"), 50);
        assert_eq!(limits.get("cpu.max"), Value::Null);
        let changed = limits.with("memory.max", &json!(4096)).unwrap().with("io.max", &Value::Null).unwrap();
        assert_eq!(changed.names_set().collect::<Vec<_>>(), ["io.weight", "memory.max"]);
    }

    #[test]
    fn the_lists_of_names_match_the_table() {
        let schema = schemars::schema_for!(Limits).to_value();
        let names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(names.len(), Limits::NAMES.len());
        assert!(Limits::NAMES.iter().chain(&Limits::CHANGEABLE).all(|name| names.iter().any(|one| one == name)));
    }

    #[test]
    fn an_invalid_limit_is_rejected_with_the_accepted_format() {
        let error = Limits::default().with("io.max", &json!("fast")).unwrap_err();
        assert!(error.contains("\"fast\"") && error.contains("rbps=100MiB"), "{error}");
        let error = Limits::default().with("io.max", &json!(true)).unwrap_err();
        assert!(error.contains("rbps=100MiB"), "{error}");
        assert!(Limits::default().with("io.speed", &json!(1)).unwrap_err().contains("io.speed"));
    }
}
