//! The way of a look-up: memory, Level 0, the one range of the key.

use crate::core::{Core, View};
use crate::hash::hash;
use crate::run::Value;
use crate::{Kind, Result, Sequence};

/// The value of `key` as `snapshot` sees it.
pub(crate) fn get(core: &Core, view: &View, key: &[u8], snapshot: Sequence) -> Result<Option<Value>> {
    let Some((sequence, kind, value)) = newest(core, view, key, snapshot)? else { return Ok(None) };
    if kind == Kind::Delete || newest_range_delete(view, key, snapshot).is_some_and(|delete| delete > sequence) {
        return Ok(None);
    }
    Ok(Some(value))
}

fn newest(core: &Core, view: &View, key: &[u8], snapshot: Sequence) -> Result<Option<(Sequence, Kind, Value)>> {
    let hash = hash(key);
    let mut buffers = [&view.memtable].into_iter().chain(view.frozen.iter().rev().map(|frozen| &frozen.memtable));
    if let Some((sequence, kind, value)) = buffers.find_map(|memtable| memtable.get(hash, key, snapshot)) {
        return Ok(Some((sequence, kind, Value::from(value))));
    }
    let mut found = view.version.level0.get(&core.cache, hash, key, snapshot)?;
    if found.as_ref().is_some_and(|found| !found.was_here) {
        core.level0_misses.add(1);
    }
    if found.is_none()
        && let Some(range) = view.version.range_of(key)
    {
        found = range.runs.get(&core.cache, hash, key, snapshot)?;
    }
    Ok(found.map(|found| (found.sequence, found.kind, found.value)))
}

/// The newest deletion of a range of keys with `key` among them.
fn newest_range_delete(view: &View, key: &[u8], snapshot: Sequence) -> Option<Sequence> {
    let buffers = [&view.memtable].into_iter().chain(view.frozen.iter().map(|frozen| &frozen.memtable));
    let in_memory = buffers.filter_map(|memtable| memtable.range_deletes().newest_over(key, snapshot)).max();
    if !view.version.has_range_deletes {
        return in_memory;
    }
    let range = view.version.range_of(key).into_iter().flat_map(|range| range.runs.range_deletes());
    let over = |delete: &&crate::RangeDelete| *delete.low <= *key && *key < *delete.high && delete.sequence <= snapshot;
    let in_runs = view.version.level0.range_deletes().chain(range).filter(over).map(|delete| delete.sequence).max();
    in_memory.max(in_runs)
}
