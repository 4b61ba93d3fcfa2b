//! The way of a write: into the log, to the device if it is to be kept there, into memory, into view.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::core::{Core, FullLog};
use crate::log::{LogKind, LogWriter};
use crate::memory::{Batch, Memtable};
use crate::names::FileName;
use crate::options::Sync;
use crate::{Error, Result, Sequence};

/// The one who writes at a time has this.
pub(crate) struct Writer {
    log: LogWriter,
    number: u64,
    /// The first write of the log.
    log_first: Sequence,
    /// Whether all of it is on the device.
    is_synced: bool,
    /// Logs before this one, with their numbers, that are not wholly on the device.
    unsynced: Vec<(u64, LogWriter)>,
    memtable: Arc<Memtable>,
    /// The first write of the memory buffer.
    first: Sequence,
    next: Sequence,
    payload: Vec<u8>,
}

impl Writer {
    /// Begins the log `number`, which holds the writes from `next` on; the memory buffer holds those from `first` on.
    pub fn begin(core: &Core, number: u64, first: Sequence, next: Sequence) -> Result<Self> {
        let log = begin_log(core, number)?;
        let memtable = Arc::clone(&core.view().memtable);
        let payload = Vec::new();
        let log_first = next;
        Ok(Self { log, number, log_first, is_synced: false, unsynced: Vec::new(), memtable, first, next, payload })
    }

    /// Whether the memory buffer is full.
    pub fn is_full(&self, core: &Core) -> bool {
        self.memtable.bytes() >= core.memory.memtable_bytes()
    }

    /// Writes `batches` in order and returns the number of each one's last write.
    pub fn write(&mut self, core: &Core, batches: &[Batch]) -> Result<Vec<Sequence>> {
        core.check()?;
        let first = self.next;
        let result = self.log_all(core, batches);
        core.guard(result)?;
        self.next = first;
        let mut lasts = Vec::with_capacity(batches.len());
        for batch in batches {
            self.memtable.apply(self.next, batch.operations());
            self.next += batch.len() as Sequence;
            lasts.push(self.next - 1);
        }
        core.show(self.next - 1);
        Ok(lasts)
    }

    fn log_all(&mut self, core: &Core, batches: &[Batch]) -> Result<()> {
        self.is_synced = false;
        for batch in batches {
            self.payload.clear();
            batch.encode(self.next, &mut self.payload);
            self.log.append(&self.payload)?;
            self.next += batch.len() as Sequence;
            core.counters.user_bytes.add(batch.user_bytes());
        }
        core.counters.log_bytes.add(self.log.len() - self.log.committed());
        self.log.commit()?;
        core.storage.reach("write: after a group is in the log");
        match core.options.sync {
            Sync::Always => self.sync_log(core),
            Sync::Interval(_) | Sync::Never => Ok(()),
        }
    }

    fn sync_log(&mut self, core: &Core) -> Result<()> {
        self.log.sync()?;
        core.storage.reach("sync: after the log is synced");
        self.is_synced = true;
        Ok(())
    }

    /// Takes every write to the device.
    pub fn sync(&mut self, core: &Core) -> Result<()> {
        core.check()?;
        if self.is_synced && self.unsynced.is_empty() {
            return Ok(());
        }
        for (_, mut log) in std::mem::take(&mut self.unsynced) {
            core.storage.reach("sync: before an earlier log is synced");
            core.guard(log.sync())?;
        }
        core.storage.reach("sync: before the log is synced");
        let result = self.sync_log(core);
        core.guard(result)
    }

    /// Begins a new log and an empty memory buffer; nothing happens if the one there is empty.
    pub fn freeze(&mut self, core: &Core) -> Result<()> {
        core.check()?;
        if self.memtable.is_empty() {
            return Ok(());
        }
        let number = core.new_number();
        core.storage.reach("freeze: before a new log is made");
        let mut log = core.guard(begin_log(core, number))?;
        core.storage.reach("freeze: after a new log is made");
        // From then on records may tell that everything before them is durable, the log that ends here included.
        let is_synced = self.is_synced && self.unsynced.is_empty();
        if is_synced {
            core.guard(log.sync())?;
        }
        let full = std::mem::replace(&mut self.log, log);
        let full_number = std::mem::replace(&mut self.number, number);
        let full_log = FullLog { file: Arc::clone(full.file()), number: full_number, len: full.committed() };
        let full_log = (self.log_first == self.first).then_some(full_log);
        if !std::mem::replace(&mut self.is_synced, is_synced) {
            self.unsynced.push((full_number, full));
        }
        self.memtable = core.freeze(full_log, self.first, self.next - 1, number);
        (self.first, self.log_first) = (self.next, self.next);
        core.storage.reach("freeze: after the buffer is frozen");
        Ok(())
    }

    /// Forgets the logs below `number`, whose writes lie in the levels.
    pub fn forget_before(&mut self, number: u64) {
        self.unsynced.retain(|(log, _)| *log >= number);
    }
}

fn begin_log(core: &Core, number: u64) -> Result<LogWriter> {
    let log = LogWriter::create(&*core.storage, LogKind::Wal, number)?;
    core.counters.log_bytes.add(log.len());
    let name = FileName::Wal(number).to_string();
    core.storage.sync_names().map_err(Error::io("syncing the folder for", &name))?;
    Ok(log)
}

/// The writer, for whoever leads a group.
pub(crate) type SharedWriter = Mutex<Writer>;
