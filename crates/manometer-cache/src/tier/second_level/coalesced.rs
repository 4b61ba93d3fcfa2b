//! The reads and writes of one request to the second-level cache.

use super::super::cache_slots::BlockRun;
use super::super::io::{FlowKind, IoRequest, LevelIo, TierLevel};
use super::super::jobs::JobId;
use super::super::storage::TierStorage;
use super::super::wakeup::Wakeup;

/// The ranges of a request, consecutive ones merged.
pub(super) struct CoalescedRequest {
    pub job: JobId,
    pub io: IoRequest,
    pub stretch: Option<LevelIo>,
    /// If blocks read from the origin are to be cached: the job of these reads, and the index of their fill.
    pub keeps: Option<(JobId, usize)>,
    /// Whether its changes were logged in the metadata.
    pub is_logged: bool,
    /// Whether it may leave blocks dirty.
    pub may_dirty: bool,
}

/// Blocks that a request reads and that are then cached.
#[derive(Debug, Default)]
pub(super) struct FillRequest {
    pub job: JobId,
    pub copies: Vec<BlockRun>,
}

impl CoalescedRequest {
    pub(super) fn add(&mut self, storage: &mut TierStorage<Wakeup>, level: TierLevel, offset: u64, bytes: u64) {
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

    pub(super) fn flush(&mut self, storage: &mut TierStorage<Wakeup>) {
        if let Some(stretch) = self.stretch.take() {
            let job = self.keeps.filter(|_| stretch.level == TierLevel::Origin).map_or(self.job, |(reads, _)| reads);
            storage.submit(job, stretch);
        }
    }
}
