//! How lives are lived.

use rlsm::{Compression, Flush, Maintenance, Options, Sync};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// How ext4 is mounted. Where it does not write data before its metadata, a file that grew may hold what its blocks
    /// held before.
    pub mount: &'static str,
    pub maintenance: Maintenance,
    pub flush: Flush,
    pub sync: Sync,
    /// Whether every batch is told to be acknowledged when it is written, or what there is when a sync, a flush or a
    /// compaction that was asked for has come back.
    pub acknowledges_each: bool,
    /// Whether it does as if a neighbour came and went by turns.
    pub is_squeezed: bool,
    /// Whether files of runs are synced when the engine wants it.
    pub syncs_runs: bool,
}

const ORDERED: Settings = Settings {
    mount: "data=ordered",
    maintenance: Maintenance::Inline,
    flush: Flush::Index,
    sync: Sync::Always,
    acknowledges_each: true,
    is_squeezed: false,
    syncs_runs: true,
};
const WRITEBACK: Settings = Settings { mount: "data=writeback", ..ORDERED };
const AT_ONCE: Settings = Settings { mount: "data=writeback,nodelalloc", ..ORDERED };

/// The lives of a device, each of which begins with what a power cut in the one before has left.
pub const LIVES: [Settings; 6] = [
    ORDERED,
    Settings { flush: Flush::Copy, is_squeezed: true, ..WRITEBACK },
    Settings { sync: Sync::Never, acknowledges_each: false, ..AT_ONCE },
    Settings { maintenance: Maintenance::Background, is_squeezed: true, ..WRITEBACK },
    Settings { maintenance: Maintenance::Background, flush: Flush::Copy, ..AT_ONCE },
    Settings { maintenance: Maintenance::Background, sync: Sync::Never, acknowledges_each: false, ..ORDERED },
];

/// Batches are acknowledged that nothing has synced.
pub const EARLY: Settings = Settings { sync: Sync::Never, ..ORDERED };

/// The manifest tells of runs that may not be on the device.
pub const WITHOUT_RUNS: Settings = Settings { syncs_runs: false, flush: Flush::Copy, ..ORDERED };

impl Settings {
    /// As a word of a kernel's command line.
    pub fn to_word(self) -> String {
        let index = Self::all().position(|one| one == self);
        index.unwrap().to_string()
    }

    pub fn from_word(word: &str) -> Self {
        Self::all().nth(word.parse().unwrap()).unwrap()
    }

    fn all() -> impl Iterator<Item = Self> {
        LIVES.into_iter().chain([EARLY, WITHOUT_RUNS])
    }

    pub fn options(self) -> Options {
        let options = options().sync(self.sync).flush(self.flush).maintenance(self.maintenance);
        if self.is_squeezed { options.squeezed_in_turns() } else { options }
    }
}

/// Small buffers, ranges and manifests, so that much happens with little data.
pub fn options() -> Options {
    Options::new()
        .memtable_bytes(65_536)
        .range_bytes(65_536)
        .manifest_bytes(2000)
        .compaction_bytes(30_000)
        .level1_compression(Compression::None)
}
