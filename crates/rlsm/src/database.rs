//! The public interface of a database.

use std::ops::RangeBounds;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::backup;
use crate::compaction;
use crate::engine::Engine;
use crate::flush::flush_all;
use crate::group_commit::GroupCommit;
use crate::iterator::{DirectoryLock, Iter};
use crate::layout::Layout;
use crate::maintenance::{BackgroundMaintenance, InlineMaintenance, MaintenanceRunner};
use crate::memory::{Batch, Snapshot};
use crate::merge::KeyBounds;
use crate::open::{RecoveryReport, open};
use crate::options::{Maintenance, Options};
use crate::read;
use crate::run::Value;
use crate::stats::Stats;
use crate::storage::{OverlayStorage, Storage, create_directory, open_directory};
use crate::verify::{self, VerifyReport};
use crate::write_pipeline::SharedPipeline;
use crate::{Error, Result, SequenceNumber};

/// A write group is closed once it holds this many bytes.
const GROUP_BYTES: u64 = 1 << 20;

/// An open database. Threads share it by reference. Dropping it closes it; iterators that are still alive go on, and
/// the directory stays locked until the last of them is dropped.
///
/// ```
/// # fn main() -> rlsm::Result<()> {
/// # let directory = tempfile::tempdir().unwrap();
/// let database = rlsm::Database::open(directory.path())?;
/// database.put(b"apple", b"green")?;
/// assert_eq!(database.get(b"apple")?.as_deref(), Some(&b"green"[..]));
/// database.delete(b"apple")?;
/// assert!(database.get(b"apple")?.is_none());
/// # Ok(())
/// # }
/// ```
pub struct Database {
    pub(crate) engine: Arc<Engine>,
    group: GroupCommit<Batch, SequenceNumber>,
    pub(crate) pipeline: Arc<SharedPipeline>,
    maintenance: MaintenanceRunner,
    recovery: RecoveryReport,
    is_read_only: bool,
    lock: DirectoryLock,
}

impl Options {
    /// Opens the database in `directory`. A missing directory or database is created.
    ///
    /// # Errors
    /// An option is out of bounds, the database is open elsewhere, one of its files is damaged or missing, or the file
    /// system refuses.
    pub fn open(self, directory: impl AsRef<Path>) -> Result<Database> {
        self.open_on(Arc::new(create_directory(directory.as_ref())?))
    }

    /// Opens the existing database in `directory` without changing its files: recovery happens in memory, and writes
    /// are refused. The directory is locked meanwhile.
    ///
    /// # Errors
    /// As [`Options::open`]; or `directory` holds no database.
    pub fn open_read_only(self, directory: impl AsRef<Path>) -> Result<Database> {
        let disk = open_directory(directory.as_ref())?;
        verify::files(&disk)?;
        let options = self.maintenance(Maintenance::Inline);
        Database::open_read_only(Arc::new(OverlayStorage::new(Arc::new(disk))), options.resolved()?)
    }

    /// Opens the database on the caller's [`Storage`].
    ///
    /// # Errors
    /// As [`Options::open`].
    pub fn open_on(self, storage: Arc<dyn Storage>) -> Result<Database> {
        Database::open_with(storage, self.resolved()?)
    }
}

impl Database {
    /// Opens the database in `directory` with default options. A missing directory or database is created.
    ///
    /// # Errors
    /// As [`Options::open`].
    pub fn open(directory: impl AsRef<Path>) -> Result<Self> {
        Options::new().open(directory)
    }

    pub(crate) fn open_with(storage: Arc<dyn Storage>, options: Options) -> Result<Self> {
        let opened = open(storage, options)?;
        let engine = Arc::new(opened.engine);
        let pipeline = Arc::new(Mutex::new(opened.pipeline));
        let maintenance = match options.maintenance {
            Maintenance::Background => MaintenanceRunner::Background(BackgroundMaintenance::start(&engine, &pipeline)?),
            Maintenance::Inline => MaintenanceRunner::Inline(InlineMaintenance::start(&engine, &pipeline)?),
        };
        let group = GroupCommit::new(GROUP_BYTES);
        Ok(Self {
            engine,
            group,
            pipeline,
            maintenance,
            recovery: opened.recovery,
            is_read_only: false,
            lock: Arc::from(opened.lock),
        })
    }

    pub(crate) fn open_read_only(storage: Arc<dyn Storage>, options: Options) -> Result<Self> {
        let mut database = Self::open_with(storage, options)?;
        database.is_read_only = true;
        Ok(database)
    }

    fn check_writable(&self) -> Result<()> {
        if self.is_read_only {
            return Err(Error::Invalid {
                problem: "the database is open read-only; open it with `Options::open` to write".to_owned(),
            });
        }
        self.engine.check()
    }

    /// What opening the database found and did.
    pub fn recovery(&self) -> &RecoveryReport {
        &self.recovery
    }

    /// Sets the value of `key`.
    ///
    /// # Errors
    /// The key is longer than 65,535 bytes or the value than 1 GiB; the file system refuses; or an earlier failure
    /// stopped all writing ([`Error::Poisoned`]).
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        let mut batch = Batch::new();
        batch.put(key, value)?;
        self.write(batch)
    }

    /// Deletes `key`, if it exists.
    ///
    /// # Errors
    /// As [`Database::put`].
    pub fn delete(&self, key: &[u8]) -> Result<()> {
        let mut batch = Batch::new();
        batch.delete(key)?;
        self.write(batch)
    }

    /// Deletes all keys from `low` up to, and excluding, `high`.
    ///
    /// # Errors
    /// As [`Database::put`]; or `low` is not below `high`.
    pub fn delete_range(&self, low: &[u8], high: &[u8]) -> Result<()> {
        let mut batch = Batch::new();
        batch.delete_range(low, high)?;
        self.write(batch)
    }

    /// Applies all operations of `batch`, or none of them, even across a crash.
    ///
    /// # Errors
    /// As [`Database::put`].
    pub fn write(&self, batch: Batch) -> Result<()> {
        self.check_writable()?;
        if batch.is_empty() {
            return Ok(());
        }
        let bytes = batch.user_bytes();
        let pressure = &self.engine.pressure;
        let linger = |waiting: &dyn Fn() -> usize| {
            if self.engine.options.sync == crate::options::Sync::Always {
                pressure.linger(waiting);
            }
        };
        self.group.submit(batch, bytes, linger, |batches| {
            pressure.record_group_size(batches.len());
            let bytes = batches.iter().map(Batch::user_bytes).sum();
            self.maintenance.make_room_for_write(&self.engine, &self.pipeline, bytes)?;
            self.pipeline.lock().write(&self.engine, &batches)
        })?;
        self.maintenance.run_after_write(&self.engine, &self.pipeline)
    }

    /// Returns the value of `key`, if it has one.
    ///
    /// # Errors
    /// A file cannot be read, or is damaged.
    pub fn get(&self, key: &[u8]) -> Result<Option<Value>> {
        let superversion = self.engine.superversion();
        let visible = self.engine.last_visible();
        read::get(&self.engine, &superversion, key, visible)
    }

    /// Returns the value that `key` had when `snapshot` was taken.
    ///
    /// # Errors
    /// As [`Database::get`]; or the snapshot belongs to another database, or to an earlier opening of this one.
    pub fn get_at(&self, key: &[u8], snapshot: &Snapshot) -> Result<Option<Value>> {
        self.engine.snapshots.check(snapshot)?;
        read::get(&self.engine, &self.engine.superversion(), key, snapshot.sequence())
    }

    /// Takes a snapshot of the current state. Versions that it sees are retained while it lives.
    pub fn snapshot(&self) -> Snapshot {
        self.engine.snapshots.take(|| self.engine.last_visible())
    }

    /// Iterates over the keys in `range`, in order, as of now.
    ///
    /// ```
    /// # fn main() -> rlsm::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let database = rlsm::Database::open(directory.path())?;
    /// for key in [b"a", b"b", b"c"] {
    ///     database.put(key, b"")?;
    /// }
    /// let from_b: Vec<_> = database.range(&b"b"[..]..)?.collect::<rlsm::Result<_>>()?;
    /// assert_eq!(from_b.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Database::get`].
    pub fn range<'a>(&self, range: impl RangeBounds<&'a [u8]>) -> Result<Iter> {
        self.iter(self.snapshot(), KeyBounds::new(range))
    }

    /// Iterates over the keys in `range` as of `snapshot`.
    ///
    /// # Errors
    /// As [`Database::get_at`].
    pub fn range_at<'a>(&self, range: impl RangeBounds<&'a [u8]>, snapshot: &Snapshot) -> Result<Iter> {
        self.engine.snapshots.check(snapshot)?;
        self.iter(snapshot.clone(), KeyBounds::new(range))
    }

    /// Iterates over the keys that begin with `prefix`, in order, as of now.
    ///
    /// # Errors
    /// As [`Database::get`].
    pub fn prefix(&self, prefix: &[u8]) -> Result<Iter> {
        self.iter(self.snapshot(), KeyBounds::prefix(prefix))
    }

    fn iter(&self, snapshot: Snapshot, bounds: KeyBounds) -> Result<Iter> {
        Iter::new(&self.engine, snapshot, bounds, Arc::clone(&self.lock))
    }

    /// Statistics: counters since the database was opened, and its current state.
    ///
    /// # Errors
    /// The directory cannot be listed.
    pub fn stats(&self) -> Result<Stats> {
        Stats::of(&self.engine)
    }

    /// The runs on the device, by level and range.
    pub fn layout(&self) -> Layout {
        Layout::of(&self.engine.superversion().version)
    }

    /// Reads every run on the device and reports damage. Nothing is changed. WALs and the manifest are being written
    /// to: [`crate::verify()`] reads them once the database is closed.
    pub fn verify(&self) -> VerifyReport {
        let superversion = self.engine.owned_superversion();
        let mut found = VerifyReport::default();
        found.version(&superversion.version);
        found
    }

    /// Copies the current state to `directory`, which is empty or does not exist: a database of its own. Writes go on
    /// meanwhile. Blocks are shared where the file system supports it (reflinks).
    ///
    /// ```
    /// # fn main() -> rlsm::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let backup = tempfile::tempdir().unwrap();
    /// # let database = rlsm::Database::open(directory.path())?;
    /// database.put(b"apple", b"green")?;
    /// database.backup(backup.path())?;
    /// assert!(rlsm::Database::open(backup.path())?.get(b"apple")?.is_some());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Database::flush`]; or `directory` is not empty or cannot be written to. A backup that fails leaves no
    /// database there.
    pub fn backup(&self, directory: impl AsRef<Path>) -> Result<()> {
        self.backup_on(&(Arc::new(create_directory(directory.as_ref())?) as Arc<dyn Storage>))
    }

    /// As [`Database::backup`], to the caller's [`Storage`].
    ///
    /// # Errors
    /// As [`Database::backup`].
    pub fn backup_on(&self, to: &Arc<dyn Storage>) -> Result<()> {
        self.flush()?;
        backup::backup(&self.engine, to)
    }

    /// Makes every write so far durable.
    ///
    /// # Errors
    /// As [`Database::put`].
    pub fn sync(&self) -> Result<()> {
        self.pipeline.lock().sync(&self.engine)
    }

    /// Flushes the memtables to Level 0 and returns once they are durable there.
    ///
    /// # Errors
    /// As [`Database::put`].
    pub fn flush(&self) -> Result<()> {
        self.check_writable()?;
        let _paused = self.maintenance.pause();
        self.pipeline.lock().rotate_memtable(&self.engine)?;
        flush_all(&self.engine)
    }

    /// Flushes, compacts all of Level 0, and rewrites every range that has more than one run.
    ///
    /// # Errors
    /// As [`Database::put`].
    pub fn compact(&self) -> Result<()> {
        self.check_writable()?;
        let _paused = self.maintenance.pause();
        self.pipeline.lock().rotate_memtable(&self.engine)?;
        flush_all(&self.engine)?;
        while compaction::compact_level0(&self.engine, true)? {}
        compaction::rewrite_all_ranges(&self.engine)?;
        while compaction::merge_small_range(&self.engine)? {}
        self.engine.reclaim()
    }

    /// Runs maintenance until no flush and no compaction is due. Work that [`Options::feel_pressure`] postpones is not
    /// due.
    ///
    /// # Errors
    /// A flush or a compaction failed.
    pub fn settle(&self) -> Result<()> {
        self.check_writable()?;
        let _paused = self.maintenance.pause();
        self.maintenance.run_all_due(&self.engine, &self.pipeline)
    }
}

impl Drop for Database {
    /// Syncs the WAL, except with [`Sync::Never`](crate::Sync::Never). A failure cannot be returned: the next opening
    /// finds a shorter WAL.
    fn drop(&mut self) {
        self.maintenance.stop();
        if self.engine.options.sync != crate::options::Sync::Never {
            let _: Result<()> = self.pipeline.lock().sync(&self.engine);
        }
        // Space that is not reclaimed now is reclaimed by the next opening.
        let _: Result<()> = self.engine.reclaim();
    }
}
