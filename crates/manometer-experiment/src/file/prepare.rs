//! The table `[prepare]`: how the device and the data are brought into a state that can be measured.

use manometer_measure::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the device and the data are brought into a state that can be measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[serde(default)]
pub struct PrepareTable {
    /// What the free space of the file system is filled with once before anything is measured, so that the flash
    /// behind it is in use.
    pub precondition: Precondition,
    /// Whether the files of `io` neighbours are rewritten once with random 4 KiB writes.
    pub rewrite_files: bool,
    /// At most how long the primary runs, unmeasured, until its throughput and its engine's levels are steady.
    pub settle: Option<Span>,
    /// Whether the primary's database, loaded and settled, is kept, and every run begins from it.
    pub snapshot: bool,
    /// The share of the device, 0 to 0.9, that holds no data.
    #[schemars(range(min = 0.0, max = 0.9))]
    pub over_provisioning: Option<f64>,
    /// Whether the power-state transitions of NVMe disks are off while measuring; restored after.
    pub power_states_off: bool,
}

/// What free space is filled with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Precondition {
    /// Nothing.
    #[default]
    None,
    /// A file, written once and then as many bytes of random 4 KiB writes.
    Random,
    /// A file, written twice in order, the second time in writes of 128 KiB: twice the capacity.
    Sequential,
}

impl Precondition {
    /// Its name, as in an experiment file.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Random => "random",
            Self::Sequential => "sequential",
        }
    }
}
