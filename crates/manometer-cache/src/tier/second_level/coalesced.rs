//! What one request to the second level reads and writes.

use super::super::cache_slots::BlockRun;
use super::super::io::{FlowKind, IoRequest, LevelIo, TierLevel};
use super::super::jobs::JobId;
use super::super::storage::Storage;
use super::super::wakeup::Wakeup;

/// The stretches of a request, those that follow each other joined.
pub(super) struct CoalescedRequest {
    pub job: JobId,
    pub io: IoRequest,
    pub stretch: Option<LevelIo>,
    /// Where some of what it reads is to be kept: the job of what it reads from the origin, and what is kept of it.
    pub keeps: Option<(JobId, usize)>,
    /// Whether it was written down that it changed the cache.
    pub is_logged: bool,
}

/// What a request reads to keep it.
#[derive(Debug, Default)]
pub(super) struct FillRequest {
    pub job: JobId,
    pub copies: Vec<BlockRun>,
}

impl CoalescedRequest {
    pub(super) fn add(&mut self, storage: &mut Storage<Wakeup>, level: TierLevel, offset: u64, bytes: u64) {
        if let Some(stretch) = &mut self.stretch
            && stretch.level == level
            && stretch.offset + stretch.bytes == offset
        {
            stretch.bytes += bytes;
            return;
        }
        self.flush(storage);
        let IoRequest { is_write, is_through, .. } = self.io;
        self.stretch = Some(LevelIo { level, offset, bytes, is_write, is_through, flow: FlowKind::File });
    }

    pub(super) fn flush(&mut self, storage: &mut Storage<Wakeup>) {
        if let Some(stretch) = self.stretch.take() {
            let job = self.keeps.filter(|_| stretch.level == TierLevel::Origin).map_or(self.job, |(reads, _)| reads);
            storage.submit(job, stretch);
        }
    }
}
