//! What all parts of an open database share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::levels::{Change, Grave, Levels, Version};
use crate::memory::{Memtable, Snapshots};
use crate::options::Options;
use crate::pressure::{Memory, Pressure};
use crate::publication::Publication;
use crate::run::{BlockCache, WriteOptions};
use crate::stats::{Counter, Counters};
use crate::storage::{File, Storage};
use crate::{Error, Result, Sequence};

/// What readers see: everything that was written up to some moment, and perhaps some of what came after.
pub(crate) struct View {
    pub memtable: Arc<Memtable>,
    /// Full memory buffers that are not flushed yet, from the oldest.
    pub frozen: Vec<Arc<Frozen>>,
    pub version: Arc<Version>,
}

/// A memory buffer that takes no more writes.
pub(crate) struct Frozen {
    pub memtable: Arc<Memtable>,
    /// The write-ahead log that holds the writes after it.
    pub next_log: u64,
    /// The log with just its writes; `None` if they are in several, or in none.
    pub log: Option<FullLog>,
    /// Its first write.
    pub first: Sequence,
    /// Its last write.
    pub last: Sequence,
    /// Gets, while it was written, that found an entry in Level 0 which was not in the cache.
    pub level0_misses: u64,
}

/// A write-ahead log that takes no more writes.
pub(crate) struct FullLog {
    pub file: Arc<dyn File>,
    pub number: u64,
    /// Where its records end.
    pub len: u64,
}

/// An open database, but for its threads.
pub(crate) struct Core {
    pub options: Options,
    pub storage: Arc<dyn Storage>,
    /// The same, for what compaction writes.
    pub compaction_storage: Arc<dyn Storage>,
    publication: Publication<View>,
    pub pressure: Arc<Pressure>,
    pub snapshots: Arc<Snapshots>,
    pub cache: Arc<BlockCache>,
    pub memory: Memory,
    pub counters: Counters,
    /// Gets since a buffer was frozen last that found an entry in Level 0 which was not in the cache.
    pub level0_misses: Counter,
    levels: Mutex<Levels>,
    next_number: AtomicU64,
    failure: OnceLock<String>,
}

impl Core {
    /// With the file layer for most, and that for what compaction writes.
    pub fn new(
        options: Options,
        storage: (Arc<dyn Storage>, Arc<dyn Storage>),
        pressure: Arc<Pressure>,
        levels: Levels,
        memtable: Arc<Memtable>,
        visible: Sequence,
    ) -> Self {
        let version = Arc::clone(levels.version());
        let next_number = AtomicU64::new(levels.number() + 1);
        let memory = Memory::new(options.plan.memtable_bytes, options.cache_bytes - options.cache_bytes / 4);
        Self {
            options,
            storage: storage.0,
            compaction_storage: storage.1,
            publication: Publication::new(View { memtable, frozen: Vec::new(), version }, visible),
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

    /// What readers see now.
    pub fn view(&self) -> arc_swap::Guard<Arc<View>> {
        self.publication.view()
    }

    /// As [`Core::view`], to be held for long.
    pub fn view_to_keep(&self) -> Arc<View> {
        self.publication.view_to_keep()
    }

    /// The last write that readers may see. To be asked after [`Core::view`]: what it sees is in that view then, but
    /// for writes that came in between.
    pub fn visible(&self) -> Sequence {
        self.publication.visible()
    }

    /// Lets readers see all writes up to `last`, which are in the memory buffer.
    pub fn show(&self, last: Sequence) {
        self.publication.show(last);
    }

    /// A number that no file has.
    pub fn new_number(&self) -> u64 {
        self.next_number.fetch_add(1, Ordering::Relaxed)
    }

    /// The oldest state that someone looks at or will look at.
    pub fn oldest_snapshot(&self) -> Sequence {
        self.snapshots.oldest(|| self.visible())
    }

    /// Freezes the memory buffer, which holds the writes from `first` to `last`, in favour of an empty one with the log `next_log`.
    pub fn freeze(&self, log: Option<FullLog>, first: Sequence, last: Sequence, next_log: u64) -> Arc<Memtable> {
        let memtable = Arc::new(Memtable::new(self.options.plan.memtable_bytes));
        let memtable_full = Arc::clone(&self.view().memtable);
        let level0_misses = self.level0_misses.take();
        let full = Arc::new(Frozen { memtable: memtable_full, next_log, log, first, last, level0_misses });
        self.publication.change(|view| {
            let frozen = view.frozen.iter().cloned().chain([Arc::clone(&full)]).collect();
            View { memtable: Arc::clone(&memtable), frozen, version: Arc::clone(&view.version) }
        });
        memtable
    }

    /// Makes `change` durable and lets readers see it; `flushed` is the frozen buffer that it made superfluous.
    pub fn publish(&self, change: &Change, flushed: Option<&Arc<Frozen>>) -> Result<()> {
        {
            let mut levels = self.levels.lock();
            // Under the lock: nothing follows a record of the manifest that failed.
            self.check()?;
            let growth = self.level0_growth(levels.version());
            let version = self.guard(levels.apply(change, growth, self.new_number()))?;
            let (level0, batch_bytes) = (&version.level0, self.options.plan.batch_bytes(version.level1_bytes()));
            self.pressure.pace.set_debt(level0.bytes(), level0.list().len(), batch_bytes);
            self.publication.change(|view| {
                let stays = |frozen: &&Arc<Frozen>| flushed.is_none_or(|flushed| !Arc::ptr_eq(flushed, frozen));
                let frozen = view.frozen.iter().filter(stays).cloned().collect();
                View { memtable: Arc::clone(&view.memtable), frozen, version: Arc::clone(&version) }
            });
        }
        self.reclaim()
    }

    /// Gives back the space of runs that nobody reads any more.
    pub fn reclaim(&self) -> Result<()> {
        self.guard(self.grave().clear(&*self.storage))
    }

    /// Where runs go that nobody reads any more.
    pub fn grave(&self) -> Arc<Grave> {
        Arc::clone(&self.levels.lock().grave)
    }

    /// How many runs Level 0 gathers before it is compacted, about.
    pub fn level0_growth(&self, version: &Version) -> u64 {
        self.options.plan.batch_bytes(version.level1_bytes()) / self.options.plan.memtable_bytes + 1
    }

    /// The oldest write-ahead log that is needed.
    pub fn log(&self) -> u64 {
        self.levels.lock().log()
    }

    /// The number of the manifest in use.
    pub fn manifest_number(&self) -> u64 {
        self.levels.lock().number()
    }

    /// How much was written to manifests since the database was opened, in bytes.
    pub fn manifest_bytes(&self) -> u64 {
        self.levels.lock().written_bytes()
    }

    /// What is on the device, and the last write that is in it.
    pub fn flushed(&self) -> (Arc<Version>, Sequence) {
        let levels = self.levels.lock();
        (Arc::clone(levels.version()), levels.flushed())
    }

    pub fn write_options(&self, level: u8) -> WriteOptions {
        self.options.write_options(level)
    }

    /// Fails if an earlier failure has ended all writing.
    pub fn check(&self) -> Result<()> {
        match self.failure.get() {
            None => Ok(()),
            Some(reason) => Err(Error::Poisoned { reason: reason.clone() }),
        }
    }

    /// Ends all writing if `result` is a failure of files: what is on the device is not known from then on.
    pub fn guard<T>(&self, result: Result<T>) -> Result<T> {
        if let Err(error @ (Error::Io { .. } | Error::Corrupt { .. })) = &result {
            self.failure.get_or_init(|| error.to_string());
        }
        result
    }
}
