//! Opening a database: the manifest is read, what it does not name is removed, the logs are replayed.

use std::sync::Arc;

use crate::core::Core;
use crate::flush::flush_all;
use crate::levels::{Levels, Recovered, recover};
use crate::log::{End, LogKind, LogReader};
use crate::memory::{Memtable, decode};
use crate::names::FileName;
use crate::options::{Maintenance, Options};
use crate::pressure::{Feeling, Pressure, measured};
use crate::storage::Storage;
use crate::write::Writer;
use crate::{Error, Result, Sequence};

/// What opening a database found and did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovery {
    /// Whether the folder held no database.
    pub is_new: bool,
    /// How many write-ahead logs were replayed.
    pub logs: u64,
    /// How many batches they held.
    pub batches: u64,
    /// Bytes of logs from where a crash had torn one: writes that were never acknowledged as kept.
    pub torn_bytes: u64,
    /// Files that a crash had left unfinished; they were removed.
    pub removed: Vec<String>,
}

/// A database that is open but for its threads.
pub(crate) struct Opened {
    pub core: Core,
    pub writer: Writer,
    pub recovery: Recovery,
    pub lock: Box<dyn Send + std::marker::Sync>,
}

pub(crate) fn open(storage: Arc<dyn Storage>, options: Options) -> Result<Opened> {
    let lock = storage.lock().map_err(Error::io("locking", crate::names::LOCK))?;
    let lock = lock.ok_or_else(|| Error::Locked { folder: storage.place() })?;
    let pressure = Arc::new(Pressure::new(options.feeling, options.maintenance == Maintenance::Background));
    let storages = match options.feeling {
        Feeling::Off => (Arc::clone(&storage), Arc::clone(&storage)),
        Feeling::Measured | Feeling::InTurns => measured(storage, &pressure),
    };
    let storage = Arc::clone(&storages.0);
    // What Level 0 gathers depends on the data, which is not known yet.
    let found = recover(&*storage, 4)?;
    let mut recovery = Recovery { is_new: found.is_new, torn_bytes: found.torn_bytes, ..Recovery::default() };
    storage.reach("open: before the logs are replayed");
    let memtable = Arc::new(Memtable::new(options.plan.memtable_bytes));
    let replayed = replay(&*storage, &found, &memtable, &mut recovery)?;
    storage.reach("open: before a new manifest is begun");
    // Logs that hold nothing beyond the levels are done with: the next one to be begun is the oldest needed.
    let number = found.next_number;
    let needed = found.logs.first().copied().filter(|_| !memtable.is_empty());
    let log = needed.unwrap_or(number + 1);
    let manifest_bytes = options.manifest_bytes;
    let (grave, version, flushed) = (found.grave, found.version, found.flushed);
    let levels = Levels::begin(Arc::clone(&storage), grave, version, log, flushed, number, manifest_bytes)?;
    let first = found.flushed + 1;
    let core = Core::new(options, storages, pressure, levels, memtable, replayed);
    storage.reach("open: before a log is begun");
    let mut writer = Writer::begin(&core, core.new_number(), first, replayed + 1)?;
    // What was replayed is flushed at once, so that the logs can go.
    storage.reach("open: before what was replayed is flushed");
    writer.freeze(&core)?;
    flush_all(&core)?;
    storage.reach("open: after what was replayed is flushed");
    writer.forget_before(core.log());
    writer.sync(&core)?;
    for name in unneeded(&*storage, &core, &found.unpublished)? {
        storage.reach("open: before an unneeded file is removed");
        storage.remove(&name).map_err(Error::io("removing", &name))?;
        recovery.removed.extend(found.unpublished.contains(&name).then_some(name));
    }
    Ok(Opened { core, writer, recovery, lock })
}

/// Old manifests and logs, and what a crash left behind.
fn unneeded(storage: &dyn Storage, core: &Core, unpublished: &[String]) -> Result<Vec<String>> {
    let (manifest, log, grave) = (core.manifest_number(), core.log(), core.grave());
    let is_old = |name: &String| match FileName::parse(name) {
        Some(FileName::Manifest(number)) => number < manifest,
        Some(FileName::Wal(number)) => number < log && !grave.holds(number),
        _ => unpublished.contains(name),
    };
    Ok(storage.list().map_err(Error::io("listing", "the folder"))?.into_iter().filter(is_old).collect())
}

/// Where the logs stop to be whole.
struct Tear {
    file: String,
    offset: u64,
    what: &'static str,
}

/// Puts what the logs hold beyond the levels, up to the first tear, into `memtable`, and returns the last write.
fn replay(storage: &dyn Storage, found: &Recovered, memtable: &Memtable, recovery: &mut Recovery) -> Result<Sequence> {
    let mut last = found.flushed;
    let mut tear: Option<Tear> = None;
    let mut before = None;
    for &number in &found.logs {
        let name = FileName::Wal(number).to_string();
        let mut reader = LogReader::open(storage, LogKind::Wal, number)?;
        if tear.is_some() && follows(storage, number, last)? {
            // Only an index was torn that was being put behind the records.
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

/// Whether the first write of a log is the one after `last`.
fn follows(storage: &dyn Storage, number: u64, last: Sequence) -> Result<bool> {
    let mut reader = LogReader::open(storage, LogKind::Wal, number)?;
    let Some(record) = reader.next() else { return Ok(false) };
    let name = FileName::Wal(number).to_string();
    Ok(decode(record.payload, &name, record.offset)?.first == last + 1)
}

/// Replays one log behind the one of that name and length.
fn replay_log(
    reader: &mut LogReader,
    name: &str,
    before: Option<(String, u64)>,
    memtable: &Memtable,
    last: &mut Sequence,
    recovery: &mut Recovery,
) -> Result<Option<Tear>> {
    let len = reader.len();
    while let Some(record) = reader.next() {
        let batch = decode(record.payload, name, record.offset)?;
        if batch.first > *last + 1 {
            // Writes in between are missing: the log before this one lost its end.
            let what = "the writes up to those of the next log are missing behind it";
            let Some((file, offset)) = before else {
                return Err(Error::corrupt(name, record.offset, "writes before its first record are missing"));
            };
            recovery.torn_bytes += len - record.offset;
            return Ok(Some(Tear { file, offset, what }));
        }
        if batch.first == *last + 1 {
            memtable.apply(batch.first, batch.operations());
            *last = batch.next_sequence() - 1;
            recovery.batches += 1;
        }
    }
    Ok(match reader.end() {
        End::Clean => None,
        End::Torn { offset, what } | End::Damaged { offset, what, .. } => {
            recovery.torn_bytes += reader.len() - offset;
            Some(Tear { file: name.to_owned(), offset, what })
        }
    })
}

/// A crash tears nothing that was durable, as a record behind the tear may tell it was.
fn refuse_damage(tear: &Tear, reader: &mut LogReader, name: &str) -> Result<()> {
    let was_synced = match reader.end() {
        End::Damaged { was_synced, .. } if was_synced => true,
        // What comes before the tear in its own log tells nothing of it.
        _ => name != tear.file && reader.saw_synced(),
    };
    if was_synced { Err(Error::corrupt(&tear.file, tear.offset, tear.what)) } else { Ok(()) }
}
