//! What is copied into the second level: blocks of which only a part is requested, before that is answered, and whole
//! blocks that a request read, behind its back.

use super::super::cache_slots::{BlockRun, BlockState};
use super::super::io::{FlowKind, IoRequest, LevelIo, TierLevel};
use super::super::jobs::JobId;
use super::super::storage::Storage;
use super::super::wakeup::Wakeup;
use super::coalesced::{CoalescedRequest, FillRequest};
use super::settings::WriteMode;
use super::{BlockPart, SecondLevelCache};
use crate::key_id::KeyId;

impl SecondLevelCache<'_> {
    /// Whether a block may be copied into the cache now.
    pub(super) fn may_migrate(&self, id: KeyId) -> bool {
        let bytes = (self.migrations.len() as u64 + 1) * self.block;
        self.settings.migration.is_none_or(|limit| bytes <= limit.0) && !self.migrations.contains_key(&id)
    }

    /// Goes on with a block that is being copied into the cache once it is there.
    pub(super) fn wait(
        &mut self,
        storage: &mut Storage<Wakeup>,
        open: &mut CoalescedRequest,
        slot: u32,
        part: BlockPart,
    ) {
        let IoRequest { is_write, is_through, .. } = open.io;
        match self.settings.mode {
            WriteMode::WriteBack if is_write => self.mark_dirty(part.id),
            WriteMode::WriteThrough if is_write => open.add(storage, TierLevel::Origin, part.offset, part.bytes),
            _ => {}
        }
        let rest = self.stretch(TierLevel::Cache, self.place(slot, part), part.bytes, is_write, FlowKind::File);
        storage.hold(open.job);
        self.after_copy(storage, part.id, open.job, LevelIo { is_through, ..rest });
    }

    /// Submits a stretch of a block as part of a job that is held for it, at once or when the block is in the cache.
    pub(super) fn after_copy(&mut self, storage: &mut Storage<Wakeup>, id: KeyId, job: JobId, stretch: LevelIo) {
        match self.migrations.get_mut(&id) {
            Some(waiting) => waiting.push((job, stretch)),
            None => {
                storage.submit(job, stretch);
                storage.close(job);
            }
        }
    }

    /// Copies a whole block into the cache; the request goes on with what it wants of it.
    pub(super) fn migrate(
        &mut self,
        storage: &mut Storage<Wakeup>,
        open: &mut CoalescedRequest,
        slot: u32,
        part: BlockPart,
    ) {
        self.migrations.entry(part.id).or_default();
        self.wait(storage, open, slot, part);
        let copied = storage.open(Wakeup::PromotionRead { slot, id: part.id });
        let from = u64::from(part.id) * self.block;
        storage.submit(copied, self.stretch(TierLevel::Origin, from, self.block, false, FlowKind::Promotion));
        storage.close(copied);
    }

    /// The block of a migration is in the cache: what waited for it goes on.
    pub(super) fn copied(&mut self, storage: &mut Storage<Wakeup>, id: KeyId) {
        for (job, stretch) in self.migrations.remove(&id).into_iter().flatten() {
            storage.submit(job, stretch);
            storage.close(job);
        }
    }

    /// Notes that a block is to be kept once its request read it; what that reads from the origin is a job of its own from
    /// now on.
    pub(super) fn keep(&mut self, storage: &mut Storage<Wakeup>, open: &mut CoalescedRequest, slot: u32, id: KeyId) {
        self.slots.set(id, BlockState::Filling);
        let (_, keeping) = *open.keeps.get_or_insert_with(|| {
            let at = self.kept.pop().unwrap_or_else(|| {
                self.keeping.push(FillRequest::default());
                self.keeping.len() - 1
            });
            storage.hold(open.job);
            self.keeping[at].job = open.job;
            (storage.open(Wakeup::FillRead(at)), at)
        });
        let copies = &mut self.keeping[keeping].copies;
        match copies.last_mut() {
            Some(run) if run.slot + run.blocks == slot && run.id + run.blocks == id => run.blocks += 1,
            _ => copies.push(BlockRun { slot, blocks: 1, id }),
        }
    }

    /// A request read what is kept of it: it is done with that, which is written into the cache behind its back.
    pub(super) fn copy_kept(&mut self, storage: &mut Storage<Wakeup>, keeping: usize) {
        let FillRequest { job, mut copies } = std::mem::take(&mut self.keeping[keeping]);
        self.kept.push(keeping);
        storage.close(job);
        for copied in copies.drain(..) {
            let written = storage.open(Wakeup::FillWritten(copied));
            self.copy_in(storage, written, copied);
            storage.close(written);
        }
        self.keeping[keeping].copies = copies;
    }

    /// What was kept is in the cache, unless it went from there in the meantime.
    pub(super) fn kept(&mut self, run: BlockRun) {
        for at in 0..run.blocks {
            let id = run.id + at;
            if self.slots.of(id) == Some(run.slot + at) && self.slots.state(id) == BlockState::Filling {
                self.slots.set(id, BlockState::Clean);
            }
        }
    }

    pub(super) fn copy_in(&mut self, storage: &mut Storage<Wakeup>, job: JobId, run: BlockRun) {
        let to = self.data_start + u64::from(run.slot) * self.block;
        storage.submit(
            job,
            self.stretch(TierLevel::Cache, to, u64::from(run.blocks) * self.block, true, FlowKind::Promotion),
        );
        self.note(storage, job, run.id);
    }
}
