//! What a database has done since it was opened, and how it stands.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::compact::overdue;
use crate::core::{Core, View};
use crate::levels::Runs;
use crate::names::FileName;
use crate::run::Order;
use crate::storage::Storage;
use crate::{Error, Result};

/// Something that is counted by many threads and read now and then.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    #[inline]
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// For what is told of the last time, not counted.
    pub fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// What came together since the last time.
    pub fn take(&self) -> u64 {
        self.0.swap(0, Ordering::Relaxed)
    }
}

/// What was done since the database was opened.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub user_bytes: Counter,
    pub log_bytes: Counter,
    pub flushes: Counter,
    pub flush_bytes: Counter,
    pub compactions: Counter,
    pub compaction_bytes: Counter,
    pub rebalance_bytes: Counter,
    pub compacting_ns: Counter,
    pub compaction_memory_bytes: Counter,
    pub stalls: Counter,
    pub stalled_ns: Counter,
    pub slowdowns: Counter,
    pub slowed_ns: Counter,
}

/// What a database has done since it was opened, and how it stands.
///
/// ```
/// # fn main() -> rlsm::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let database = rlsm::Database::open(folder.path())?;
/// database.put(b"apple", b"green")?;
/// let stats = database.stats()?;
/// assert_eq!(stats.user_bytes, 10);
/// assert!(stats.write_amplification().is_some_and(|times| times > 1.0));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// Keys and values written since the database was opened, in bytes.
    pub user_bytes: u64,
    /// Bytes written to write-ahead logs since then.
    pub log_bytes: u64,
    /// Bytes written by flushes since then.
    pub flush_bytes: u64,
    /// Bytes that compaction appended to ranges since then.
    pub compaction_bytes: u64,
    /// Bytes written since then to write ranges anew.
    pub rebalance_bytes: u64,
    /// Bytes written to manifests since then.
    pub manifest_bytes: u64,
    /// Memory buffers flushed since then.
    pub flushes: u64,
    /// Data files that compactions wrote since then.
    pub compactions: u64,
    /// How long compactions took, summed.
    pub compacting: Duration,
    /// What the versions that the last compaction worked on took in memory at most, in bytes.
    pub compaction_memory_bytes: u64,
    /// How often a writer had to wait for a flush since then.
    pub stalls: u64,
    /// How long, summed.
    pub stalled: Duration,
    /// How often a writer was slowed down because compaction was behind.
    pub slowdowns: u64,
    /// How long, summed.
    pub slowed: Duration,
    /// How often a neighbour began to squeeze the device, as far as [`crate::Options::feel_pressure`] tells.
    pub squeezes: u64,
    /// How long it did, summed.
    pub squeezed: Duration,
    /// The sizes of ranges, in bytes, each time that rewriting one was put off because of that.
    pub postponed_bytes: u64,
    /// Ranges whose rewriting is still put off.
    pub postponed_ranges: u64,
    /// How long compaction paused because of that.
    pub paused: Duration,
    /// How long writers waited for others to share a sync with because of that.
    pub lingered: Duration,
    /// What a sync of the log took in the last second that tells; `None` if pressure is not felt, or what is usual is not
    /// known yet. The median, like the three below.
    pub sync_latency: Option<Duration>,
    /// What it takes without a neighbour.
    pub sync_latency_usual: Option<Duration>,
    /// What a read of a block from the device took; `None` as above.
    pub read_latency: Option<Duration>,
    /// What it takes without a neighbour.
    pub read_latency_usual: Option<Duration>,
    /// Runs in Level 0.
    pub level0_runs: u64,
    /// What they take on the device, in bytes.
    pub level0_bytes: u64,
    /// The versions of keys in them.
    pub level0_entries: u64,
    /// Key ranges of Level 1.
    pub ranges: u64,
    /// Their runs.
    pub level1_runs: u64,
    /// The most runs that a range has.
    pub range_runs_max: u64,
    /// What all runs of Level 1 take on the device, in bytes.
    pub level1_bytes: u64,
    /// The versions of keys in them.
    pub level1_entries: u64,
    /// Entries of both levels that newer ones supersede, as fingerprints tell: an estimate.
    pub superseded_entries: u64,
    /// Entries of both levels that lie in the order of their keys, as those do that are scanned much.
    pub sorted_entries: u64,
    /// Keys and values of all entries of both levels, in bytes.
    pub entry_bytes: u64,
    /// What all files of the database take on the device, in bytes.
    pub space_bytes: u64,
    /// Files of runs.
    pub data_files: u64,
    /// Files of write-ahead logs, those that have become runs included.
    pub logs: u64,
    /// What tables of fingerprints, fences and samples take in memory, in bytes.
    pub index_bytes: u64,
    /// What memory buffers take, those that wait to be flushed included, in bytes.
    pub memtable_bytes: u64,
    /// The versions of keys in them.
    pub memtable_entries: u64,
    /// Memory buffers that wait to be flushed.
    pub frozen_memtables: u64,
    /// What the caches of blocks and of sorted views take in memory, and what long scans loaded, in bytes.
    pub cache_bytes: u64,
    /// Blocks found in the cache since the database was opened.
    pub cache_hits: u64,
    /// Blocks that had to be read.
    pub cache_misses: u64,
    /// Snapshots alive, those of iterators included.
    pub snapshots: u64,
}

impl Stats {
    pub(crate) fn of(core: &Core) -> Result<Self> {
        let view = core.view_to_keep();
        let files = Files::of(&*core.storage)?;
        let (done, levels, cache) = (&core.counters, Levels::of(&view), core.cache.counts());
        let memtables = || [&view.memtable].into_iter().chain(view.frozen.iter().map(|frozen| &frozen.memtable));
        let level0 = &view.version.level0;
        let pressure = core.pressure.told();
        let (sync, read) = (pressure.sync, pressure.read);
        Ok(Self {
            user_bytes: done.user_bytes.get(),
            log_bytes: done.log_bytes.get(),
            flush_bytes: done.flush_bytes.get(),
            compaction_bytes: done.compaction_bytes.get(),
            rebalance_bytes: done.rebalance_bytes.get(),
            manifest_bytes: core.manifest_bytes(),
            flushes: done.flushes.get(),
            compactions: done.compactions.get(),
            compacting: Duration::from_nanos(done.compacting_ns.get()),
            compaction_memory_bytes: done.compaction_memory_bytes.get(),
            stalls: done.stalls.get(),
            stalled: Duration::from_nanos(done.stalled_ns.get()),
            slowdowns: done.slowdowns.get(),
            slowed: Duration::from_nanos(done.slowed_ns.get()),
            squeezes: pressure.squeezes,
            squeezed: pressure.squeezed,
            postponed_bytes: pressure.postponed_bytes,
            postponed_ranges: if core.pressure.owed() > 0 { overdue(core, &view.version).count() as u64 } else { 0 },
            paused: pressure.paused,
            lingered: pressure.lingered,
            sync_latency: sync.map(|sync| Duration::from_nanos(sync.now_ns)),
            sync_latency_usual: sync.map(|sync| Duration::from_nanos(sync.usual_ns)),
            read_latency: read.map(|read| Duration::from_nanos(read.now_ns)),
            read_latency_usual: read.map(|read| Duration::from_nanos(read.usual_ns)),
            level0_runs: level0.list().len() as u64,
            level0_bytes: level0.bytes(),
            level0_entries: level0.entries(),
            ranges: view.version.ranges.len() as u64,
            level1_runs: levels.runs,
            range_runs_max: levels.range_runs_max,
            level1_bytes: levels.bytes,
            level1_entries: levels.entries,
            superseded_entries: levels.superseded_entries + level0.superseded_entries(),
            sorted_entries: view.version.runs().filter(|run| run.order == Order::Key).map(|run| run.entries).sum(),
            entry_bytes: levels.user_bytes + user_bytes(level0),
            space_bytes: files.bytes,
            data_files: files.data,
            logs: files.logs,
            index_bytes: levels.index_bytes + level0.memory_bytes(),
            memtable_bytes: memtables().map(|memtable| memtable.bytes()).sum(),
            memtable_entries: memtables().map(|memtable| memtable.entries()).sum(),
            frozen_memtables: view.frozen.len() as u64,
            cache_bytes: core.cache.memory_bytes(),
            cache_hits: cache.hits,
            cache_misses: cache.misses,
            snapshots: core.snapshots.len() as u64,
        })
    }

    /// All bytes written since the database was opened.
    pub fn written_bytes(&self) -> u64 {
        self.log_bytes + self.flush_bytes + self.compaction_bytes + self.rebalance_bytes + self.manifest_bytes
    }

    /// Bytes written for each byte that the user wrote; `None` before the first.
    pub fn write_amplification(&self) -> Option<f64> {
        ratio(self.written_bytes() as f64, self.user_bytes)
    }

    /// Runs of a range, on average; `None` without a range.
    pub fn range_runs_mean(&self) -> Option<f64> {
        ratio(self.level1_runs as f64, self.ranges)
    }

    /// What tables of fingerprints, fences and samples take in memory for each entry of the levels, in bytes.
    pub fn index_bytes_per_entry(&self) -> Option<f64> {
        ratio(self.index_bytes as f64, self.level0_entries + self.level1_entries)
    }
}

fn ratio(of: f64, to: u64) -> Option<f64> {
    (to > 0).then(|| of / to as f64)
}

fn user_bytes(runs: &Runs) -> u64 {
    runs.list().iter().map(|run| run.user_bytes).sum()
}

/// What the ranges of Level 1 come to.
#[derive(Default)]
struct Levels {
    runs: u64,
    range_runs_max: u64,
    bytes: u64,
    entries: u64,
    superseded_entries: u64,
    user_bytes: u64,
    index_bytes: u64,
}

impl Levels {
    fn of(view: &View) -> Self {
        let mut sums = Self::default();
        for range in view.version.ranges.iter() {
            let runs = range.runs.list().len() as u64;
            sums.runs += runs;
            sums.range_runs_max = sums.range_runs_max.max(runs);
            sums.bytes += range.runs.bytes();
            sums.entries += range.runs.entries();
            sums.superseded_entries += range.runs.superseded_entries();
            sums.user_bytes += user_bytes(&range.runs);
            sums.index_bytes += range.runs.memory_bytes();
        }
        sums
    }
}

/// The engine's files in a folder.
#[derive(Default)]
struct Files {
    data: u64,
    logs: u64,
    bytes: u64,
}

impl Files {
    fn of(storage: &dyn Storage) -> Result<Self> {
        let mut files = Self::default();
        for name in storage.list().map_err(Error::io("listing", "the folder"))? {
            let Some(parsed) = FileName::parse(&name) else { continue };
            // One that was listed may have been removed since.
            let Ok(file) = storage.open(&name) else { continue };
            files.bytes += file.allocated().map_err(Error::io("telling the size of", &name))?;
            files.data += u64::from(matches!(parsed, FileName::Data(_)));
            files.logs += u64::from(matches!(parsed, FileName::Wal(_)));
        }
        Ok(files)
    }
}
