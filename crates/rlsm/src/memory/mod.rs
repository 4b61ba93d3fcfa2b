//! Recent writes: batches, memtables and snapshots.

mod batch;
mod key_order;
mod memtable;
mod node_arena;
mod snapshots;

pub use batch::Batch;
pub(crate) use batch::{BatchOperation, DecodedBatch, decode, decode_one};
pub(crate) use memtable::Memtable;
pub use snapshots::Snapshot;
pub(crate) use snapshots::SnapshotList;
