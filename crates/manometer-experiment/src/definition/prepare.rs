//! How the device and the data are prepared before a run.

use manometer_measure::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Preparation of the device and the data before anything is measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[serde(default)]
pub struct PrepareSettings {
    /// How the free space of the file system is filled once before the first run, so that the flash behind it is in use.
    pub precondition: Precondition,
    /// Rewrite the files of `io` neighbours once with random 4 KiB writes.
    pub rewrite_files: bool,
    /// Maximum time that the primary runs, unmeasured, until its throughput and the levels of its engine are steady.
    pub settle: Option<Span>,
    /// Keep the loaded and settled database of the primary as a snapshot, and start every run from it.
    pub snapshot: bool,
    /// Share of the device, 0 to 0.9, that is kept free of data.
    #[schemars(range(min = 0.0, max = 0.9))]
    pub over_provisioning: Option<f64>,
    /// Disable the power-state transitions (APST) of NVMe disks while measuring. They are restored afterwards.
    pub power_states_off: bool,
}

/// How free space is filled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Precondition {
    /// Not filled.
    #[default]
    None,
    /// Written once sequentially, then with as many bytes of random 4 KiB writes.
    Random,
    /// Written twice sequentially, the second time in 128 KiB writes: twice the capacity.
    Sequential,
}

impl Precondition {
    /// Its name in an experiment file.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Random => "random",
            Self::Sequential => "sequential",
        }
    }
}
