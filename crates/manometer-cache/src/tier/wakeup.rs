//! What goes on when a job is done or a moment has come.

use super::cache_slots::BlockRun;
use super::in_flight::TransferId;
use super::io::FlowKind;
use crate::key_id::KeyId;

/// Who goes on.
#[derive(Debug)]
pub enum Wakeup {
    /// Nobody.
    Ignored,
    /// A thread of the workload.
    Thread(u32),
    /// A thread whose data were written and whose changes are to be committed.
    DataSynced(u32),
    /// The journal, whose commit was written and is to be on the media.
    CommitWritten,
    /// The journal, whose commit is done.
    CommitDone,
    /// The journal, whose period has passed.
    CommitTimer,
    /// Memory, into which pages were read.
    PagesRead(TransferId),
    /// Memory, of which pages were written back for who syncs them.
    PagesWritten(TransferId),
    /// Memory, of which pages were written back of its own accord.
    PagesFlushed(TransferId),
    /// Writing back from memory, whose period has passed.
    FlushTimer,
    /// The second level, which read a block to keep it.
    PromotionRead {
        /// Where it goes.
        slot: u32,
        /// Which block.
        id: KeyId,
    },
    /// The second level, which has written that block.
    PromotionWritten {
        /// Which.
        id: KeyId,
    },
    /// The second level, for which a request read what it keeps of it.
    FillRead(usize),
    /// The second level, which has written that.
    FillWritten(BlockRun),
    /// The second level, of whose metadata a node is to be written.
    NodeTimer(usize),
    /// The second level, which read a block to write it back.
    WriteBackRead {
        /// Which block.
        id: KeyId,
        /// What for.
        flow: FlowKind,
    },
    /// The second level, which has cleaned a block.
    BlockCleaned {
        /// Which.
        id: KeyId,
    },
}
