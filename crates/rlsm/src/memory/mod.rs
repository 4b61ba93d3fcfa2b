//! What was written lately: batches on their way in, the tables that gather them, and the snapshots that look at them.

mod batch;
mod memtable;
mod nodes;
mod ordered;
mod snapshots;

pub use batch::Batch;
pub(crate) use batch::{Decoded, Operation, decode, decode_one};
pub(crate) use memtable::Memtable;
pub use snapshots::Snapshot;
pub(crate) use snapshots::Snapshots;
