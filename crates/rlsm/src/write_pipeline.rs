//! The write path: append to the WAL, sync it if required, apply to the memtable, make visible.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::engine::{Engine, SealedWal};
use crate::log::{LogKind, LogWriter};
use crate::memory::{Batch, Memtable};
use crate::options::Sync;
use crate::storage::sync_directory;
use crate::{Result, SequenceNumber};

/// The state of the write path. One thread at a time holds it.
pub(crate) struct WritePipeline {
    log: LogWriter,
    number: u64,
    /// The first write of the current WAL.
    wal_first: SequenceNumber,
    /// Whether all of the current WAL is durable.
    is_synced: bool,
    /// Earlier WALs that are not wholly durable, with their numbers.
    unsynced: Vec<(u64, LogWriter)>,
    memtable: Arc<Memtable>,
    /// The first write of the memtable.
    first: SequenceNumber,
    next: SequenceNumber,
    payload: Vec<u8>,
}

impl WritePipeline {
    /// Creates the WAL `number` for the writes from `next` on. The memtable holds those from `first` on.
    pub fn begin(engine: &Engine, number: u64, first: SequenceNumber, next: SequenceNumber) -> Result<Self> {
        let log = create_wal(engine, number)?;
        let memtable = Arc::clone(&engine.superversion().memtable);
        let payload = Vec::new();
        let wal_first = next;
        Ok(Self { log, number, wal_first, is_synced: false, unsynced: Vec::new(), memtable, first, next, payload })
    }

    /// Whether the memtable is full.
    pub fn is_memtable_full(&self, engine: &Engine) -> bool {
        self.memtable.is_full(engine.memory.memtable_bytes())
    }

    /// Writes `batches` in order and returns the last sequence number of each.
    pub fn write(&mut self, engine: &Engine, batches: &[Batch]) -> Result<Vec<SequenceNumber>> {
        engine.check()?;
        let first = self.next;
        let result = self.append_to_wal(engine, batches);
        engine.poison_on_error(result)?;
        self.next = first;
        let mut lasts = Vec::with_capacity(batches.len());
        for batch in batches {
            self.memtable.apply(self.next, batch.operations());
            self.next += batch.len() as SequenceNumber;
            lasts.push(self.next - 1);
        }
        engine.set_last_visible(self.next - 1);
        Ok(lasts)
    }

    fn append_to_wal(&mut self, engine: &Engine, batches: &[Batch]) -> Result<()> {
        self.is_synced = false;
        for batch in batches {
            self.payload.clear();
            batch.encode(self.next, &mut self.payload);
            self.log.append(&self.payload)?;
            self.next += batch.len() as SequenceNumber;
            engine.counters.user_bytes.add(batch.user_bytes());
        }
        engine.counters.log_bytes.add(self.log.len() - self.log.committed());
        self.log.commit()?;
        engine.storage.fail_point("write: after a group is in the WAL");
        match engine.options.sync {
            Sync::Always => self.sync_wal(engine),
            Sync::Interval(_) | Sync::Never => Ok(()),
        }
    }

    fn sync_wal(&mut self, engine: &Engine) -> Result<()> {
        self.log.sync()?;
        engine.storage.fail_point("sync: after the WAL is synced");
        self.is_synced = true;
        Ok(())
    }

    /// Makes every write durable.
    pub fn sync(&mut self, engine: &Engine) -> Result<()> {
        engine.check()?;
        if self.is_synced && self.unsynced.is_empty() {
            return Ok(());
        }
        for (_, mut log) in std::mem::take(&mut self.unsynced) {
            engine.storage.fail_point("sync: before an earlier WAL is synced");
            engine.poison_on_error(log.sync())?;
        }
        engine.storage.fail_point("sync: before the WAL is synced");
        let result = self.sync_wal(engine);
        engine.poison_on_error(result)
    }

    /// Creates a new WAL and an empty memtable. Does nothing if the memtable is empty.
    pub fn rotate_memtable(&mut self, engine: &Engine) -> Result<()> {
        engine.check()?;
        if self.memtable.is_empty() {
            return Ok(());
        }
        let number = engine.next_file_number();
        engine.storage.fail_point("rotation: before a new WAL is created");
        let mut log = engine.poison_on_error(create_wal(engine, number))?;
        engine.storage.fail_point("rotation: after a new WAL is created");
        // Later records may state that everything before them is durable, the WAL that ends here included.
        let is_synced = self.is_synced && self.unsynced.is_empty();
        if is_synced {
            engine.poison_on_error(log.sync())?;
        }
        let sealed = std::mem::replace(&mut self.log, log);
        let sealed_number = std::mem::replace(&mut self.number, number);
        let sealed_wal = SealedWal { file: Arc::clone(sealed.file()), number: sealed_number, len: sealed.committed() };
        let sealed_wal = (self.wal_first == self.first).then_some(sealed_wal);
        if !std::mem::replace(&mut self.is_synced, is_synced) {
            self.unsynced.push((sealed_number, sealed));
        }
        self.memtable = engine.rotate_memtable(sealed_wal, self.first, self.next - 1, number);
        (self.first, self.wal_first) = (self.next, self.next);
        engine.storage.fail_point("rotation: after the memtable is immutable");
        Ok(())
    }

    /// Forgets the WALs below `number`: their writes are in the levels.
    pub fn forget_wals_before(&mut self, number: u64) {
        self.unsynced.retain(|(log, _)| *log >= number);
    }
}

fn create_wal(engine: &Engine, number: u64) -> Result<LogWriter> {
    let log = LogWriter::create(&*engine.storage, LogKind::Wal, number)?;
    engine.counters.log_bytes.add(log.len());
    sync_directory(&*engine.storage)?;
    Ok(log)
}

/// The write path, shared by the leaders of write groups and by maintenance.
pub(crate) type SharedPipeline = Mutex<WritePipeline>;
