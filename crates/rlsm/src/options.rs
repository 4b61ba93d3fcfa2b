//! How a database is opened.

use std::sync::Arc;
use std::time::Duration;

use crate::plan::PlanSettings;
use crate::pressure::Feeling;
use crate::run::{Compression, WriteOptions};
use crate::storage::{Disk, Overlay, Storage};
use crate::{Error, Result};

/// When a write counts as kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    /// Once it is on the device. Writes that come together share one sync.
    Always,
    /// Once the system has it; the device gets it at this interval at the latest. A crash of the process loses
    /// nothing, one of the machine loses the writes since the last sync.
    Interval(Duration),
    /// Once the system has it; the device gets it when the system pleases, or at [`crate::Database::sync`].
    Never,
}

/// How a full memory buffer becomes a run of Level 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flush {
    /// The write-ahead log that has the same writes becomes the run: an index by hash is put behind it. So nothing is
    /// written twice, unless it is read much: what iterators went through is copied in the order of keys, and while
    /// gets have to read small entries of Level 0 they are copied in that of hashes.
    Index,
    /// The buffer is written into a file of its own, in the order of hashes (seed 002, section 3.3.1), and may be
    /// packed; superseded versions are left out.
    Copy,
}

/// Who flushes and compacts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Maintenance {
    /// Threads of the database's own.
    Background,
    /// Whoever writes, before the write returns: slower, and the same every time.
    Inline,
}

/// The settings of a database. Each can be changed from one opening to the next.
///
/// ```
/// # fn main() -> rlsm::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// let database = rlsm::Options::new().memtable_bytes(8 << 20).sync(rlsm::Sync::Never).open(folder.path())?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    pub(crate) plan: PlanSettings,
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
    pub(crate) feeling: Feeling,
}

impl Default for Options {
    fn default() -> Self {
        let plan = PlanSettings { memtable_bytes: 64 << 20, range_bytes: 0, split_ratio: 1.2, stale_ratio: 0.4 };
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
            feeling: Feeling::Off,
        }
    }
}

impl Options {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// The size at which the memory buffer is frozen and flushed, in bytes, from 64 KiB on. Default: 64 MiB.
    pub fn memtable_bytes(mut self, bytes: u64) -> Self {
        self.plan.memtable_bytes = bytes;
        self
    }

    /// The size of a key range that others are measured by, in bytes. Default: two memory buffers.
    pub fn range_bytes(mut self, bytes: u64) -> Self {
        self.range_bytes = Some(bytes);
        self
    }

    /// A range is partitioned beyond so many times [`Options::range_bytes`], from 1 on. Default: 1.2.
    pub fn split_ratio(mut self, ratio: f64) -> Self {
        self.plan.split_ratio = ratio;
        self
    }

    /// A range is rewritten once so much is superseded for each byte that is not, from 0.1 on. Less saves space, more
    /// saves writes. Default: 0.4.
    pub fn stale_ratio(mut self, ratio: f64) -> Self {
        self.plan.stale_ratio = ratio;
        self
    }

    /// When a write counts as kept. Default: [`Sync::Always`].
    pub fn sync(mut self, sync: Sync) -> Self {
        self.sync = sync;
        self
    }

    /// Memory for blocks read from files, in bytes. Default: 128 MiB.
    pub fn cache_bytes(mut self, bytes: u64) -> Self {
        self.cache_bytes = bytes;
        self
    }

    /// What a block takes before compression at most, in bytes, from 512 to 262,144; one of fewer than eight entries may
    /// take four times as much, and more for one large entry. Default: 4 KiB.
    pub fn block_bytes(mut self, bytes: u32) -> Self {
        self.block_bytes = bytes;
        self
    }

    /// How a full memory buffer becomes a run of Level 0. Default: [`Flush::Index`].
    pub fn flush(mut self, flush: Flush) -> Self {
        self.flush = flush;
        self
    }

    /// How blocks of Level 0 are packed; with [`Flush::Copy`] only. Default: not at all.
    pub fn level0_compression(mut self, compression: Compression) -> Self {
        self.level0_compression = compression;
        self
    }

    /// How blocks of Level 1 are packed. Default: [`Compression::Lz4`].
    pub fn level1_compression(mut self, compression: Compression) -> Self {
        self.level1_compression = compression;
        self
    }

    /// How much of Level 0 a compaction holds in memory at once, in bytes: what is more is read in several passes.
    /// Default: two memory buffers.
    pub fn compaction_bytes(mut self, bytes: u64) -> Self {
        self.compaction_bytes = Some(bytes);
        self
    }

    /// The size below which a manifest is not written anew, in bytes. For tests, which have no time to write so much.
    #[doc(hidden)]
    pub fn manifest_bytes(mut self, bytes: u64) -> Self {
        self.manifest_bytes = bytes;
        self
    }

    /// Who flushes and compacts. Default: threads in the background.
    pub fn maintenance(mut self, maintenance: Maintenance) -> Self {
        self.maintenance = maintenance;
        self
    }

    /// Whether the database measures its device, and is content with less of it while a neighbour squeezes it: ranges
    /// are rewritten later, within bounds on space and on what a read costs; compaction writes in slices and pauses;
    /// writers wait for one another a little; memory goes to what waits most. Default: no.
    pub fn feel_pressure(mut self, does: bool) -> Self {
        self.feeling = if does { Feeling::Measured } else { Feeling::Off };
        self
    }

    /// As if a neighbour came and went by turns, whatever the device does. For tests, which are to be the same every
    /// time.
    #[doc(hidden)]
    pub fn squeezed_in_turns(mut self) -> Self {
        self.feeling = Feeling::InTurns;
        self
    }

    /// Opens the database in `folder`, making both if they are not there.
    ///
    /// # Errors
    /// An option is out of bounds, the database is open elsewhere, one of its files is damaged or missing, or the file
    /// system refuses.
    pub fn open(self, folder: impl AsRef<std::path::Path>) -> Result<crate::Database> {
        let folder = folder.as_ref();
        let disk = Disk::create(folder).map_err(Error::io("making the folder", &folder.display().to_string()))?;
        self.open_on(Arc::new(disk))
    }

    /// Opens the database in `folder`, which is there, without changing any of its files: what opening does to them is
    /// done in memory, and writes are refused.
    ///
    /// # Errors
    /// As [`Options::open`]; or there is no database.
    pub fn open_read_only(self, folder: impl AsRef<std::path::Path>) -> Result<crate::Database> {
        let disk = crate::verify::disk(folder.as_ref())?;
        crate::verify::files(&disk)?;
        let options = Self { maintenance: Maintenance::Inline, ..self };
        crate::Database::open_read_only(Arc::new(Overlay::over(Arc::new(disk))), options.resolved()?)
    }

    /// Opens the database on a file layer of the caller's.
    ///
    /// # Errors
    /// As [`Options::open`].
    pub fn open_on(self, storage: Arc<dyn Storage>) -> Result<crate::Database> {
        crate::Database::open_with(storage, self.resolved()?)
    }

    /// The options with what follows from others filled in.
    fn resolved(mut self) -> Result<Self> {
        self.plan.range_bytes = self.range_bytes.unwrap_or(self.plan.memtable_bytes.saturating_mul(2));
        let bounds = [
            ("memtable_bytes", self.plan.memtable_bytes as f64, 65_536.0, 1e12),
            ("range_bytes", self.plan.range_bytes as f64, 65_536.0, 1e12),
            ("split_ratio", self.plan.split_ratio, 1.0, 100.0),
            ("stale_ratio", self.plan.stale_ratio, 0.1, 100.0),
            ("block_bytes", f64::from(self.block_bytes), 512.0, 262_144.0),
        ];
        for (name, got, least, most) in bounds {
            if !(least..=most).contains(&got) {
                return Err(Error::Invalid { what: format!("option `{name}` is {got}; it takes {least} to {most}") });
            }
        }
        if self.sync == Sync::Interval(Duration::ZERO) {
            let what = "option `sync` is an interval of no time; to sync every write is `Always`".to_owned();
            return Err(Error::Invalid { what });
        }
        if self.flush == Flush::Index && self.level0_compression != Compression::None {
            let what = "option `level0_compression` needs option `flush` to be `Copy`: a log is not packed".to_owned();
            return Err(Error::Invalid { what });
        }
        Ok(self)
    }

    /// How runs of a level are written.
    pub(crate) fn write_options(&self, level: u8) -> WriteOptions {
        let compression = if level == 0 { self.level0_compression } else { self.level1_compression };
        WriteOptions { block_bytes: self.block_bytes as usize, compression, ..WriteOptions::default() }
    }

    pub(crate) fn compaction_bytes_max(&self) -> u64 {
        self.compaction_bytes.unwrap_or(self.plan.memtable_bytes.saturating_mul(2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_that_cannot_be_is_named() {
        let wrong = [
            ("memtable_bytes", Options::new().memtable_bytes(1)),
            ("range_bytes", Options::new().range_bytes(1)),
            ("split_ratio", Options::new().split_ratio(f64::NAN)),
            ("stale_ratio", Options::new().stale_ratio(0.0)),
            ("block_bytes", Options::new().block_bytes(1 << 20)),
            ("sync", Options::new().sync(Sync::Interval(Duration::ZERO))),
            ("level0_compression", Options::new().flush(Flush::Index).level0_compression(Compression::Lz4)),
        ];
        for (name, options) in wrong {
            let error = options.resolved().unwrap_err();
            assert!(matches!(error, Error::Invalid { .. }) && error.to_string().contains(name), "{error}");
        }
    }
}
