//! Flushing: an immutable memtable becomes a run of Level 0.

use std::sync::Arc;

use crate::compaction::compact_level0;
use crate::engine::{Engine, ImmutableMemtable};
use crate::entry::Entry;
use crate::file_name::FileName;
use crate::levels::{LiveRun, VersionUpdate};
use crate::options::Flush;
use crate::plan::LEVEL0_RUNS_MAX;
use crate::retention::RetentionFilter;
use crate::run::{BLOCK_ENTRIES_MIN, BLOCK_READ_COST, DataFileWriter, HashColumn, Order, index_log};
use crate::storage::sync_directory;
use crate::{Error, RangeTombstone, Result};

/// Creating a file costs about as much as writing this many bytes.
const FILE_COST_BYTES: u64 = 1 << 20;

/// Flushes all immutable memtables, and compacts where Level 0 has no room. The caller excludes all other maintenance.
pub(crate) fn flush_all(engine: &Engine) -> Result<()> {
    while !engine.superversion().immutable_memtables.is_empty() {
        if !flush(engine)? {
            compact_level0(engine, true)?;
        }
    }
    Ok(())
}

/// Flushes the oldest immutable memtable if there is one and Level 0 has room. Returns whether it did.
pub(crate) fn flush(engine: &Engine) -> Result<bool> {
    let superversion = engine.owned_superversion();
    let Some(immutable) = superversion.immutable_memtables.first().cloned() else { return Ok(false) };
    if superversion.version.level0.list().len() >= LEVEL0_RUNS_MAX {
        return Ok(false);
    }
    drop(superversion);
    engine.storage.fail_point("flush: before the run is written");
    let level0_added = engine.poison_on_error(write_run(engine, &immutable))?;
    // A WAL that has become a run is removed with the run, one without writes at the next opening.
    let is_copied = level0_added.as_ref().is_some_and(|(run, _)| run.order != Order::Log);
    engine.storage.fail_point("flush: after the run is written");
    let change = VersionUpdate {
        log: Some(immutable.next_log),
        flushed: Some(immutable.last),
        level0_added,
        ..VersionUpdate::default()
    };
    engine.publish(&change, Some(&immutable))?;
    engine.storage.fail_point("flush: after the run is published");
    if let Some(log) = immutable.log.as_ref().filter(|_| is_copied) {
        let name = FileName::Wal(log.number).to_string();
        engine.storage.fail_point("flush: before a WAL is removed");
        engine.poison_on_error(engine.storage.remove(&name).map_err(Error::io("removing", &name)))?;
    }
    Ok(true)
}

fn write_run(engine: &Engine, immutable: &ImmutableMemtable) -> Result<Option<(Arc<LiveRun>, HashColumn)>> {
    // A memtable that is scanned often is worth a copy in key order.
    let is_scanned = immutable.memtable.is_scanned();
    let is_log_kept = engine.options.flush == Flush::Index && !is_scanned && !is_read_heavy(engine, immutable);
    let log = immutable.log.as_ref().filter(|_| is_log_kept);
    if let Some(log) = log
        && let Some((run, hashes)) = index_log(Arc::clone(&log.file), log.number, log.len)?
    {
        engine.counters.flushes.add(1);
        engine.counters.flush_bytes.add(run.file.len - log.len);
        return Ok(Some((LiveRun::new(run, &engine.reclaimer()), hashes)));
    }
    copy_memtable(engine, immutable, if is_scanned { Order::Key } else { Order::Hash })
}

/// Whether gets lose more in Level 0 than a copy in hash order costs. In a log run a get reads an index page and a page
/// with the entry, in blocks just one page; but a block of large entries takes several.
fn is_read_heavy(engine: &Engine, immutable: &ImmutableMemtable) -> bool {
    let bytes = immutable.memtable.user_bytes();
    let few_fit =
        immutable.memtable.entries() * u64::from(engine.options.block_bytes) < bytes * u64::from(BLOCK_ENTRIES_MIN);
    let lost = immutable.level0_misses * BLOCK_READ_COST;
    !few_fit && lost > bytes.max(FILE_COST_BYTES) && !engine.pressure.is_under_pressure()
}

fn copy_memtable(
    engine: &Engine,
    immutable: &ImmutableMemtable,
    order: Order,
) -> Result<Option<(Arc<LiveRun>, HashColumn)>> {
    let deletes: Vec<RangeTombstone> = immutable.memtable.range_tombstones().iter().cloned().collect();
    let mut writer = DataFileWriter::create(&*engine.storage, engine.next_file_number(), &engine.write_options(0))?;
    let run = writer.run(order, false, immutable.first);
    let mut retention = RetentionFilter::new(engine.oldest_snapshot(), &deletes, false);
    let mut push = |entry: Entry<'_>| if retention.retains(&entry) { writer.push(run, entry) } else { Ok(()) };
    match order {
        Order::Key => immutable.memtable.in_key_order().try_for_each(&mut push)?,
        Order::Hash | Order::Log => immutable.memtable.in_hash_order().try_for_each(&mut push)?,
    }
    for delete in &deletes {
        writer.range_delete(run, delete.clone());
    }
    engine.storage.fail_point("flush: before the run is synced");
    let (file, runs, hashes) = writer.finish()?;
    engine.counters.flushes.add(1);
    engine.counters.flush_bytes.add(file.len);
    engine.storage.fail_point("flush: before the directory is synced");
    sync_directory(&*engine.storage)?;
    let reclaimer = engine.reclaimer();
    let run = runs.into_iter().zip(hashes).next();
    Ok(run.map(|(run, hashes)| (LiveRun::new(run, &reclaimer), hashes)))
}
