//! Opening a database: recover the levels from the manifest, replay the WALs, remove unneeded files.

use std::sync::Arc;

use crate::engine::Engine;
use crate::file_name::FileName;
use crate::flush::flush_all;
use crate::levels::{RecoveredLevels, VersionSet, recover};
use crate::log::{LogEnd, LogKind, LogReader};
use crate::memory::{Memtable, decode};
use crate::options::{Maintenance, Options};
use crate::pressure::{Pressure, PressureSource, measure_storage};
use crate::storage::{Storage, list};
use crate::write_pipeline::WritePipeline;
use crate::{Error, Result, SequenceNumber};

/// What opening a database found and did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecoveryReport {
    /// Whether the directory held no database.
    pub is_new: bool,
    /// Number of WALs replayed.
    pub logs: u64,
    /// Number of batches replayed.
    pub batches: u64,
    /// Bytes after the last whole record of a WAL or of the manifest: a crash cut them off before they were
    /// acknowledged as durable.
    pub torn_bytes: u64,
    /// Unfinished files of a crash, which were removed.
    pub removed: Vec<String>,
}

/// A database that is open, without its threads.
pub(crate) struct OpenedDatabase {
    pub engine: Engine,
    pub pipeline: WritePipeline,
    pub recovery: RecoveryReport,
    pub lock: Box<dyn Send + std::marker::Sync>,
}

pub(crate) fn open(storage: Arc<dyn Storage>, options: Options) -> Result<OpenedDatabase> {
    let lock = storage.lock().map_err(Error::io("locking", crate::file_name::LOCK))?;
    let lock = lock.ok_or_else(|| Error::Locked { directory: storage.description() })?;
    let storage = options.read.on(storage).map_err(Error::io("reserving memory for", "its files"))?;
    let pressure = Arc::new(Pressure::new(options.pressure_source, options.maintenance == Maintenance::Background));
    let storages = match options.pressure_source {
        PressureSource::Off => (Arc::clone(&storage), Arc::clone(&storage)),
        PressureSource::Measured | PressureSource::Alternating => measure_storage(storage, &pressure),
    };
    let storage = Arc::clone(&storages.0);
    // How many runs Level 0 collects depends on the data, which is not known yet.
    let found = recover(&*storage, 4)?;
    let mut recovery =
        RecoveryReport { is_new: found.is_new, torn_bytes: found.torn_bytes, ..RecoveryReport::default() };
    storage.fail_point("open: before the WALs are replayed");
    let memtable = Arc::new(Memtable::new(options.plan.memtable_bytes));
    let replayed = replay(&*storage, &found, &memtable, &mut recovery)?;
    storage.fail_point("open: before a new manifest is started");
    // WALs without writes beyond the levels are not needed: the next one to be created is then the oldest needed.
    let number = found.next_number;
    let needed = found.logs.first().copied().filter(|_| !memtable.is_empty());
    let log = needed.unwrap_or(number + 1);
    let manifest_bytes = options.manifest_bytes;
    let (reclaimer, version, flushed) = (found.reclaimer, found.version, found.flushed);
    let levels = VersionSet::begin(Arc::clone(&storage), reclaimer, version, log, flushed, number, manifest_bytes)?;
    let first = found.flushed + 1;
    let engine = Engine::new(options, storages, pressure, levels, memtable, replayed);
    storage.fail_point("open: before a WAL is created");
    let mut pipeline = WritePipeline::begin(&engine, engine.next_file_number(), first, replayed + 1)?;
    // Replayed writes are flushed at once, so that their WALs can be removed.
    storage.fail_point("open: before replayed writes are flushed");
    pipeline.rotate_memtable(&engine)?;
    flush_all(&engine)?;
    storage.fail_point("open: after replayed writes are flushed");
    pipeline.forget_wals_before(engine.log());
    pipeline.sync(&engine)?;
    for name in unneeded(&*storage, &engine, &found.unpublished)? {
        storage.fail_point("open: before an unneeded file is removed");
        storage.remove(&name).map_err(Error::io("removing", &name))?;
        recovery.removed.extend(found.unpublished.contains(&name).then_some(name));
    }
    Ok(OpenedDatabase { engine, pipeline, recovery, lock })
}

/// Old manifests and WALs, and what a crash left behind.
fn unneeded(storage: &dyn Storage, engine: &Engine, unpublished: &[String]) -> Result<Vec<String>> {
    let (manifest, log, reclaimer) = (engine.manifest_number(), engine.log(), engine.reclaimer());
    let is_old = |name: &String| match FileName::parse(name) {
        Some(FileName::Manifest(number)) => number < manifest,
        Some(FileName::Wal(number)) => number < log && !reclaimer.is_file_in_use(number),
        _ => unpublished.contains(name),
    };
    Ok(list(storage)?.into_iter().filter(is_old).collect())
}

/// Where the sequence of WAL records breaks off.
struct TornWal {
    file: String,
    offset: u64,
    problem: &'static str,
}

/// Applies the writes that the WALs hold beyond the levels to `memtable`, up to the first break. Returns the last
/// write.
fn replay(
    storage: &dyn Storage,
    found: &RecoveredLevels,
    memtable: &Memtable,
    recovery: &mut RecoveryReport,
) -> Result<SequenceNumber> {
    let mut last = found.flushed;
    let mut tear: Option<TornWal> = None;
    let mut before = None;
    for &number in &found.logs {
        let name = FileName::Wal(number).to_string();
        let mut reader = LogReader::open(storage, LogKind::Wal, number)?;
        if tear.is_some() && follows(storage, number, last)? {
            // Only an index that was being appended after the records is torn.
            tear = None;
        }
        if tear.is_none() {
            recovery.logs += 1;
            tear = replay_log(&mut reader, &name, before, memtable, &mut last, recovery)?;
        } else {
            recovery.torn_bytes += reader.len() - reader.offset();
        }
        if let Some(tear) = &tear {
            refuse_damage(tear, &mut reader, &name)?;
        }
        before = Some((name, reader.len()));
    }
    Ok(last)
}

/// Whether the first write of a WAL is the one after `last`.
fn follows(storage: &dyn Storage, number: u64, last: SequenceNumber) -> Result<bool> {
    let mut reader = LogReader::open(storage, LogKind::Wal, number)?;
    let Some(record) = reader.next() else { return Ok(false) };
    let name = FileName::Wal(number).to_string();
    Ok(decode(record.payload, &name, record.offset)?.first == last + 1)
}

/// Replays one WAL. `before` is the name and length of the WAL before it.
fn replay_log(
    reader: &mut LogReader,
    name: &str,
    before: Option<(String, u64)>,
    memtable: &Memtable,
    last: &mut SequenceNumber,
    recovery: &mut RecoveryReport,
) -> Result<Option<TornWal>> {
    let len = reader.len();
    while let Some(record) = reader.next() {
        let batch = decode(record.payload, name, record.offset)?;
        if batch.first > *last + 1 {
            // Writes in between are missing: the WAL before this one lost its end.
            let problem = "the writes between its last record and the next WAL are missing";
            let Some((file, offset)) = before else {
                return Err(Error::corrupt(
                    name,
                    record.offset,
                    "the writes before its first record are missing: the WAL before it is gone or cut off",
                ));
            };
            recovery.torn_bytes += len - record.offset;
            return Ok(Some(TornWal { file, offset, problem }));
        }
        if batch.first == *last + 1 {
            memtable.apply(batch.first, batch.operations());
            *last = batch.next_sequence() - 1;
            recovery.batches += 1;
        }
    }
    Ok(match reader.end() {
        LogEnd::Clean => None,
        LogEnd::Torn { offset, problem } | LogEnd::Damaged { offset, problem, .. } => {
            recovery.torn_bytes += reader.len() - offset;
            Some(TornWal { file: name.to_owned(), offset, problem })
        }
    })
}

/// A crash tears nothing that was durable. A record written after a sync proves that what comes before it was.
fn refuse_damage(tear: &TornWal, reader: &mut LogReader, name: &str) -> Result<()> {
    let was_synced = match reader.end() {
        LogEnd::Damaged { was_synced, .. } if was_synced => true,
        // Records before the break in the same WAL prove nothing about it.
        _ => name != tear.file && reader.saw_synced(),
    };
    if was_synced { Err(Error::corrupt(&tear.file, tear.offset, tear.problem)) } else { Ok(()) }
}
