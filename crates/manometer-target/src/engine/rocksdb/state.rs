//! RocksDB's own state, sampled once an interval from its properties, tickers and log.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use manometer_measure::{Clock, Column};
use rocksdb::properties;
use rocksdb::statistics::Ticker;

use super::RocksDb;
use super::options::{RawOption, value_of};
use crate::engine::{StateColumn, StateSampler, columns};

/// RocksDB's default of `num_levels`.
const LEVELS_USUAL: usize = 7;

/// The columns of its state.
pub(super) const STATE: &[StateColumn] = &[
    ("level<N>_bytes", "B", "Size of the tables in level N."),
    ("level<N>_files", "files", "Tables in level N."),
    ("blob_bytes", "B", "Live values in blob files, with `enable_blob_files`."),
    ("blob_files", "files", "Blob files."),
    ("compacting_bytes", "B", "Input of running compactions."),
    ("pending_compaction_bytes", "B", "Bytes pending compaction, as the engine estimates them."),
    ("running_compactions", "compactions", "Running compactions."),
    ("running_flushes", "flushes", "Memtables being written."),
    ("compactions", "compactions/s", "Compactions that ended."),
    ("flushes", "flushes/s", "Memtables that were written."),
    ("memtable_bytes", "B", "Memtables, including those being written."),
    ("block_cache_bytes", "B", "Blocks in the block cache."),
    ("write_stopped", "flag", "Whether writes are stopped until compaction has caught up."),
    ("delayed_write_rate", "B/s", "Delayed write rate; 0 if writes are not delayed."),
    ("stalled", "s/s", "Write-stall time, summed over writers."),
    ("block_cache_hits", "blocks/s", "Blocks found in the block cache."),
    ("block_cache_misses", "blocks/s", "Blocks that had to be read."),
    ("user_written_bytes", "B/s", "Keys and values that were put."),
    ("wal_written_bytes", "B/s", "Bytes written to the write-ahead log."),
    ("flush_written_bytes", "B/s", "Bytes written by flushes."),
    ("compaction_read_bytes", "B/s", "Bytes read by compactions."),
    ("compaction_written_bytes", "B/s", "Bytes written by compactions."),
    ("write_amplification", "ratio", "(WAL + flush + compaction bytes) / user bytes, since the database was opened."),
];

/// Tickers, with their columns and the factor to the column's unit.
const COUNTERS: [(&str, Ticker, f64); 8] = [
    ("stalled", Ticker::StallMicros, 1e-6),
    ("block_cache_hits", Ticker::BlockCacheHit, 1.0),
    ("block_cache_misses", Ticker::BlockCacheMiss, 1.0),
    ("user_written_bytes", Ticker::BytesWritten, 1.0),
    ("wal_written_bytes", Ticker::WalFileBytes, 1.0),
    ("flush_written_bytes", Ticker::FlushWriteBytes, 1.0),
    ("compaction_read_bytes", Ticker::CompactReadBytes, 1.0),
    ("compaction_written_bytes", Ticker::CompactWriteBytes, 1.0),
];

pub(super) struct RocksState<'a> {
    engine: &'a RocksDb,
    levels: usize,
    last: Option<(u64, BTreeMap<&'static str, f64>)>,
}

impl<'a> RocksState<'a> {
    pub(super) fn new(engine: &'a RocksDb) -> Self {
        Self { engine, levels: engine.levels(), last: None }
    }

    fn levels(&self, row: &mut BTreeMap<String, f64>) {
        let Ok(files) = self.engine.db.live_files() else { return };
        let mut levels = vec![(0.0, 0.0); self.levels];
        for file in files {
            let level = usize::try_from(file.level).ok().and_then(|level| levels.get_mut(level));
            if let Some((bytes, files)) = level {
                *bytes += file.size as f64;
                *files += 1.0;
            }
        }
        for (level, (bytes, files)) in levels.into_iter().enumerate() {
            row.insert(format!("level{level}_bytes"), bytes);
            row.insert(format!("level{level}_files"), files);
        }
    }

    /// Properties of blob files, for which the crate has no constants.
    fn blobs(&self, row: &mut BTreeMap<String, f64>) {
        let read = [("blob_bytes", "rocksdb.live-blob-file-size"), ("blob_files", "rocksdb.num-blob-files")];
        for (column, property) in read {
            if let Ok(Some(value)) = self.engine.db.property_int_value(property) {
                row.insert(column.to_owned(), value as f64);
            }
        }
    }

    fn properties(&self, row: &mut BTreeMap<String, f64>) {
        let read = [
            ("pending_compaction_bytes", properties::ESTIMATE_PENDING_COMPACTION_BYTES),
            ("running_compactions", properties::NUM_RUNNING_COMPACTIONS),
            ("running_flushes", properties::NUM_RUNNING_FLUSHES),
            ("memtable_bytes", properties::CUR_SIZE_ALL_MEM_TABLES),
            ("block_cache_bytes", properties::BLOCK_CACHE_USAGE),
            ("write_stopped", properties::IS_WRITE_STOPPED),
            ("delayed_write_rate", properties::ACTUAL_DELAYED_WRITE_RATE),
        ];
        for (column, property) in read {
            if let Ok(Some(value)) = self.engine.db.property_int_value(property) {
                row.insert(column.to_owned(), value as f64);
            }
        }
    }

    fn counters(&self, row: &mut BTreeMap<String, f64>) -> BTreeMap<&'static str, f64> {
        let background = self.engine.background.lock().unwrap_or_else(PoisonError::into_inner);
        row.insert("compacting_bytes".to_owned(), background.compacting_bytes() as f64);
        let mut counters = BTreeMap::from([
            ("compactions", background.compactions_total() as f64),
            ("flushes", background.flushes_total() as f64),
        ]);
        drop(background);
        for (column, ticker, factor) in COUNTERS {
            counters.insert(column, self.engine.options.get_ticker_count(ticker) as f64 * factor);
        }
        counters
    }
}

impl RocksDb {
    /// The number of levels, by the options in force.
    fn levels(&self) -> usize {
        let of = |given: &[RawOption]| value_of(given, "num_levels")?.trim().parse().ok();
        self.options_in_force().as_deref().and_then(of).or_else(|| of(&self.given)).unwrap_or(LEVELS_USUAL)
    }
}

impl StateSampler for RocksState<'_> {
    fn columns(&self) -> Vec<Column> {
        let of_levels = |name: &'static str, unit: &'static str| {
            (0..self.levels).map(move |level| Column::new(format!("level{level}_{name}"), unit))
        };
        of_levels("bytes", "B").chain(of_levels("files", "files")).chain(columns(STATE)).collect()
    }

    fn sample(&mut self, clock: &dyn Clock) -> BTreeMap<String, f64> {
        let mut row = BTreeMap::new();
        self.levels(&mut row);
        self.blobs(&mut row);
        self.properties(&mut row);
        let counters = self.counters(&mut row);
        let t_ns = clock.now_ns();
        if let Some(amplification) = write_amplification(&counters) {
            row.insert("write_amplification".to_owned(), amplification);
        }
        if let Some((last_ns, last)) = self.last.as_ref().filter(|(last_ns, _)| t_ns > *last_ns) {
            let seconds = (t_ns - last_ns) as f64 / 1e9;
            let rates = counters.iter().filter_map(|(name, now)| Some((*name, (now - last.get(name)?) / seconds)));
            row.extend(rates.map(|(name, rate)| (name.to_owned(), rate)));
        }
        self.last = Some((t_ns, counters));
        row
    }
}

/// Bytes written to the device per byte written by the user, since the database was opened.
fn write_amplification(counters: &BTreeMap<&'static str, f64>) -> Option<f64> {
    let of = |name| counters.get(name).copied();
    let device = of("wal_written_bytes")? + of("flush_written_bytes")? + of("compaction_written_bytes")?;
    let user = of("user_written_bytes").filter(|bytes| *bytes > 0.0)?;
    Some(device / user)
}
