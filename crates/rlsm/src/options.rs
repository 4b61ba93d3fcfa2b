//! Options.

use std::sync::Arc;
use std::time::Duration;

use crate::plan::CompactionSettings;
use crate::pressure::PressureSource;
use crate::run::{Compression, DataFileOptions};
use crate::storage::Storage;
use crate::{Error, Result};

/// When a write is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    /// A write returns once it is on the device (`fdatasync`). Concurrent writes share one sync.
    Always,
    /// A write returns once the operating system has it; the WAL is synced at this interval. A crash of the process
    /// loses nothing, a crash of the host the writes since the last sync.
    Interval(Duration),
    /// A write returns once the operating system has it; the system writes it back in its own time, or
    /// [`crate::Database::sync`] does.
    Never,
}

/// How a full memtable becomes a run of Level 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flush {
    /// The WAL with the same writes becomes the run: only an index by hash is appended to it, so nothing is written
    /// twice. A memtable that was scanned often is copied in key order instead. While gets have to read small entries
    /// of Level 0, it is copied in hash order.
    Index,
    /// The memtable is written to a data file in hash order (Song 2018, section 3.3.1) and can be compressed.
    /// Superseded versions are dropped.
    Copy,
}

/// How blocks are read that are not in the block cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    /// With `pread`, through the page cache of the operating system.
    Pread,
    /// With direct I/O into memory of the database's own, whose pages make room for each other: see the crate `recycle`.
    /// Whole runs, which compactions read, still go through the page cache.
    #[cfg(feature = "recycle")]
    Recycle {
        /// The size of that memory, in bytes: at least 64 KiB.
        memory_bytes: u64,
    },
}

impl Read {
    /// The storage, read this way.
    pub(crate) fn on(self, storage: Arc<dyn Storage>) -> std::io::Result<Arc<dyn Storage>> {
        match self {
            Self::Pread => Ok(storage),
            #[cfg(feature = "recycle")]
            Self::Recycle { memory_bytes } => {
                Ok(Arc::new(crate::storage::RecycledStorage::new(storage, memory_bytes)?))
            }
        }
    }
}

/// Which threads flush and compact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Maintenance {
    /// Background threads of the database.
    Background,
    /// The thread that writes, before its write returns. Slower, and deterministic.
    Inline,
}

/// The options of a database. Each can change from one opening to the next.
///
/// ```
/// # fn main() -> rlsm::Result<()> {
/// # let directory = tempfile::tempdir().unwrap();
/// let database = rlsm::Options::new().memtable_bytes(8 << 20).sync(rlsm::Sync::Never).open(directory.path())?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    pub(crate) plan: CompactionSettings,
    range_bytes: Option<u64>,
    pub(crate) sync: Sync,
    pub(crate) cache_bytes: u64,
    pub(crate) block_bytes: u32,
    pub(crate) flush: Flush,
    pub(crate) level0_compression: Compression,
    pub(crate) level1_compression: Compression,
    pub(crate) compaction_bytes: Option<u64>,
    pub(crate) manifest_bytes: u64,
    pub(crate) maintenance: Maintenance,
    pub(crate) read: Read,
    pub(crate) pressure_source: PressureSource,
}

impl Default for Options {
    fn default() -> Self {
        let plan = CompactionSettings { memtable_bytes: 64 << 20, range_bytes: 0, split_ratio: 1.2, stale_ratio: 0.4 };
        Self {
            plan,
            range_bytes: None,
            sync: Sync::Always,
            cache_bytes: 128 << 20,
            block_bytes: 4096,
            flush: Flush::Index,
            level0_compression: Compression::None,
            level1_compression: Compression::Lz4,
            compaction_bytes: None,
            manifest_bytes: 1 << 20,
            maintenance: Maintenance::Background,
            read: Read::Pread,
            pressure_source: PressureSource::Off,
        }
    }
}

impl Options {
    /// The default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// The size at which the memtable is flushed, in bytes: at least 64 KiB. Default: 64 MiB.
    pub fn memtable_bytes(mut self, bytes: u64) -> Self {
        self.plan.memtable_bytes = bytes;
        self
    }

    /// The reference size of a key range, in bytes: [`Options::split_ratio`] and merges of small ranges refer to it.
    /// Default: two memtables.
    pub fn range_bytes(mut self, bytes: u64) -> Self {
        self.range_bytes = Some(bytes);
        self
    }

    /// A range larger than this times [`Options::range_bytes`] is partitioned: 1 to 100. Default: 1.2.
    pub fn split_ratio(mut self, ratio: f64) -> Self {
        self.plan.split_ratio = ratio;
        self
    }

    /// A range is rewritten once it has more than this many superseded bytes per live byte: 0.1 to 100. Lower values
    /// save space, higher ones write amplification. Default: 0.4.
    pub fn stale_ratio(mut self, ratio: f64) -> Self {
        self.plan.stale_ratio = ratio;
        self
    }

    /// When a write is durable. Default: [`Sync::Always`].
    pub fn sync(mut self, sync: Sync) -> Self {
        self.sync = sync;
        self
    }

    /// The capacity of the block cache, in bytes: a quarter of it is for sorted views of runs. Long scans may hold as
    /// much again as blocks may take. Default: 128 MiB.
    pub fn cache_bytes(mut self, bytes: u64) -> Self {
        self.cache_bytes = bytes;
        self
    }

    /// The maximum size of a block before compression, in bytes: 512 to 262,144. A block of fewer than eight entries
    /// may be four times as large, and larger for one large entry. Default: 4 KiB.
    pub fn block_bytes(mut self, bytes: u32) -> Self {
        self.block_bytes = bytes;
        self
    }

    /// How a full memtable becomes a run of Level 0. Default: [`Flush::Index`].
    pub fn flush(mut self, flush: Flush) -> Self {
        self.flush = flush;
        self
    }

    /// The compression of Level 0, with [`Flush::Copy`] only. Default: none.
    pub fn level0_compression(mut self, compression: Compression) -> Self {
        self.level0_compression = compression;
        self
    }

    /// The compression of Level 1. Default: [`Compression::Lz4`].
    pub fn level1_compression(mut self, compression: Compression) -> Self {
        self.level1_compression = compression;
        self
    }

    /// About how many bytes of Level 0 a compaction holds in memory at once; it reads a larger input in several passes.
    /// A range that it rewrites comes on top. Default: two memtables.
    pub fn compaction_bytes(mut self, bytes: u64) -> Self {
        self.compaction_bytes = Some(bytes);
        self
    }

    /// The size below which a manifest is not rewritten, in bytes. Tests lower it.
    #[doc(hidden)]
    pub fn manifest_bytes(mut self, bytes: u64) -> Self {
        self.manifest_bytes = bytes;
        self
    }

    /// Which threads flush and compact. Default: [`Maintenance::Background`].
    pub fn maintenance(mut self, maintenance: Maintenance) -> Self {
        self.maintenance = maintenance;
        self
    }

    /// How blocks are read that are not in the block cache. Default: [`Read::Pread`].
    pub fn read(mut self, read: Read) -> Self {
        self.read = read;
        self
    }

    /// Whether the database measures the latency of its device and yields while a noisy neighbour slows it: rewrites of
    /// ranges are postponed, within bounds on space and runs; compaction syncs in slices and pauses; group commits
    /// linger for more writers; memory moves between memtable and block cache. Default: no.
    pub fn feel_pressure(mut self, enabled: bool) -> Self {
        self.pressure_source = if enabled { PressureSource::Measured } else { PressureSource::Off };
        self
    }

    /// Simulates a neighbour that comes and goes, independent of the device. For deterministic tests.
    #[doc(hidden)]
    pub fn alternating_pressure(mut self) -> Self {
        self.pressure_source = PressureSource::Alternating;
        self
    }

    /// Checks the options and fills in those that follow from others.
    pub(crate) fn resolved(mut self) -> Result<Self> {
        self.plan.range_bytes = self.range_bytes.unwrap_or(self.plan.memtable_bytes.saturating_mul(2));
        let bounds = [
            ("memtable_bytes", self.plan.memtable_bytes as f64, 65_536.0, 1e12),
            ("range_bytes", self.plan.range_bytes as f64, 65_536.0, 1e12),
            ("split_ratio", self.plan.split_ratio, 1.0, 100.0),
            ("stale_ratio", self.plan.stale_ratio, 0.1, 100.0),
            ("block_bytes", f64::from(self.block_bytes), 512.0, 262_144.0),
        ];
        #[cfg(feature = "recycle")]
        let bounds = bounds.into_iter().chain(match self.read {
            Read::Pread => None,
            Read::Recycle { memory_bytes } => Some(("read.memory_bytes", memory_bytes as f64, 65_536.0, 1e13)),
        });
        for (name, got, least, most) in bounds {
            if !(least..=most).contains(&got) {
                return Err(Error::Invalid {
                    problem: format!("option `{name}` is {got}; it must be {least} to {most}"),
                });
            }
        }
        if self.sync == Sync::Interval(Duration::ZERO) {
            let problem = "option `sync` has an interval of 0; set a longer one, or `Sync::Always` to sync every write"
                .to_owned();
            return Err(Error::Invalid { problem });
        }
        if self.flush == Flush::Index && self.level0_compression != Compression::None {
            let problem =
                "option `level0_compression` needs `flush` to be `Flush::Copy`: a WAL is not compressed".to_owned();
            return Err(Error::Invalid { problem });
        }
        Ok(self)
    }

    /// How data files of a level are written.
    pub(crate) fn write_options(&self, level: u8) -> DataFileOptions {
        let compression = if level == 0 { self.level0_compression } else { self.level1_compression };
        DataFileOptions { block_bytes: self.block_bytes as usize, compression, ..DataFileOptions::default() }
    }

    pub(crate) fn compaction_bytes_max(&self) -> u64 {
        self.compaction_bytes.unwrap_or(self.plan.memtable_bytes.saturating_mul(2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_option_is_named() {
        let wrong = [
            ("memtable_bytes", Options::new().memtable_bytes(1)),
            ("range_bytes", Options::new().range_bytes(1)),
            ("split_ratio", Options::new().split_ratio(f64::NAN)),
            ("stale_ratio", Options::new().stale_ratio(0.0)),
            ("block_bytes", Options::new().block_bytes(1 << 20)),
            #[cfg(feature = "recycle")]
            ("read.memory_bytes", Options::new().read(Read::Recycle { memory_bytes: 65_535 })),
            ("sync", Options::new().sync(Sync::Interval(Duration::ZERO))),
            ("level0_compression", Options::new().flush(Flush::Index).level0_compression(Compression::Lz4)),
        ];
        for (name, options) in wrong {
            let error = options.resolved().unwrap_err();
            assert!(matches!(error, Error::Invalid { .. }) && error.to_string().contains(name), "{error}");
        }
    }
}
