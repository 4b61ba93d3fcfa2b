//! Statistics.

use std::time::Duration;

use crate::compaction::overdue_ranges;
use crate::engine::{Engine, SuperVersion};
use crate::file_name::FileName;
use crate::levels::RunSet;
use crate::run::Order;
use crate::storage::{Storage, list};
use crate::{Error, Result};

/// What a database has done since it was opened, and its current state.
///
/// ```
/// # fn main() -> rlsm::Result<()> {
/// # let directory = tempfile::tempdir().unwrap();
/// # let database = rlsm::Database::open(directory.path())?;
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
    /// Bytes of keys and values written by the user.
    pub user_bytes: u64,
    /// Bytes written to WALs.
    pub log_bytes: u64,
    /// Bytes written by flushes.
    pub flush_bytes: u64,
    /// Bytes that compactions appended to ranges.
    pub compaction_bytes: u64,
    /// Bytes that compactions wrote to rewrite ranges.
    pub rebalance_bytes: u64,
    /// Bytes written to manifests.
    pub manifest_bytes: u64,
    /// Memtables flushed.
    pub flushes: u64,
    /// Data files that compactions wrote.
    pub compactions: u64,
    /// Total time in compactions.
    pub compacting: Duration,
    /// Peak memory of the entries that the last compaction held, in bytes.
    pub compaction_memory_bytes: u64,
    /// How often writes stalled for a flush.
    pub stalls: u64,
    /// Total time of these stalls.
    pub stalled: Duration,
    /// How often writes were delayed because compaction was behind.
    pub slowdowns: u64,
    /// Total time of these delays.
    pub slowed: Duration,
    /// How often the device came under pressure from a neighbour, as measured with [`crate::Options::feel_pressure`].
    pub squeezes: u64,
    /// Total time under pressure.
    pub squeezed: Duration,
    /// The sizes of ranges, in bytes, summed each time that pressure postponed a rewrite.
    pub postponed_bytes: u64,
    /// Ranges whose rewrite is still postponed.
    pub postponed_ranges: u64,
    /// Total time that compaction paused under pressure.
    pub paused: Duration,
    /// Total time that group commits lingered for more writers under pressure.
    pub lingered: Duration,
    /// Median latency of WAL syncs in the last window of about a second with enough samples; `None` without
    /// [`crate::Options::feel_pressure`], or while the usual latency is not known.
    pub sync_latency: Option<Duration>,
    /// Median of the usual latencies of the same syncs, without a neighbour.
    pub sync_latency_usual: Option<Duration>,
    /// Median latency of block reads from the device; `None` as above.
    pub read_latency: Option<Duration>,
    /// Median of the usual latencies of the same reads, without a neighbour.
    pub read_latency_usual: Option<Duration>,
    /// Runs of Level 0.
    pub level0_runs: u64,
    /// Bytes that they take on the device.
    pub level0_bytes: u64,
    /// Versions of keys in them.
    pub level0_entries: u64,
    /// Key ranges of Level 1.
    pub ranges: u64,
    /// Runs of all ranges.
    pub level1_runs: u64,
    /// The largest number of runs in a range.
    pub range_runs_max: u64,
    /// Bytes that all runs of Level 1 take on the device.
    pub level1_bytes: u64,
    /// Versions of keys in them.
    pub level1_entries: u64,
    /// Entries of both levels that newer ones supersede: an estimate from fingerprints.
    pub superseded_entries: u64,
    /// Entries of both levels that are stored in key order.
    pub sorted_entries: u64,
    /// Keys and values of all entries of both levels, in bytes.
    pub entry_bytes: u64,
    /// Bytes that all files take on the device.
    pub space_bytes: u64,
    /// Data files.
    pub data_files: u64,
    /// WAL files, including those that have become runs.
    pub logs: u64,
    /// Memory of the maplets, fence pointers and key samples, in bytes.
    pub index_bytes: u64,
    /// Memory of all memtables, in bytes.
    pub memtable_bytes: u64,
    /// Versions of keys in them.
    pub memtable_entries: u64,
    /// Immutable memtables that wait to be flushed.
    pub frozen_memtables: u64,
    /// Memory of the block cache, of sorted views and of runs loaded by long scans, in bytes.
    pub cache_bytes: u64,
    /// Block cache hits.
    pub cache_hits: u64,
    /// Block cache misses.
    pub cache_misses: u64,
    /// Live snapshots, including those of iterators.
    pub snapshots: u64,
}

impl Stats {
    pub(crate) fn of(engine: &Engine) -> Result<Self> {
        let superversion = engine.owned_superversion();
        let files = FileTotals::of(&*engine.storage)?;
        let (done, levels, cache) = (&engine.counters, Level1Totals::of(&superversion), engine.cache.counts());
        let memtables = || {
            [&superversion.memtable]
                .into_iter()
                .chain(superversion.immutable_memtables.iter().map(|immutable| &immutable.memtable))
        };
        let level0 = &superversion.version.level0;
        let pressure = engine.pressure.stats();
        let (sync, read) = (pressure.sync, pressure.read);
        Ok(Self {
            user_bytes: done.user_bytes.get(),
            log_bytes: done.log_bytes.get(),
            flush_bytes: done.flush_bytes.get(),
            compaction_bytes: done.compaction_bytes.get(),
            rebalance_bytes: done.rebalance_bytes.get(),
            manifest_bytes: engine.manifest_bytes(),
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
            postponed_ranges: if engine.pressure.postponed_rewrites() > 0 {
                overdue_ranges(engine, &superversion.version).count() as u64
            } else {
                0
            },
            paused: pressure.paused,
            lingered: pressure.lingered,
            sync_latency: sync.map(|sync| Duration::from_nanos(sync.now_ns)),
            sync_latency_usual: sync.map(|sync| Duration::from_nanos(sync.usual_ns)),
            read_latency: read.map(|read| Duration::from_nanos(read.now_ns)),
            read_latency_usual: read.map(|read| Duration::from_nanos(read.usual_ns)),
            level0_runs: level0.list().len() as u64,
            level0_bytes: level0.bytes(),
            level0_entries: level0.entries(),
            ranges: superversion.version.ranges.len() as u64,
            level1_runs: levels.runs,
            range_runs_max: levels.range_runs_max,
            level1_bytes: levels.bytes,
            level1_entries: levels.entries,
            superseded_entries: levels.superseded_entries + level0.superseded_entries(),
            sorted_entries: superversion
                .version
                .runs()
                .filter(|run| run.order == Order::Key)
                .map(|run| run.entries)
                .sum(),
            entry_bytes: levels.user_bytes + user_bytes(level0),
            space_bytes: files.bytes,
            data_files: files.data,
            logs: files.logs,
            index_bytes: levels.index_bytes + level0.memory_bytes(),
            memtable_bytes: memtables().map(|memtable| memtable.bytes()).sum(),
            memtable_entries: memtables().map(|memtable| memtable.entries()).sum(),
            frozen_memtables: superversion.immutable_memtables.len() as u64,
            cache_bytes: engine.cache.memory_bytes(),
            cache_hits: cache.hits,
            cache_misses: cache.misses,
            snapshots: engine.snapshots.len() as u64,
        })
    }

    /// All bytes written since the database was opened.
    pub fn written_bytes(&self) -> u64 {
        self.log_bytes + self.flush_bytes + self.compaction_bytes + self.rebalance_bytes + self.manifest_bytes
    }

    /// Write amplification: bytes written per byte that the user wrote; `None` before the first write.
    pub fn write_amplification(&self) -> Option<f64> {
        ratio(self.written_bytes() as f64, self.user_bytes)
    }

    /// Mean number of runs per range; `None` without ranges.
    pub fn range_runs_mean(&self) -> Option<f64> {
        ratio(self.level1_runs as f64, self.ranges)
    }

    /// Memory of maplets, fence pointers and key samples per entry, in bytes.
    pub fn index_bytes_per_entry(&self) -> Option<f64> {
        ratio(self.index_bytes as f64, self.level0_entries + self.level1_entries)
    }
}

fn ratio(of: f64, to: u64) -> Option<f64> {
    (to > 0).then(|| of / to as f64)
}

fn user_bytes(runs: &RunSet) -> u64 {
    runs.list().iter().map(|run| run.user_bytes).sum()
}

/// Totals over the ranges of Level 1.
#[derive(Default)]
struct Level1Totals {
    runs: u64,
    range_runs_max: u64,
    bytes: u64,
    entries: u64,
    superseded_entries: u64,
    user_bytes: u64,
    index_bytes: u64,
}

impl Level1Totals {
    fn of(superversion: &SuperVersion) -> Self {
        let mut sums = Self::default();
        for range in superversion.version.ranges.iter() {
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

/// The engine's files in the directory.
#[derive(Default)]
struct FileTotals {
    data: u64,
    logs: u64,
    bytes: u64,
}

impl FileTotals {
    fn of(storage: &dyn Storage) -> Result<Self> {
        let mut files = Self::default();
        for name in list(storage)? {
            let Some(parsed) = FileName::parse(&name) else { continue };
            // A listed file may have been removed since.
            let Ok(file) = storage.open(&name) else { continue };
            files.bytes += file.allocated().map_err(Error::io("reading the size of", &name))?;
            files.data += u64::from(matches!(parsed, FileName::Data(_)));
            files.logs += u64::from(matches!(parsed, FileName::Wal(_)));
        }
        Ok(files)
    }
}
