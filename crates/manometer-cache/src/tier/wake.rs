//! What goes on when a job is done or a moment has come.

use super::flows::Flow;
use super::jobs::JobId;
use super::storage::Stretch;
use crate::number::Id;

/// Who goes on.
#[derive(Debug)]
pub enum Wake {
    /// Nobody.
    Nobody,
    /// A thread of the workload.
    Thread(u32),
    /// A thread whose data were written and whose changes are to be committed.
    Synced(u32),
    /// The journal, whose commit was written and is to be on the media.
    CommitWritten,
    /// The journal, whose commit is done.
    Committed,
    /// The journal, whose period has passed.
    Commit,
    /// Writing back from memory, of which so many pages are done.
    Flushed(u64),
    /// Writing back from memory, whose period has passed.
    Flush,
    /// The second level, which read a block to keep it.
    Read {
        /// Where it goes.
        slot: u32,
        /// Which block.
        id: Id,
        /// Whose request this is.
        job: JobId,
        /// What that wants of the block.
        rest: Stretch,
    },
    /// The second level, which has written that block.
    Copied {
        /// Whose request this is.
        job: JobId,
        /// What that wants of the block.
        rest: Stretch,
    },
    /// The second level, which read a block to write it back.
    WriteBack {
        /// Which block.
        id: Id,
        /// What for.
        flow: Flow,
    },
    /// The second level, which has cleaned a block.
    Cleaned {
        /// Which.
        id: Id,
    },
}
