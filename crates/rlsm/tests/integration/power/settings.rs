//! The settings of a power cycle.

use rlsm::{Compression, Flush, Maintenance, Options, Sync};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The mount options of ext4. Where it does not write data before metadata, a file that grew may have what its
    /// blocks held before.
    pub mount: &'static str,
    pub maintenance: Maintenance,
    pub flush: Flush,
    pub sync: Sync,
    /// Whether every batch counts as acknowledged when it is written, or only once a requested sync, flush or
    /// compaction has returned.
    pub acknowledges_each: bool,
    /// Whether pressure is simulated.
    pub is_under_pressure: bool,
    /// Whether data files are synced when the engine requests it.
    pub syncs_runs: bool,
}

const ORDERED: Settings = Settings {
    mount: "data=ordered",
    maintenance: Maintenance::Inline,
    flush: Flush::Index,
    sync: Sync::Always,
    acknowledges_each: true,
    is_under_pressure: false,
    syncs_runs: true,
};
const WRITEBACK: Settings = Settings { mount: "data=writeback", ..ORDERED };
const AT_ONCE: Settings = Settings { mount: "data=writeback,nodelalloc", ..ORDERED };

/// The power cycles of a device. Each begins with what a power cut of the one before has left.
pub const CYCLES: [Settings; 6] = [
    ORDERED,
    Settings { flush: Flush::Copy, is_under_pressure: true, ..WRITEBACK },
    Settings { sync: Sync::Never, acknowledges_each: false, ..AT_ONCE },
    Settings { maintenance: Maintenance::Background, is_under_pressure: true, ..WRITEBACK },
    Settings { maintenance: Maintenance::Background, flush: Flush::Copy, ..AT_ONCE },
    Settings { maintenance: Maintenance::Background, sync: Sync::Never, acknowledges_each: false, ..ORDERED },
];

/// Batches are acknowledged without a sync.
pub const EARLY: Settings = Settings { sync: Sync::Never, ..ORDERED };

/// The manifest refers to runs that may not be durable.
pub const WITHOUT_RUNS: Settings = Settings { syncs_runs: false, flush: Flush::Copy, ..ORDERED };

impl Settings {
    /// Formats the settings as a word of a kernel command line.
    pub fn to_word(self) -> String {
        let index = Self::all().position(|one| one == self);
        index.unwrap().to_string()
    }

    pub fn from_word(word: &str) -> Self {
        Self::all().nth(word.parse().unwrap()).unwrap()
    }

    fn all() -> impl Iterator<Item = Self> {
        CYCLES.into_iter().chain([EARLY, WITHOUT_RUNS])
    }

    pub fn options(self) -> Options {
        let options = options().sync(self.sync).flush(self.flush).maintenance(self.maintenance);
        if self.is_under_pressure { options.alternating_pressure() } else { options }
    }
}

/// Small memtables, ranges and manifests, so that much happens with little data.
pub fn options() -> Options {
    Options::new()
        .memtable_bytes(65_536)
        .range_bytes(65_536)
        .manifest_bytes(2000)
        .compaction_bytes(30_000)
        .level1_compression(Compression::None)
}
