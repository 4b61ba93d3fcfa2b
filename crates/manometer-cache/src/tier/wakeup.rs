//! The waiters of jobs and times.

use super::cache_slots::BlockRun;
use super::in_flight::TransferId;
use super::io::FlowKind;
use crate::key_id::KeyId;

/// The waiter that continues.
#[derive(Debug)]
pub enum Wakeup {
    /// No waiter.
    Ignored,
    /// A thread of the workload.
    Thread(u32),
    /// A thread whose data were written and whose metadata changes are to be committed.
    DataSynced(u32),
    /// The journal, whose commit was written and is to be flushed to the media.
    CommitWritten,
    /// The journal, whose commit is complete.
    CommitDone,
    /// The journal, at its commit interval.
    CommitTimer,
    /// The page cache, after pages were read.
    PagesRead(TransferId),
    /// The page cache, after pages were written back for a sync.
    PagesWritten(TransferId),
    /// The page cache, after pages were written back in the background.
    PagesFlushed(TransferId),
    /// The page cache, at the interval of its write-back.
    FlushTimer,
    /// The second-level cache, after a block was read for promotion.
    PromotionRead {
        /// Its slot.
        slot: u32,
        /// The block.
        id: KeyId,
    },
    /// The second-level cache, after that block was written.
    PromotionWritten {
        /// The block.
        id: KeyId,
    },
    /// The second-level cache, after a request read blocks that are to be cached.
    FillRead(usize),
    /// The second-level cache, after these blocks were written.
    FillWritten(BlockRun),
    /// The second-level cache, when a metadata node is to be written.
    NodeTimer(usize),
    /// The second-level cache, after a block was read for write-back.
    WriteBackRead {
        /// The block.
        id: KeyId,
        /// The purpose.
        flow: FlowKind,
    },
    /// The second-level cache, after a block was cleaned.
    BlockCleaned {
        /// The block.
        id: KeyId,
    },
    /// The second-level cache, when its write-back thread continues.
    CleanerTimer,
    /// The second-level cache, when its rate of write-back is set.
    RateTimer,
}
