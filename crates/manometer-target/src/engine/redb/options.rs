//! redb's options, and the durability of a put with them.

use manometer_measure::units::ByteSize;
use serde_json::{Value, json};

use super::ENGINE;
use crate::engine::options::{RawOptions, word};
use crate::engine::{EngineError, EngineOption, EngineOptions};

/// Its options, in the order of the manual.
pub(super) const OPTIONS: &[EngineOption] = &[
    EngineOption { name: "cache_size", values: "bytes", default: "1 GiB" },
    EngineOption { name: "durability", values: "`immediate`, `none`", default: "`immediate`" },
    EngineOption { name: "two_phase_commit", values: "`true`, `false`", default: "`false`" },
    EngineOption { name: "quick_repair", values: "`true`, `false`; commits in two phases too", default: "`false`" },
    EngineOption {
        name: "check_integrity_on_open",
        values: "`true`, `false`; reads the whole file",
        default: "`false`",
    },
];

/// redb's default, which it does not report, in bytes.
const CACHE_BYTES: u64 = 1 << 30;

/// The durability with redb's defaults.
pub(super) const IMMEDIATE: &str = "one transaction per put, synced: a put survives the host";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DurabilityLevel {
    Immediate,
    None,
}

const DURABILITY_LEVELS: [(&str, DurabilityLevel); 2] =
    [("immediate", DurabilityLevel::Immediate), ("none", DurabilityLevel::None)];

/// The options in force.
#[derive(Debug)]
pub(super) struct Config {
    pub(super) cache_size: usize,
    pub(super) durability: DurabilityLevel,
    pub(super) two_phase_commit: bool,
    pub(super) quick_repair: bool,
    pub(super) check_integrity_on_open: bool,
}

impl Config {
    pub(super) fn read(options: &EngineOptions) -> Result<Self, EngineError> {
        let given = RawOptions::read(ENGINE, OPTIONS, options)?;
        let cache = given.bytes("cache_size", (0, 1 << 50))?.unwrap_or(CACHE_BYTES);
        Ok(Self {
            cache_size: usize::try_from(cache).map_err(|error| given.refuse("cache_size", error))?,
            durability: given.choice("durability", &DURABILITY_LEVELS)?.unwrap_or(DurabilityLevel::Immediate),
            two_phase_commit: given.flag("two_phase_commit")?.unwrap_or(false),
            quick_repair: given.flag("quick_repair")?.unwrap_or(false),
            check_integrity_on_open: given.flag("check_integrity_on_open")?.unwrap_or(false),
        })
    }

    pub(super) fn durability(&self) -> &'static str {
        match (self.durability, self.two_phase_commit || self.quick_repair) {
            (DurabilityLevel::Immediate, false) => IMMEDIATE,
            (DurabilityLevel::Immediate, true) => {
                "one transaction per put, synced in two phases: a put survives the host"
            }
            (DurabilityLevel::None, _) => {
                "one transaction per put, kept in memory: a put survives neither the process nor the host"
            }
        }
    }

    /// The options in force, for the recording.
    pub(super) fn in_force(&self) -> Value {
        json!({
            "cache_size": ByteSize(self.cache_size as u64),
            "durability": word(&DURABILITY_LEVELS, self.durability),
            "two_phase_commit": self.two_phase_commit,
            "quick_repair": self.quick_repair,
            "check_integrity_on_open": self.check_integrity_on_open,
        })
    }
}
