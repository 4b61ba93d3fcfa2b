//! A workload's settings with those of its isolation beside them, all by the keys of the experiment file.

use manometer_workload::settings::WorkloadSettings;
use serde_json::{Value, json};

use super::experiment::Workload;
use crate::isolate::{Isolation, Limits, Setting, read_isolation};

/// The key by which a sweep changes the device's scheduler.
pub(crate) const DEVICE_SCHEDULER: &str = "device.scheduler";

impl Workload {
    /// A process among all others, without limits.
    pub(crate) fn new(name: String, settings: WorkloadSettings) -> Self {
        Self { name, settings, isolation: Isolation::None, limits: Limits::default() }
    }

    /// The setting `name` as it is; null when it is unset.
    pub fn get(&self, name: &str) -> Value {
        match Setting::of(name) {
            Some(Setting::Isolation) => json!(self.isolation),
            Some(Setting::Limit(limit)) => self.limits.get(limit),
            None => self.settings.get(name),
        }
    }

    /// The same workload with the setting `name` at `value`.
    ///
    /// # Errors
    /// `value` is of no type or unit that the setting takes; the text says which.
    pub fn with(&self, name: &str, value: &Value) -> Result<Self, String> {
        let same = self.clone();
        Ok(match Setting::of(name) {
            Some(Setting::Isolation) => Self { isolation: read_isolation(value)?, ..same },
            Some(Setting::Limit(limit)) => Self { limits: self.limits.with(limit, value)?, ..same },
            None => Self { settings: self.settings.with(name, value)?, ..same },
        })
    }

    /// The settings that can change while the workload runs.
    pub fn changeable(&self) -> Vec<String> {
        let own = self.settings.changeable().into_iter().map(str::to_owned);
        own.chain(Limits::CHANGEABLE.iter().map(|name| format!("limits.{name}"))).collect()
    }

    /// Checks ranges and combinations against a file system with blocks of `block_size_bytes`.
    ///
    /// # Errors
    /// The setting that is wrong, and what is wrong with it and would be right.
    pub fn validate(&self, block_size_bytes: u64) -> Result<(), (String, String)> {
        self.settings.validate(block_size_bytes)?;
        let needs_group = self.limits.of_group().next();
        match needs_group.filter(|_| self.isolation == Isolation::None) {
            Some(name) => Err((
                "limits".to_owned(),
                format!("`{name}` is a limit of a control group: add `isolation = \"cgroup\"`"),
            )),
            None => Ok(()),
        }
    }
}
