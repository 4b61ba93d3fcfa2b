//! rlsm's own state, sampled once an interval.

use std::collections::BTreeMap;
use std::time::Duration;

use manometer_measure::{Clock, Column};
use rlsm::{Database, Stats};

use crate::engine::rates::Rates;
use crate::engine::{StateColumn, StateSampler, columns};

/// The columns of its state.
pub(super) const STATE: &[StateColumn] = &[
    ("level0_runs", "runs", "Flushed runs in level 0."),
    ("level0_bytes", "B", "Size of the runs in level 0."),
    ("level0_entries", "entries", "Versions of keys in level 0."),
    ("ranges", "ranges", "Key ranges of level 1."),
    ("level1_runs", "runs", "Runs of all ranges."),
    ("range_runs_mean", "runs", "Mean number of runs of a range."),
    ("range_runs_max", "runs", "Largest number of runs of a range."),
    ("level1_bytes", "B", "Size of the runs in level 1."),
    ("level1_entries", "entries", "Versions of keys in level 1."),
    ("superseded_entries", "entries", "Versions that newer ones supersede, by their fingerprints: an estimate."),
    ("sorted_entries", "entries", "Entries kept in key order because their range is scanned often."),
    ("space_bytes", "B", "Size of all its files on the device."),
    ("data_files", "files", "Files of runs."),
    ("logs", "files", "Write-ahead logs."),
    ("index_bytes", "B", "Tables of fingerprints, fences and samples, in memory."),
    ("memtable_bytes", "B", "Memtables, including those that wait to be flushed."),
    ("compaction_memory_bytes", "B", "Peak memory of the last compaction: the versions it worked on."),
    ("frozen_memtables", "memtables", "Memtables that wait to be flushed."),
    ("block_cache_bytes", "B", "Blocks and sorted views in the caches."),
    ("snapshots", "snapshots", "Open snapshots, including those of scans."),
    ("deferred_ranges", "ranges", "Ranges whose rewrite is deferred while the device is under pressure."),
    ("sync_latency", "s", "Median latency of a sync of the write-ahead log, with `feel_pressure`."),
    ("sync_latency_usual", "s", "Baseline of `sync_latency` without neighbours, learned at run time."),
    ("read_latency", "s", "Median latency of a block read from the device, with `feel_pressure`."),
    ("read_latency_usual", "s", "Baseline of `read_latency` without neighbours, learned at run time."),
    ("write_amplification", "ratio", "Bytes written / bytes put, since the database was opened."),
    ("flushes", "flushes/s", "Memtables that were flushed."),
    ("compactions", "compactions/s", "Files that compactions wrote."),
    ("compacting", "s/s", "Time that compactions took."),
    ("stalls", "stalls/s", "Times that a writer had to wait for a flush."),
    ("stalled", "s/s", "Time that writers waited for a flush, summed over writers."),
    ("slowdowns", "slowdowns/s", "Times that a writer was slowed down because compaction was behind."),
    ("slowed", "s/s", "Time that writers were slowed down, summed over writers."),
    ("under_pressure", "s/s", "Share of time that the device was under pressure, with `feel_pressure`."),
    ("paused", "s/s", "Time that compaction was paused under pressure."),
    ("lingered", "s/s", "Time that writers waited to share a sync under pressure, summed over writers."),
    ("block_cache_hits", "blocks/s", "Blocks found in the block cache."),
    ("block_cache_misses", "blocks/s", "Blocks that had to be read."),
    ("user_written_bytes", "B/s", "Keys and values that were put."),
    ("wal_written_bytes", "B/s", "Bytes written to the write-ahead log."),
    ("flush_written_bytes", "B/s", "Bytes written by flushes."),
    ("compaction_written_bytes", "B/s", "Bytes that compactions appended to ranges."),
    ("rebalance_written_bytes", "B/s", "Bytes written by range rewrites."),
    ("deferred_bytes", "B/s", "Bytes of ranges whose rewrite was deferred; a range counts each time."),
];

pub(super) struct RlsmState<'a> {
    database: &'a Database,
    rates: Rates,
}

impl<'a> RlsmState<'a> {
    pub(super) fn new(database: &'a Database) -> Self {
        Self { database, rates: Rates::default() }
    }
}

impl StateSampler for RlsmState<'_> {
    fn columns(&self) -> Vec<Column> {
        columns(STATE)
    }

    fn sample(&mut self, clock: &dyn Clock) -> BTreeMap<String, f64> {
        // The directory could not be listed: a gap.
        let Ok(stats) = self.database.stats() else { return BTreeMap::new() };
        let mut row = levels(&stats);
        self.rates.add(clock.now_ns(), counters(&stats), &mut row);
        row
    }
}

fn levels(stats: &Stats) -> BTreeMap<String, f64> {
    let always = [
        ("level0_runs", stats.level0_runs),
        ("level0_bytes", stats.level0_bytes),
        ("level0_entries", stats.level0_entries),
        ("ranges", stats.ranges),
        ("level1_runs", stats.level1_runs),
        ("range_runs_max", stats.range_runs_max),
        ("level1_bytes", stats.level1_bytes),
        ("level1_entries", stats.level1_entries),
        ("superseded_entries", stats.superseded_entries),
        ("sorted_entries", stats.sorted_entries),
        ("space_bytes", stats.space_bytes),
        ("data_files", stats.data_files),
        ("logs", stats.logs),
        ("index_bytes", stats.index_bytes),
        ("memtable_bytes", stats.memtable_bytes),
        ("compaction_memory_bytes", stats.compaction_memory_bytes),
        ("frozen_memtables", stats.frozen_memtables),
        ("block_cache_bytes", stats.cache_bytes),
        ("snapshots", stats.snapshots),
        ("deferred_ranges", stats.postponed_ranges),
    ];
    let seconds = |latency: Option<Duration>| latency.map(|latency| latency.as_secs_f64());
    let sometimes = [
        ("range_runs_mean", stats.range_runs_mean()),
        ("write_amplification", stats.write_amplification()),
        ("sync_latency", seconds(stats.sync_latency)),
        ("sync_latency_usual", seconds(stats.sync_latency_usual)),
        ("read_latency", seconds(stats.read_latency)),
        ("read_latency_usual", seconds(stats.read_latency_usual)),
    ];
    let always = always.into_iter().map(|(name, value)| (name, Some(value as f64)));
    always.chain(sometimes).filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

fn counters(stats: &Stats) -> BTreeMap<String, f64> {
    let counters = [
        ("flushes", stats.flushes as f64),
        ("compactions", stats.compactions as f64),
        ("compacting", stats.compacting.as_secs_f64()),
        ("stalls", stats.stalls as f64),
        ("stalled", stats.stalled.as_secs_f64()),
        ("slowdowns", stats.slowdowns as f64),
        ("slowed", stats.slowed.as_secs_f64()),
        ("under_pressure", stats.squeezed.as_secs_f64()),
        ("paused", stats.paused.as_secs_f64()),
        ("lingered", stats.lingered.as_secs_f64()),
        ("block_cache_hits", stats.cache_hits as f64),
        ("block_cache_misses", stats.cache_misses as f64),
        ("user_written_bytes", stats.user_bytes as f64),
        ("wal_written_bytes", stats.log_bytes as f64),
        ("flush_written_bytes", stats.flush_bytes as f64),
        ("compaction_written_bytes", stats.compaction_bytes as f64),
        ("rebalance_written_bytes", stats.rebalance_bytes as f64),
        ("deferred_bytes", stats.postponed_bytes as f64),
    ];
    counters.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
