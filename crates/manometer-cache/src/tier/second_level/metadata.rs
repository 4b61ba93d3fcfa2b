//! Metadata of the second-level cache: the mapping of its blocks.

use super::super::io::{FlowKind, TierLevel};
use super::super::jobs::JobId;
use super::super::metadata_tree::{NodeUpdate, NodeWrite};
use super::super::storage::TierStorage;
use super::super::wakeup::Wakeup;
use super::settings::MetadataKind;
use super::{NODE, SecondLevelCache};
use crate::key_id::KeyId;

/// How long changes to a B-tree node are buffered, in nanoseconds.
const GATHERED_NS: u64 = 30_000_000_000;

impl SecondLevelCache<'_> {
    /// Records the slot of a block: writes a node as part of a job, or buffers an entry of the tree.
    pub(super) fn note(&mut self, storage: &mut TierStorage<Wakeup>, job: JobId, id: KeyId) {
        match self.settings.metadata.kind {
            MetadataKind::None => {}
            MetadataKind::BTree => self.change_node(storage, id),
            MetadataKind::Mapping => {
                let bytes = self.settings.metadata.bytes.0;
                let nodes = (self.metadata_bytes / NODE).max(1);
                let node = u64::from(id).wrapping_mul(0x9e37_79b9_7f4a_7c15) % nodes;
                let offset = (node * NODE).min(self.metadata_bytes - bytes);
                storage.submit(job, self.stretch(TierLevel::Cache, offset, bytes, true, FlowKind::Metadata));
            }
        }
    }

    /// As [`Self::note`], without a job that waits.
    pub(super) fn record_metadata_write(&mut self, storage: &mut TierStorage<Wakeup>, id: KeyId) {
        let job = storage.open(Wakeup::Ignored);
        self.note(storage, job, id);
        storage.close(job);
    }

    /// Writes to the journal.
    pub(super) fn log(&mut self, storage: &mut TierStorage<Wakeup>, job: JobId) {
        let bytes = self.settings.metadata.bytes.0;
        let offset = if self.journal + bytes > self.journal_bytes { 0 } else { self.journal };
        self.journal = offset + bytes;
        storage.submit(job, self.stretch(TierLevel::Cache, offset, bytes, true, FlowKind::Metadata));
    }

    pub(super) fn change_node(&mut self, storage: &mut TierStorage<Wakeup>, id: KeyId) {
        match self.tree.change(id) {
            NodeUpdate::Buffered => {}
            NodeUpdate::FirstChange(node) => {
                storage.wake_at(storage.now() + GATHERED_NS / self.time_scale, Wakeup::NodeTimer(node))
            }
            NodeUpdate::NodeFull(append) => self.append(storage, append),
        }
    }

    pub(super) fn append(&self, storage: &mut TierStorage<Wakeup>, NodeWrite { offset, bytes }: NodeWrite) {
        let job = storage.open(Wakeup::Ignored);
        storage.submit(job, self.stretch(TierLevel::Cache, offset, bytes, true, FlowKind::Metadata));
        storage.close(job);
    }
}
