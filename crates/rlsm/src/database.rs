//! The database as its users see it.

use std::ops::RangeBounds;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::background::{Background, Inline, Work};
use crate::backup;
use crate::compact;
use crate::core::Core;
use crate::flush::flush_all;
use crate::group::Group;
use crate::iterate::{Iter, Lock};
use crate::layout::Layout;
use crate::memory::{Batch, Snapshot};
use crate::merge::Bounds;
use crate::open::{Recovery, open};
use crate::options::{Maintenance, Options};
use crate::read;
use crate::run::Value;
use crate::stats::Stats;
use crate::storage::Storage;
use crate::verify::Verification;
use crate::write::SharedWriter;
use crate::{Error, Result, Sequence};

/// A group of writes is closed when it holds so many bytes.
const GROUP_BYTES: u64 = 1 << 20;

/// An open database. It can be shared between threads by reference; dropping it closes it, but for iterators that are
/// still there: they go on, and the folder stays locked until the last of them is dropped.
///
/// ```
/// # fn main() -> rlsm::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// let database = rlsm::Database::open(folder.path())?;
/// database.put(b"apple", b"green")?;
/// assert_eq!(database.get(b"apple")?.as_deref(), Some(&b"green"[..]));
/// database.delete(b"apple")?;
/// assert!(database.get(b"apple")?.is_none());
/// # Ok(())
/// # }
/// ```
pub struct Database {
    pub(crate) core: Arc<Core>,
    group: Group<Batch, Sequence>,
    pub(crate) writer: Arc<SharedWriter>,
    work: Work,
    recovery: Recovery,
    is_read_only: bool,
    lock: Lock,
}

impl Database {
    /// Opens the database in `folder` with the default options, making both if they are not there.
    ///
    /// # Errors
    /// As [`Options::open`].
    pub fn open(folder: impl AsRef<Path>) -> Result<Self> {
        Options::new().open(folder)
    }

    pub(crate) fn open_with(storage: Arc<dyn Storage>, options: Options) -> Result<Self> {
        let opened = open(storage, options)?;
        let core = Arc::new(opened.core);
        let writer = Arc::new(Mutex::new(opened.writer));
        let work = match options.maintenance {
            Maintenance::Background => Work::Background(Background::start(&core, &writer)?),
            Maintenance::Inline => Work::Inline(Inline::start(&core, &writer)?),
        };
        let group = Group::new(GROUP_BYTES);
        Ok(Self {
            core,
            group,
            writer,
            work,
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
            return Err(Error::Invalid { what: "the database was opened to be read only".to_owned() });
        }
        self.core.check()
    }

    /// What opening the database found and did.
    pub fn recovery(&self) -> &Recovery {
        &self.recovery
    }

    /// Gives `key` a value.
    ///
    /// # Errors
    /// The key is longer than 65,535 bytes or the value than 1 GiB; the file system refuses, now or once before.
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        let mut batch = Batch::new();
        batch.put(key, value)?;
        self.write(batch)
    }

    /// Takes `key` away, if it is there.
    ///
    /// # Errors
    /// As [`Database::put`].
    pub fn delete(&self, key: &[u8]) -> Result<()> {
        let mut batch = Batch::new();
        batch.delete(key)?;
        self.write(batch)
    }

    /// Takes all keys away from `low` up to, but without, `high`.
    ///
    /// # Errors
    /// As [`Database::put`]; or `low` is not below `high`.
    pub fn delete_range(&self, low: &[u8], high: &[u8]) -> Result<()> {
        let mut batch = Batch::new();
        batch.delete_range(low, high)?;
        self.write(batch)
    }

    /// Makes all writes of `batch`, or none of them, even if the machine fails in between.
    ///
    /// # Errors
    /// As [`Database::put`].
    pub fn write(&self, batch: Batch) -> Result<()> {
        self.check_writable()?;
        if batch.is_empty() {
            return Ok(());
        }
        let bytes = batch.user_bytes();
        let pressure = &self.core.pressure;
        let gather = |waiting: &dyn Fn() -> usize| {
            if self.core.options.sync == crate::options::Sync::Always {
                pressure.linger(waiting);
            }
        };
        self.group.submit(batch, bytes, gather, |batches| {
            pressure.note_group(batches.len());
            let bytes = batches.iter().map(Batch::user_bytes).sum();
            self.work.make_room(&self.core, &self.writer, bytes)?;
            self.writer.lock().write(&self.core, &batches)
        })?;
        self.work.after_write(&self.core, &self.writer)
    }

    /// The value of `key`, if it has one.
    ///
    /// # Errors
    /// A file cannot be read, or is damaged.
    pub fn get(&self, key: &[u8]) -> Result<Option<Value>> {
        let view = self.core.view();
        let visible = self.core.visible();
        read::get(&self.core, &view, key, visible)
    }

    /// The value that `key` had when `snapshot` was taken.
    ///
    /// # Errors
    /// As [`Database::get`]; or the snapshot is of another database, or of before this one was opened.
    pub fn get_at(&self, key: &[u8], snapshot: &Snapshot) -> Result<Option<Value>> {
        self.core.snapshots.check(snapshot)?;
        read::get(&self.core, &self.core.view(), key, snapshot.sequence())
    }

    /// The database as it is now, for as long as the snapshot lives.
    pub fn snapshot(&self) -> Snapshot {
        self.core.snapshots.take(|| self.core.visible())
    }

    /// The keys in `range`, in order, as they are now.
    ///
    /// ```
    /// # fn main() -> rlsm::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let database = rlsm::Database::open(folder.path())?;
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
        self.iter(self.snapshot(), Bounds::new(range))
    }

    /// The keys in `range` as they were when `snapshot` was taken.
    ///
    /// # Errors
    /// As [`Database::get_at`].
    pub fn range_at<'a>(&self, range: impl RangeBounds<&'a [u8]>, snapshot: &Snapshot) -> Result<Iter> {
        self.core.snapshots.check(snapshot)?;
        self.iter(snapshot.clone(), Bounds::new(range))
    }

    /// The keys that begin with `prefix`, in order, as they are now.
    ///
    /// # Errors
    /// As [`Database::get`].
    pub fn prefix(&self, prefix: &[u8]) -> Result<Iter> {
        self.iter(self.snapshot(), Bounds::prefix(prefix))
    }

    fn iter(&self, snapshot: Snapshot, bounds: Bounds) -> Result<Iter> {
        Iter::new(&self.core, snapshot, bounds, Arc::clone(&self.lock))
    }

    /// What the database has done since it was opened, and how it stands.
    ///
    /// # Errors
    /// The folder cannot be listed.
    pub fn stats(&self) -> Result<Stats> {
        Stats::of(&self.core)
    }

    /// The runs on the device and where they lie.
    pub fn layout(&self) -> Layout {
        Layout::of(&self.core.view().version)
    }

    /// Reads every run on the device, and tells what is damaged. Nothing is changed. Logs and the manifest, which are
    /// being written, are for [`crate::verify`] to read once the database is closed.
    pub fn verify(&self) -> Verification {
        let view = self.core.view_to_keep();
        let mut found = Verification::default();
        found.version(&view.version);
        found
    }

    /// Copies the database as it is now to `folder`, which is empty or made: a database of its own. Writes go on
    /// meanwhile. Blocks are shared where the file system can.
    ///
    /// ```
    /// # fn main() -> rlsm::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let backup = tempfile::tempdir().unwrap();
    /// # let database = rlsm::Database::open(folder.path())?;
    /// database.put(b"apple", b"green")?;
    /// database.backup(backup.path())?;
    /// assert!(rlsm::Database::open(backup.path())?.get(b"apple")?.is_some());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Database::flush`]; or `folder` is not empty or cannot be written to. A backup that fails leaves no database
    /// there.
    pub fn backup(&self, folder: impl AsRef<Path>) -> Result<()> {
        self.backup_on(&(Arc::new(backup::folder(folder.as_ref())?) as Arc<dyn Storage>))
    }

    /// As [`Database::backup`], on a file layer of the caller's.
    ///
    /// # Errors
    /// As [`Database::backup`].
    pub fn backup_on(&self, to: &Arc<dyn Storage>) -> Result<()> {
        self.flush()?;
        backup::backup(&self.core, to)
    }

    /// Takes every write so far to the device.
    ///
    /// # Errors
    /// As [`Database::put`].
    pub fn sync(&self) -> Result<()> {
        self.writer.lock().sync(&self.core)
    }

    /// Writes what is in memory to Level 0, and returns when it lies there.
    ///
    /// # Errors
    /// As [`Database::put`].
    pub fn flush(&self) -> Result<()> {
        self.check_writable()?;
        let _alone = self.work.pause();
        self.writer.lock().freeze(&self.core)?;
        flush_all(&self.core)
    }

    /// Flushes, compacts all of Level 0, and writes every range anew that holds more than one run.
    ///
    /// # Errors
    /// As [`Database::put`].
    pub fn compact(&self) -> Result<()> {
        self.check_writable()?;
        let _alone = self.work.pause();
        self.writer.lock().freeze(&self.core)?;
        flush_all(&self.core)?;
        while compact::compact(&self.core, true)? {}
        compact::rewrite_all(&self.core)?;
        while compact::merge_small(&self.core)? {}
        self.core.reclaim()
    }

    /// Waits until no flush and no compaction is due. What [`Options::feel_pressure`] puts off is not due.
    ///
    /// # Errors
    /// One of them failed.
    pub fn settle(&self) -> Result<()> {
        self.check_writable()?;
        let _alone = self.work.pause();
        self.work.catch_up(&self.core, &self.writer)
    }
}

impl Drop for Database {
    /// Takes writes to the device, unless they are kept by the system's pleasure. A failure shows at the next opening,
    /// as a shorter log.
    fn drop(&mut self) {
        self.work.stop();
        if self.core.options.sync != crate::options::Sync::Never {
            let _: Result<()> = self.writer.lock().sync(&self.core);
        }
        // What is not given back now is given back by the next opening.
        let _: Result<()> = self.core.reclaim();
    }
}
