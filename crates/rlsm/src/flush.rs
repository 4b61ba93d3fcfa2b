//! From a frozen memory buffer to a run of Level 0.

use std::sync::Arc;

use crate::compact::compact;
use crate::core::{Core, Frozen};
use crate::entry::Entry;
use crate::keep::Keep;
use crate::levels::{Change, LiveRun};
use crate::names::FileName;
use crate::options::Flush;
use crate::plan::LEVEL0_RUNS_MAX;
use crate::run::{ENTRIES_FEW, FileWriter, Hashes, MISS_COST, Order, index_log};
use crate::{Error, RangeDelete, Result};

/// To make a file costs as much as to write so many bytes.
const FEW_BYTES: u64 = 1 << 20;

/// Flushes all frozen buffers, and compacts where Level 0 has no room for them. For who keeps all others from it.
pub(crate) fn flush_all(core: &Core) -> Result<()> {
    while !core.view().frozen.is_empty() {
        if !flush(core)? {
            compact(core, true)?;
        }
    }
    Ok(())
}

/// Flushes the oldest frozen buffer, if there is one and Level 0 has room for it, and says whether it did.
pub(crate) fn flush(core: &Core) -> Result<bool> {
    let view = core.view_to_keep();
    let Some(frozen) = view.frozen.first().cloned() else { return Ok(false) };
    if view.version.level0.list().len() >= LEVEL0_RUNS_MAX {
        return Ok(false);
    }
    drop(view);
    core.storage.reach("flush: before the run is written");
    let level0_added = core.guard(write_run(core, &frozen))?;
    // A log that has become a run is removed along with it, and one that held nothing at the next opening.
    let is_copied = level0_added.as_ref().is_some_and(|(run, _)| run.order != Order::Log);
    core.storage.reach("flush: after the run is written");
    let change = Change { log: Some(frozen.next_log), flushed: Some(frozen.last), level0_added, ..Change::default() };
    core.publish(&change, Some(&frozen))?;
    core.storage.reach("flush: after the run is in the levels");
    if let Some(log) = frozen.log.as_ref().filter(|_| is_copied) {
        let name = FileName::Wal(log.number).to_string();
        core.storage.reach("flush: before a log is removed");
        core.guard(core.storage.remove(&name).map_err(Error::io("removing", &name)))?;
    }
    Ok(true)
}

fn write_run(core: &Core, frozen: &Frozen) -> Result<Option<(Arc<LiveRun>, Hashes)>> {
    // A run that iterators will ask for much is worth a copy in the order of keys.
    let is_scanned = frozen.memtable.is_scanned();
    let is_log_kept = core.options.flush == Flush::Index && !is_scanned && !is_read(core, frozen);
    let log = frozen.log.as_ref().filter(|_| is_log_kept);
    if let Some(log) = log
        && let Some((run, hashes)) = index_log(Arc::clone(&log.file), log.number, log.len)?
    {
        core.counters.flushes.add(1);
        core.counters.flush_bytes.add(run.file.len - log.len);
        return Ok(Some((LiveRun::new(run, &core.grave()), hashes)));
    }
    copy(core, frozen, if is_scanned { Order::Key } else { Order::Hash })
}

/// Whether gets read Level 0 for more than a copy in the order of hashes costs. In a log each of them reads a page of
/// the index and one for the entry, among blocks one page; but a block of large entries has several.
fn is_read(core: &Core, frozen: &Frozen) -> bool {
    let bytes = frozen.memtable.user_bytes();
    let few_fit = frozen.memtable.entries() * u64::from(core.options.block_bytes) < bytes * u64::from(ENTRIES_FEW);
    let lost = frozen.level0_misses * MISS_COST;
    !few_fit && lost > bytes.max(FEW_BYTES) && !core.pressure.is_squeezed()
}

fn copy(core: &Core, frozen: &Frozen, order: Order) -> Result<Option<(Arc<LiveRun>, Hashes)>> {
    let deletes: Vec<RangeDelete> = frozen.memtable.range_deletes().iter().cloned().collect();
    let mut writer = FileWriter::create(&*core.storage, core.new_number(), &core.write_options(0))?;
    let run = writer.run(order, false, frozen.first);
    let mut keep = Keep::new(core.oldest_snapshot(), &deletes, false);
    let mut push = |entry: Entry<'_>| if keep.needs(&entry) { writer.push(run, entry) } else { Ok(()) };
    match order {
        Order::Key => frozen.memtable.in_key_order().try_for_each(&mut push)?,
        Order::Hash | Order::Log => frozen.memtable.in_hash_order().try_for_each(&mut push)?,
    }
    for delete in &deletes {
        writer.range_delete(run, delete.clone());
    }
    core.storage.reach("flush: before the run is synced");
    let (file, runs, hashes) = writer.finish()?;
    core.counters.flushes.add(1);
    core.counters.flush_bytes.add(file.len);
    core.storage.reach("flush: before the run's name is synced");
    core.storage.sync_names().map_err(Error::io("syncing", "the folder"))?;
    let grave = core.grave();
    let run = runs.into_iter().zip(hashes).next();
    Ok(run.map(|(run, hashes)| (LiveRun::new(run, &grave), hashes)))
}
