//! The state that all parts of an open database share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::counters::{Counter, Counters};
use crate::levels::{ExtentReclaimer, Version, VersionSet, VersionUpdate};
use crate::memory::{Memtable, SnapshotList};
use crate::options::Options;
use crate::pressure::{MemoryBudget, Pressure};
use crate::publication::Publication;
use crate::run::{BlockCache, DataFileOptions};
use crate::storage::{File, Storage};
use crate::{Error, Result, SequenceNumber};

/// What readers see: the memtables and a version of the levels, exchanged as a whole. It holds every write up to the
/// last visible one, and perhaps later ones.
pub(crate) struct SuperVersion {
    pub memtable: Arc<Memtable>,
    /// Full memtables that are not flushed yet, the oldest first.
    pub immutable_memtables: Vec<Arc<ImmutableMemtable>>,
    pub version: Arc<Version>,
}

/// A memtable that takes no more writes.
pub(crate) struct ImmutableMemtable {
    pub memtable: Arc<Memtable>,
    /// The number of the WAL that holds the writes after it.
    pub next_log: u64,
    /// The WAL that holds just its writes; `None` if several WALs do, or none.
    pub log: Option<SealedWal>,
    /// The sequence number of its first write.
    pub first: SequenceNumber,
    /// The sequence number of its last write.
    pub last: SequenceNumber,
    /// Gets that had to read a block of Level 0 while this memtable was written.
    pub level0_misses: u64,
}

/// A WAL that takes no more writes.
pub(crate) struct SealedWal {
    pub file: Arc<dyn File>,
    pub number: u64,
    /// Where its records end.
    pub len: u64,
}

/// An open database without its threads.
pub(crate) struct Engine {
    pub options: Options,
    pub storage: Arc<dyn Storage>,
    /// The same storage, for what compactions write: paced under pressure.
    pub compaction_storage: Arc<dyn Storage>,
    publication: Publication<SuperVersion>,
    pub pressure: Arc<Pressure>,
    pub snapshots: Arc<SnapshotList>,
    pub cache: Arc<BlockCache>,
    pub memory: MemoryBudget,
    pub counters: Counters,
    /// Gets since the last memtable rotation that had to read a block of Level 0.
    pub level0_misses: Counter,
    levels: Mutex<VersionSet>,
    next_number: AtomicU64,
    failure: OnceLock<String>,
}

impl Engine {
    /// `storage` is the storage for most files, then that for the output of compactions.
    pub fn new(
        options: Options,
        storage: (Arc<dyn Storage>, Arc<dyn Storage>),
        pressure: Arc<Pressure>,
        levels: VersionSet,
        memtable: Arc<Memtable>,
        visible: SequenceNumber,
    ) -> Self {
        let version = Arc::clone(levels.version());
        let next_number = AtomicU64::new(levels.number() + 1);
        let memory = MemoryBudget::new(options.plan.memtable_bytes, options.cache_bytes - options.cache_bytes / 4);
        Self {
            options,
            storage: storage.0,
            compaction_storage: storage.1,
            publication: Publication::new(SuperVersion { memtable, immutable_memtables: Vec::new(), version }, visible),
            pressure,
            snapshots: Arc::default(),
            cache: Arc::new(BlockCache::new(memory.block_bytes(), options.cache_bytes / 4)),
            memory,
            counters: Counters::default(),
            level0_misses: Counter::default(),
            levels: Mutex::new(levels),
            next_number,
            failure: OnceLock::new(),
        }
    }

    /// The current superversion, for a short read.
    pub fn superversion(&self) -> arc_swap::Guard<Arc<SuperVersion>> {
        self.publication.load()
    }

    /// As [`Engine::superversion`], to be held for long.
    pub fn owned_superversion(&self) -> Arc<SuperVersion> {
        self.publication.load_owned()
    }

    /// The last write that readers may see. Load it after [`Engine::superversion`]: that superversion then holds every
    /// write up to it, except for writes that came in between.
    pub fn last_visible(&self) -> SequenceNumber {
        self.publication.last_visible()
    }

    /// Makes all writes up to `last` visible. They are in the memtable.
    pub fn set_last_visible(&self, last: SequenceNumber) {
        self.publication.set_last_visible(last);
    }

    /// A file number that was never used.
    pub fn next_file_number(&self) -> u64 {
        self.next_number.fetch_add(1, Ordering::Relaxed)
    }

    /// The oldest sequence number that a reader uses or will use.
    pub fn oldest_snapshot(&self) -> SequenceNumber {
        self.snapshots.oldest(|| self.last_visible())
    }

    /// Makes the memtable, which holds the writes from `first` to `last`, immutable, and puts an empty one in its
    /// place; `next_log` is the new one's WAL.
    pub fn rotate_memtable(
        &self,
        log: Option<SealedWal>,
        first: SequenceNumber,
        last: SequenceNumber,
        next_log: u64,
    ) -> Arc<Memtable> {
        let memtable = Arc::new(Memtable::new(self.options.plan.memtable_bytes));
        let memtable_full = Arc::clone(&self.superversion().memtable);
        let level0_misses = self.level0_misses.take();
        let full = Arc::new(ImmutableMemtable { memtable: memtable_full, next_log, log, first, last, level0_misses });
        self.publication.update(|superversion| {
            let immutable_memtables =
                superversion.immutable_memtables.iter().cloned().chain([Arc::clone(&full)]).collect();
            SuperVersion {
                memtable: Arc::clone(&memtable),
                immutable_memtables,
                version: Arc::clone(&superversion.version),
            }
        });
        memtable
    }

    /// Makes `change` durable, then visible. `flushed` is the immutable memtable that it replaces.
    pub fn publish(&self, change: &VersionUpdate, flushed: Option<&Arc<ImmutableMemtable>>) -> Result<()> {
        {
            let mut levels = self.levels.lock();
            // Checked under the lock: no record follows one that failed.
            self.check()?;
            let growth = self.level0_growth(levels.version());
            let version = self.poison_on_error(levels.apply(change, growth, self.next_file_number()))?;
            let (level0, batch_bytes) = (&version.level0, self.options.plan.batch_bytes(version.level1_bytes()));
            self.pressure.write_controller.set_debt(level0.bytes(), level0.list().len(), batch_bytes);
            self.publication.update(|superversion| {
                let stays = |immutable: &&Arc<ImmutableMemtable>| {
                    flushed.is_none_or(|flushed| !Arc::ptr_eq(flushed, immutable))
                };
                let immutable_memtables = superversion.immutable_memtables.iter().filter(stays).cloned().collect();
                SuperVersion {
                    memtable: Arc::clone(&superversion.memtable),
                    immutable_memtables,
                    version: Arc::clone(&version),
                }
            });
        }
        self.reclaim()
    }

    /// Reclaims the space of obsolete runs that no reader holds.
    pub fn reclaim(&self) -> Result<()> {
        self.poison_on_error(self.reclaimer().reclaim(&*self.storage))
    }

    /// Reclaims the space of obsolete runs.
    pub fn reclaimer(&self) -> Arc<ExtentReclaimer> {
        Arc::clone(&self.levels.lock().reclaimer)
    }

    /// About how many runs Level 0 collects before it is compacted.
    pub fn level0_growth(&self, version: &Version) -> u64 {
        self.options.plan.batch_bytes(version.level1_bytes()) / self.options.plan.memtable_bytes + 1
    }

    /// The number of the oldest WAL that recovery needs.
    pub fn log(&self) -> u64 {
        self.levels.lock().log()
    }

    /// The number of the current manifest.
    pub fn manifest_number(&self) -> u64 {
        self.levels.lock().number()
    }

    /// Bytes written to manifests since the database was opened.
    pub fn manifest_bytes(&self) -> u64 {
        self.levels.lock().written_bytes()
    }

    /// The current version of the levels, and the last write that is in it.
    pub fn flushed(&self) -> (Arc<Version>, SequenceNumber) {
        let levels = self.levels.lock();
        (Arc::clone(levels.version()), levels.flushed())
    }

    pub fn write_options(&self, level: u8) -> DataFileOptions {
        self.options.write_options(level)
    }

    /// Fails if an earlier failure has stopped all writing.
    pub fn check(&self) -> Result<()> {
        match self.failure.get() {
            None => Ok(()),
            Some(reason) => Err(Error::Poisoned { reason: reason.clone() }),
        }
    }

    /// Stops all writing if `result` is a failure of files: from then on, what is on the device is not known.
    pub fn poison_on_error<T>(&self, result: Result<T>) -> Result<T> {
        if let Err(error @ (Error::Io { .. } | Error::Corrupt { .. })) = &result {
            self.failure.get_or_init(|| error.to_string());
        }
        result
    }
}
