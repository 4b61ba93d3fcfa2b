//! The settings of a workload and of its isolation, by the keys of the experiment file.

use manometer_measure::plan::{Phase, Settings};
use manometer_session::group::check_clients;
use manometer_session::protocol::ClientGroup;
use manometer_workload::settings::WorkloadSettings;
use serde_json::{Value, json};

use crate::limits::{Isolation, IsolationSetting, Limits};

/// The setting that holds the number of clients.
pub(crate) const CLIENTS: &str = "clients";

/// A workload: its name, settings and isolation.
#[derive(Debug, Clone, PartialEq)]
pub struct ExperimentWorkload {
    /// Its name in the recording.
    pub name: String,
    /// What it does.
    pub settings: WorkloadSettings,
    /// How it is isolated from the others.
    pub isolation: Isolation,
    /// Its resource limits.
    pub limits: Limits,
    /// The clients that share it; one worker without.
    pub clients: Option<ClientGroup>,
}

impl ExperimentWorkload {
    /// A workload without isolation and limits.
    pub(crate) fn new(name: String, settings: WorkloadSettings) -> Self {
        Self { name, settings, isolation: Isolation::None, limits: Limits::default(), clients: None }
    }

    /// The value of the setting `name`; null when it is unset.
    pub fn get(&self, name: &str) -> Value {
        if name == CLIENTS {
            return json!(self.clients.as_ref().map(|clients| clients.count));
        }
        match IsolationSetting::parse(name) {
            Some(IsolationSetting::Isolation) => json!(self.isolation),
            Some(IsolationSetting::Limit(limit)) => self.limits.get(limit),
            None => self.settings.get(name),
        }
    }

    /// The same workload with the setting `name` set to `value`.
    ///
    /// # Errors
    /// `value` has a type or a unit that the setting does not accept; the text names those it does.
    pub fn with(&self, name: &str, value: &Value) -> Result<Self, String> {
        let same = self.clone();
        if name == CLIENTS {
            let count = serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
            return Ok(Self {
                clients: Some(ClientGroup { count, ..self.clients.clone().unwrap_or_default() }),
                ..same
            });
        }
        Ok(match IsolationSetting::parse(name) {
            Some(IsolationSetting::Isolation) => {
                let isolation = serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
                Self { isolation, ..same }
            }
            Some(IsolationSetting::Limit(limit)) => Self { limits: self.limits.with(limit, value)?, ..same },
            None => Self { settings: self.settings.with(name, value)?, ..same },
        })
    }

    /// The same workload with all of `settings`.
    ///
    /// # Errors
    /// As of [`ExperimentWorkload::with`].
    pub(crate) fn with_all(&self, settings: &Settings) -> Result<Self, String> {
        settings.iter().try_fold(self.clone(), |workload, (name, value)| workload.with(name, value))
    }

    /// The same workload with the settings that `phase` gives it.
    ///
    /// # Errors
    /// As of [`ExperimentWorkload::with`].
    pub(crate) fn in_phase(&self, phase: &Phase) -> Result<Self, String> {
        self.with_all(&self.settings_in(phase))
    }

    /// The settings that `phase` gives this workload, by their own names.
    pub(crate) fn settings_in(&self, phase: &Phase) -> Settings {
        let own = |key: &str| Some(key.strip_prefix(&self.name)?.strip_prefix('.')?.to_owned());
        phase.settings.iter().filter_map(|(key, value)| Some((own(key)?, value.clone()))).collect()
    }

    /// The settings that can change while the workload runs.
    pub fn changeable(&self) -> Vec<String> {
        let own = self.settings.changeable().into_iter().map(str::to_owned);
        own.chain(Limits::CHANGEABLE.iter().map(|name| format!("limits.{name}"))).collect()
    }

    /// Checks ranges and combinations of settings, for a file system with blocks of `block_size_bytes`.
    ///
    /// # Errors
    /// The invalid setting, and a text that says what is wrong with it and what would be right.
    pub fn validate(&self, block_size_bytes: u64) -> Result<(), (String, String)> {
        self.settings.validate(block_size_bytes)?;
        self.clients.as_ref().map_or(Ok(()), |clients| check_clients(clients, &self.settings))?;
        let group_limit = self.limits.group_limits().next();
        match group_limit.filter(|_| self.isolation == Isolation::None) {
            Some(name) => Err((
                "limits".to_owned(),
                format!("`{name}` is a limit of a control group: add `isolation = \"cgroup\"`"),
            )),
            None => Ok(()),
        }
    }
}
