//! A database writer: a batch of blocks at random places, all in flight together, then the next.

use std::io;

use manometer_target::file::{self, BackendOptions, Completion, DataGenerator, IoBackend, IoOperation, Submission};

use super::super::FilesError;
use super::{BlockChooser, Database};
use crate::file_threads::{FileOperation, ThreadContext, ThreadEnd};
use crate::files::oltp_ratios::BATCH;

/// The longest wait for writes between two polls.
const GATE_POLL_NS: u64 = 10_000_000;

pub(super) fn work(database: &Database, shared: &ThreadContext<'_>, index: u32) -> Result<(), ThreadEnd> {
    let options = BackendOptions {
        engine: database.engine,
        depth: BATCH,
        slot_bytes: database.request_bytes,
        write: true,
        direct: database.direct,
        dsync: true,
        memory_bytes: 0,
    };
    let mut writer = Writer {
        backend: file::open(&database.data, &options).map_err(FilesError::from)?,
        places: BlockChooser::new(database, shared, index),
        data: DataGenerator::new(shared.seed ^ shared.clock.now_ns() ^ u64::from(index)),
        sent: Vec::new(),
        database,
        shared,
        index,
    };
    while shared.gate.await_go() {
        writer.send()?;
        database.writer_schedule.record_batch(index as usize);
        writer.await_writes()?;
        if !database.writer_schedule.await_reads(index as usize) {
            break;
        }
    }
    Ok(())
}

struct Writer<'a> {
    backend: Box<dyn IoBackend>,
    places: BlockChooser,
    data: DataGenerator,
    /// The batch's writes, each in the slot of its place, and when it was sent.
    sent: Vec<(Submission, u64)>,
    database: &'a Database,
    shared: &'a ThreadContext<'a>,
    index: u32,
}

impl Writer<'_> {
    /// Sends a batch.
    fn send(&mut self) -> Result<(), ThreadEnd> {
        self.sent.clear();
        for slot in 0..BATCH {
            let (file, offset) = self.places.next();
            self.data.fill(self.backend.slot_mut(slot));
            let length = self.database.request_bytes;
            let request = Submission { slot, operation: IoOperation::Write, file, offset, skip: 0, length };
            self.sent.push((request, self.shared.clock.now_ns()));
            self.backend.queue(request);
        }
        Ok(())
    }

    /// Waits until the batch is written.
    fn await_writes(&mut self) -> Result<(), ThreadEnd> {
        let mut left = self.sent.len();
        let mut finished = Vec::new();
        while left > 0 {
            let now_ns = self.shared.clock.now_ns();
            let waited = self.backend.wait(now_ns, now_ns + GATE_POLL_NS, &mut finished);
            waited.map_err(|source| FilesError::of("write", &self.database.data.paths[0], source))?;
            for completion in finished.drain(..) {
                left -= usize::from(self.complete(completion)?);
            }
        }
        Ok(())
    }

    /// Whether a write is complete; one that the kernel defers is sent again.
    fn complete(&mut self, completion: Completion) -> Result<bool, ThreadEnd> {
        let (request, sent_ns) = self.sent[completion.slot as usize];
        if completion.should_retry() {
            self.backend.queue(request);
            return Ok(false);
        }
        if completion.result != request.length as i32 {
            let source = match completion.result {
                ..0 => io::Error::from_raw_os_error(-completion.result),
                _ => io::ErrorKind::WriteZero.into(),
            };
            let path = &self.database.data.paths[request.file as usize];
            return Err(FilesError::of("write", path, source).into());
        }
        let latency_ns = self.shared.clock.now_ns().saturating_sub(sent_ns);
        self.shared.counts.count(self.index, FileOperation::Write, u64::from(request.length), latency_ns);
        Ok(true)
    }
}
