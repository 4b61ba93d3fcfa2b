//! The requests in flight: each is retried until it is complete and counted, or reported as an error.

use std::io;
use std::path::PathBuf;

use manometer_target::file::{Completion, DataGenerator, IoBackend, IoEngine, IoOperation, Submission};

use super::IoError;
use super::counts::IoCounts;
use super::request::BlockRequest;

/// The most retries of one request.
const MAX_RETRIES: u32 = 100;

/// Direct I/O continues only at the start of a sector.
const SECTOR_BYTES: u32 = 512;

/// A request and its progress.
#[derive(Debug, Clone, Copy)]
struct Slot {
    /// The request, or its rest.
    request: Submission,
    /// Bytes of the whole request.
    whole: u32,
    /// When it was due, if it has a due time.
    due_ns: Option<u64>,
    sent_ns: u64,
    retries: u32,
}

/// As many slots as requests may be in flight at once.
pub(super) struct InFlight {
    backend: Box<dyn IoBackend>,
    engine: IoEngine,
    slots: Vec<Slot>,
    free: Vec<u32>,
    finished: Vec<Completion>,
}

impl InFlight {
    pub(super) fn new(backend: Box<dyn IoBackend>, engine: IoEngine, depth: u32) -> Self {
        let none = Submission { slot: 0, operation: IoOperation::Read, file: 0, offset: 0, skip: 0, length: 0 };
        Self {
            backend,
            engine,
            slots: vec![Slot { request: none, whole: 0, due_ns: None, sent_ns: 0, retries: 0 }; depth as usize],
            free: (0..depth).rev().collect(),
            finished: Vec::with_capacity(depth as usize),
        }
    }

    /// What the engine itself counted since the last call.
    pub(super) fn engine_state(&mut self) -> Vec<(&'static str, u64)> {
        self.backend.state()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    pub(super) fn has_room(&self) -> bool {
        !self.free.is_empty()
    }

    /// Sends a read or a write, if a slot is free.
    pub(super) fn send(&mut self, next: BlockRequest, due_ns: Option<u64>, now_ns: u64, data: &mut DataGenerator) {
        let operation = if next.write { IoOperation::Write } else { IoOperation::Read };
        let Some(slot) = self.free.pop() else { return };
        if next.write {
            data.fill(&mut self.backend.slot_mut(slot)[..next.length as usize]);
        }
        let BlockRequest { file, offset, length, .. } = next;
        self.submit(Submission { slot, operation, file, offset, skip: 0, length }, due_ns, now_ns);
    }

    /// Sends an `fdatasync` of `file`, if a slot is free.
    pub(super) fn send_sync(&mut self, file: u32, now_ns: u64) {
        let Some(slot) = self.free.pop() else { return };
        self.submit(
            Submission { slot, operation: IoOperation::Sync, file, offset: 0, skip: 0, length: 0 },
            None,
            now_ns,
        );
    }

    fn submit(&mut self, request: Submission, due_ns: Option<u64>, now_ns: u64) {
        self.slots[request.slot as usize] =
            Slot { request, whole: request.length, due_ns, sent_ns: now_ns, retries: 0 };
        self.backend.queue(request);
    }

    /// Waits until something has finished, or until `deadline_ns`.
    pub(super) fn wait(&mut self, now_ns: u64, deadline_ns: u64) -> Result<(), IoError> {
        let waited = self.backend.wait(now_ns, deadline_ns, &mut self.finished);
        waited.map_err(|source| IoError::Wait { engine: self.engine, source })
    }

    /// Handles the requests that completed by `now_ns`; calls `wrote` with the file of every completed write.
    pub(super) fn complete(
        &mut self,
        now_ns: u64,
        paths: &[PathBuf],
        counts: &mut IoCounts,
        wrote: &mut dyn FnMut(u32),
    ) -> Result<(), IoError> {
        for index in 0..self.finished.len() {
            let completion = self.finished[index];
            let Completion { slot, result } = completion;
            let Slot { request, whole, due_ns, sent_ns, .. } = self.slots[slot as usize];
            if result != request.length as i32 {
                self.repeat(completion, paths, counts)?;
                continue;
            }
            self.free.push(slot);
            let latency_ns = now_ns.saturating_sub(sent_ns);
            let response_ns = due_ns.map(|due_ns| now_ns.saturating_sub(due_ns));
            match request.operation {
                IoOperation::Read => counts.read.count(whole, latency_ns, response_ns),
                IoOperation::Write => {
                    counts.write.count(whole, latency_ns, response_ns);
                    wrote(request.file);
                }
                IoOperation::Sync => counts.syncs += 1,
            }
        }
        self.finished.clear();
        Ok(())
    }

    /// Sends the rest of a request that was short or deferred.
    fn repeat(&mut self, completion: Completion, paths: &[PathBuf], counts: &mut IoCounts) -> Result<(), IoError> {
        let Completion { slot, result } = completion;
        let Slot { request, whole, retries, .. } = &mut self.slots[slot as usize];
        if *retries == MAX_RETRIES || result < 0 && !completion.should_retry() {
            return Err(failure(request, *whole, result, paths));
        }
        *retries += 1;
        match request.operation {
            IoOperation::Read => counts.read.retries += 1,
            IoOperation::Write => counts.write.retries += 1,
            IoOperation::Sync => {}
        }
        let done = (result.max(0) as u32).min(request.length) / SECTOR_BYTES * SECTOR_BYTES;
        request.skip += done;
        request.offset += u64::from(done);
        request.length -= done;
        let rest = *request;
        self.backend.queue(rest);
        Ok(())
    }
}

/// The error of `result`, for the whole request.
fn failure(rest: &Submission, whole: u32, result: i32, paths: &[PathBuf]) -> IoError {
    let operation = match rest.operation {
        IoOperation::Read => "read",
        IoOperation::Write => "write",
        IoOperation::Sync => "fdatasync",
    };
    let length = whole;
    let path = paths[rest.file as usize].clone();
    let offset = rest.offset - u64::from(rest.skip);
    if result >= 0 {
        return IoError::Short { operation, path, offset, length, done: rest.skip + result as u32 };
    }
    IoError::Request { operation, path, offset, length, source: io::Error::from_raw_os_error(-result) }
}
