//! How the second level writes down where its blocks lie.

use super::super::flows::Flow;
use super::super::jobs::JobId;
use super::super::second_settings::Metadata;
use super::super::storage::{Level, Storage};
use super::super::tree::{Append, Changed};
use super::super::wake::Wake;
use super::{NODE, Second};
use crate::number::Id;

/// After how long what is gathered for a node of a B-tree is written.
const GATHERED_NS: u64 = 30_000_000_000;

impl Second<'_> {
    /// Writes down where a block lies: a node as part of a job, or an entry of a tree, which is written later.
    pub(super) fn note(&mut self, storage: &mut Storage<Wake>, job: JobId, id: Id) {
        match self.settings.metadata.kind {
            Metadata::None => {}
            Metadata::BTree => self.change_node(storage, id),
            Metadata::Mapping => {
                let bytes = self.settings.metadata.bytes.0;
                let nodes = (self.metadata_bytes / NODE).max(1);
                let node = u64::from(id).wrapping_mul(0x9e37_79b9_7f4a_7c15) % nodes;
                let offset = (node * NODE).min(self.metadata_bytes - bytes);
                storage.submit(job, self.stretch(Level::Cache, offset, bytes, true, Flow::Metadata));
            }
        }
    }

    /// The same, and nobody waits.
    pub(super) fn note_behind(&mut self, storage: &mut Storage<Wake>, id: Id) {
        let job = storage.open(Wake::Nobody);
        self.note(storage, job, id);
        storage.close(job);
    }

    /// Writes into the journal.
    pub(super) fn log(&mut self, storage: &mut Storage<Wake>, job: JobId) {
        let bytes = self.settings.metadata.bytes.0;
        let offset = if self.journal + bytes > self.journal_bytes { 0 } else { self.journal };
        self.journal = offset + bytes;
        storage.submit(job, self.stretch(Level::Cache, offset, bytes, true, Flow::Metadata));
    }

    pub(super) fn change_node(&mut self, storage: &mut Storage<Wake>, id: Id) {
        match self.tree.change(id) {
            Changed::Gathered => {}
            Changed::First(node) => storage.wake_at(storage.now() + GATHERED_NS / self.time_scale, Wake::Node(node)),
            Changed::Full(append) => self.append(storage, append),
        }
    }

    pub(super) fn append(&self, storage: &mut Storage<Wake>, Append { offset, bytes }: Append) {
        let job = storage.open(Wake::Nobody);
        storage.submit(job, self.stretch(Level::Cache, offset, bytes, true, Flow::Metadata));
        storage.close(job);
    }
}
