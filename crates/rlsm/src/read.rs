//! Point look-ups: the memtables, then Level 0, then the one range of the key.

use crate::engine::{Engine, SuperVersion};
use crate::hash::hash;
use crate::run::Value;
use crate::{EntryKind, Result, SequenceNumber};

/// The value of `key` that `snapshot` sees.
pub(crate) fn get(
    engine: &Engine,
    superversion: &SuperVersion,
    key: &[u8],
    snapshot: SequenceNumber,
) -> Result<Option<Value>> {
    let Some((sequence, kind, value)) = newest(engine, superversion, key, snapshot)? else { return Ok(None) };
    if kind == EntryKind::Delete
        || newest_range_tombstone(superversion, key, snapshot).is_some_and(|delete| delete > sequence)
    {
        return Ok(None);
    }
    Ok(Some(value))
}

fn newest(
    engine: &Engine,
    superversion: &SuperVersion,
    key: &[u8],
    snapshot: SequenceNumber,
) -> Result<Option<(SequenceNumber, EntryKind, Value)>> {
    let hash = hash(key);
    let mut buffers = [&superversion.memtable]
        .into_iter()
        .chain(superversion.immutable_memtables.iter().rev().map(|immutable| &immutable.memtable));
    if let Some((sequence, kind, value)) = buffers.find_map(|memtable| memtable.get(hash, key, snapshot)) {
        return Ok(Some((sequence, kind, Value::from(value))));
    }
    let mut found = superversion.version.level0.get(&engine.cache, hash, key, snapshot)?;
    if found.as_ref().is_some_and(|found| !found.was_cached) {
        engine.level0_misses.add(1);
    }
    if found.is_none()
        && let Some(range) = superversion.version.range_of(key)
    {
        found = range.runs.get(&engine.cache, hash, key, snapshot)?;
    }
    Ok(found.map(|found| (found.sequence, found.kind, found.value)))
}

/// The newest range tombstone over `key` that `snapshot` sees.
fn newest_range_tombstone(superversion: &SuperVersion, key: &[u8], snapshot: SequenceNumber) -> Option<SequenceNumber> {
    let buffers = [&superversion.memtable]
        .into_iter()
        .chain(superversion.immutable_memtables.iter().map(|immutable| &immutable.memtable));
    let in_memory = buffers.filter_map(|memtable| memtable.range_tombstones().newest_covering(key, snapshot)).max();
    if !superversion.version.has_range_tombstones {
        return in_memory;
    }
    let range = superversion.version.range_of(key).into_iter().flat_map(|range| range.runs.range_tombstones());
    let over =
        |delete: &&crate::RangeTombstone| *delete.low <= *key && *key < *delete.high && delete.sequence <= snapshot;
    let in_runs =
        superversion.version.level0.range_tombstones().chain(range).filter(over).map(|delete| delete.sequence).max();
    in_memory.max(in_runs)
}
