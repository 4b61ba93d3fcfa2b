//! What one request to the second level reads and writes.

use super::super::flows::Flow;
use super::super::jobs::JobId;
use super::super::storage::{Level, Storage, Stretch};
use super::super::wake::Wake;
use super::Ask;
use crate::number::Id;

/// The stretches of a request, those that follow each other joined.
pub(super) struct Joined {
    pub job: JobId,
    pub ask: Ask,
    pub stretch: Option<Stretch>,
    /// Where some of what it reads is to be kept: the job of what it reads from the origin, and what is kept of it.
    pub keeps: Option<(JobId, usize)>,
    /// Whether it was written down that it changed the cache.
    pub is_logged: bool,
}

/// Blocks that follow each other in the cache: the place of the first, how many, and which the first is.
pub type Copied = (u32, u32, Id);

/// What a request reads to keep it.
#[derive(Debug, Default)]
pub(super) struct Keeping {
    pub job: JobId,
    pub copies: Vec<Copied>,
}

impl Joined {
    pub(super) fn add(&mut self, storage: &mut Storage<Wake>, level: Level, offset: u64, bytes: u64) {
        if let Some(stretch) = &mut self.stretch
            && stretch.level == level
            && stretch.offset + stretch.bytes == offset
        {
            stretch.bytes += bytes;
            return;
        }
        self.flush(storage);
        let Ask { is_write, is_through, .. } = self.ask;
        self.stretch = Some(Stretch { level, offset, bytes, is_write, is_through, flow: Flow::File });
    }

    pub(super) fn flush(&mut self, storage: &mut Storage<Wake>) {
        if let Some(stretch) = self.stretch.take() {
            let job = self.keeps.filter(|_| stretch.level == Level::Origin).map_or(self.job, |(reads, _)| reads);
            storage.submit(job, stretch);
        }
    }
}
