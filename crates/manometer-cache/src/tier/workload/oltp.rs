//! A database: readers, writers that write read blocks in batches, and a log; all bypass the page cache. The
//! macro-workload of section 6.3 of the cache thesis, after Filebench.

use manometer_measure::{ByteSize, Span};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Deserialize;

use super::{IoRange, StepAction, StepGenerator, THREADS_MAX, WorkloadStep, too_large, too_many_threads};
use crate::CacheError;
use crate::tier::host::Host;
use crate::tier::page_cache::PAGE;

/// The settings of a database.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OltpSettings {
    /// The number of files.
    pub files: u64,
    /// The size of each file.
    pub file_size: ByteSize,
    /// The number of reading threads.
    pub readers: u32,
    /// The number of writing threads.
    pub writers: u32,
    /// CPU time of a read.
    #[serde(default)]
    pub think: Span,
    /// The size of reads and writes.
    pub block_size: ByteSize,
    /// The number of writes in a batch.
    pub batch: u64,
    /// The size of a log write.
    pub log_write: ByteSize,
    /// The number of reads and writes per log write.
    pub log_every: u64,
}

/// How many batches readers may be ahead of writers.
const AHEAD: u64 = 10;

/// A database.
#[derive(Debug)]
pub struct Oltp {
    settings: OltpSettings,
    journal: u64,
    journal_at: u64,
    log_start: u64,
    log_bytes: u64,
    log_at: u64,
    data_start: u64,
    blocks: u64,
    read: u64,
    written: u64,
    logged: u64,
    waiting: Vec<u32>,
    random: Xoshiro256PlusPlus,
}

impl Oltp {
    /// Creates the workload on a host's storage.
    ///
    /// # Errors
    /// The settings are invalid, or do not fit it.
    pub fn new(settings: &OltpSettings, host: &Host<'_>, scale: u64, seed: u64) -> Result<Self, CacheError> {
        let OltpSettings { files, file_size, readers, writers, block_size, batch, log_write, log_every, .. } =
            *settings;
        let above_0 =
            [files, file_size.0, u64::from(readers), u64::from(writers), block_size.0, batch, log_write.0, log_every];
        if u64::from(readers) + u64::from(writers) > THREADS_MAX {
            return Err(too_many_threads());
        }
        if above_0.contains(&0) {
            return Err(CacheError::Invalid("every number of an oltp workload has to be above 0".to_owned()));
        }
        let log_start = host.journal_end();
        let log_bytes = log_write.0.saturating_mul(64);
        let data_start = log_start.saturating_add(log_bytes);
        let bytes = files.saturating_mul(file_size.0) / scale;
        let end = data_start.saturating_add(bytes);
        if end > host.bytes() {
            return Err(too_large("the database", end, host.bytes()));
        }
        if block_size.0 > bytes || block_size.0.next_multiple_of(PAGE) > bytes {
            let text = "`block_size` is larger than the database: make it smaller, or `scale`";
            return Err(CacheError::Invalid(text.to_owned()));
        }
        Ok(Self {
            settings: settings.clone(),
            journal: host.journal_end(),
            journal_at: 0,
            log_start,
            log_bytes,
            log_at: 0,
            data_start,
            blocks: bytes / PAGE,
            read: 0,
            written: 0,
            logged: 0,
            waiting: Vec::new(),
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
        })
    }

    fn random_range(&mut self) -> IoRange {
        let requested_bytes = self.settings.block_size.0;
        let bytes = requested_bytes.next_multiple_of(PAGE);
        let last = self.blocks - (bytes / PAGE).min(self.blocks);
        let offset = self.data_start + self.random.random_range(0..=last) * PAGE;
        IoRange { offset, bytes, requested_bytes, is_direct: true, is_through: false }
    }

    /// The file system's journal write for each synchronous write, which records the change of the file.
    fn commit(&mut self) -> IoRange {
        let offset = self.journal_at;
        self.journal_at = (offset + PAGE) % self.journal;
        IoRange { offset, bytes: PAGE, requested_bytes: 0, is_direct: true, is_through: true }
    }

    fn log(&mut self) -> IoRange {
        let bytes = self.settings.log_write.0;
        if self.log_at + bytes > self.log_bytes {
            self.log_at = 0;
        }
        let offset = self.log_start + self.log_at;
        self.log_at += bytes;
        IoRange { is_direct: true, is_through: true, ..IoRange::new(offset, bytes) }
    }

    fn wait(&mut self, thread: u32) -> WorkloadStep {
        self.waiting.push(thread);
        WorkloadStep::plain(StepAction::Wait)
    }
}

impl StepGenerator for Oltp {
    fn threads(&self) -> u32 {
        self.settings.readers + self.settings.writers + 1
    }

    fn next(&mut self, thread: u32) -> WorkloadStep {
        let OltpSettings { readers, writers, batch, log_every, .. } = self.settings;
        if thread < readers {
            if self.read >= self.written + AHEAD * batch {
                return self.wait(thread);
            }
            self.read += 1;
            let think_ns = self.settings.think.nanoseconds();
            return WorkloadStep { think_ns, ..WorkloadStep::plain(StepAction::Read(self.random_range())) };
        }
        if thread < readers + writers {
            if self.read < self.written + batch {
                return self.wait(thread);
            }
            self.written += batch;
            let writes = (0..batch).flat_map(|_| [IoRange { is_through: true, ..self.random_range() }, self.commit()]);
            return WorkloadStep::plain(StepAction::Batch(writes.collect()));
        }
        if self.read + self.written < (self.logged + 1) * log_every {
            return self.wait(thread);
        }
        self.logged += 1;
        WorkloadStep::plain(StepAction::Write(self.log()))
    }

    fn done(&mut self, _thread: u32, ready: &mut Vec<u32>) {
        ready.append(&mut self.waiting);
    }
}
