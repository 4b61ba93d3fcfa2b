//! rlsm's own state, once an interval.

use std::collections::BTreeMap;
use std::time::Duration;

use manometer_measure::{Clock, Column};
use rlsm::{Database, Stats};

use crate::engine::rates::Rates;
use crate::engine::{StateSampler, columns};

const COLUMNS: &[(&str, &str)] = &[
    ("level0_runs", "runs"),
    ("level0_bytes", "B"),
    ("level0_entries", "entries"),
    ("ranges", "ranges"),
    ("level1_runs", "runs"),
    ("range_runs_mean", "runs"),
    ("range_runs_max", "runs"),
    ("level1_bytes", "B"),
    ("level1_entries", "entries"),
    ("superseded_entries", "entries"),
    ("sorted_entries", "entries"),
    ("space_bytes", "B"),
    ("data_files", "files"),
    ("logs", "files"),
    ("index_bytes", "B"),
    ("memtable_bytes", "B"),
    ("compaction_memory_bytes", "B"),
    ("frozen_memtables", "memtables"),
    ("block_cache_bytes", "B"),
    ("snapshots", "snapshots"),
    ("postponed_ranges", "ranges"),
    ("sync_latency", "s"),
    ("sync_latency_usual", "s"),
    ("read_latency", "s"),
    ("read_latency_usual", "s"),
    ("write_amplification", "ratio"),
    ("flushes", "flushes/s"),
    ("compactions", "compactions/s"),
    ("compacting", "s/s"),
    ("stalls", "stalls/s"),
    ("stalled", "s/s"),
    ("slowdowns", "slowdowns/s"),
    ("slowed", "s/s"),
    ("squeezed", "s/s"),
    ("paused", "s/s"),
    ("lingered", "s/s"),
    ("block_cache_hits", "blocks/s"),
    ("block_cache_misses", "blocks/s"),
    ("user_written_bytes", "B/s"),
    ("wal_written_bytes", "B/s"),
    ("flush_written_bytes", "B/s"),
    ("compaction_written_bytes", "B/s"),
    ("rebalance_written_bytes", "B/s"),
    ("postponed_bytes", "B/s"),
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
        columns(COLUMNS)
    }

    fn sample(&mut self, clock: &dyn Clock) -> BTreeMap<String, f64> {
        // The folder could not be listed: a gap.
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
        ("postponed_ranges", stats.postponed_ranges),
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
        ("squeezed", stats.squeezed.as_secs_f64()),
        ("paused", stats.paused.as_secs_f64()),
        ("lingered", stats.lingered.as_secs_f64()),
        ("block_cache_hits", stats.cache_hits as f64),
        ("block_cache_misses", stats.cache_misses as f64),
        ("user_written_bytes", stats.user_bytes as f64),
        ("wal_written_bytes", stats.log_bytes as f64),
        ("flush_written_bytes", stats.flush_bytes as f64),
        ("compaction_written_bytes", stats.compaction_bytes as f64),
        ("rebalance_written_bytes", stats.rebalance_bytes as f64),
        ("postponed_bytes", stats.postponed_bytes as f64),
    ];
    counters.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
