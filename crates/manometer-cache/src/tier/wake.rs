//! What goes on when a job is done or a moment has come.

use super::flights::FlightId;
use super::flows::Flow;
use super::second::Copied;
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
    /// Memory, into which pages were read.
    PagesRead(FlightId),
    /// Memory, of which pages were written back for who syncs them.
    PagesWritten(FlightId),
    /// Memory, of which pages were written back of its own accord.
    PagesFlushed(FlightId),
    /// Writing back from memory, whose period has passed.
    Flush,
    /// The second level, which read a block to keep it.
    Read {
        /// Where it goes.
        slot: u32,
        /// Which block.
        id: Id,
    },
    /// The second level, which has written that block.
    Copied {
        /// Which.
        id: Id,
    },
    /// The second level, for which a request read what it keeps of it.
    Keep(usize),
    /// The second level, which has written that.
    Kept(Copied),
    /// The second level, of whose metadata a node is to be written.
    Node(usize),
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
