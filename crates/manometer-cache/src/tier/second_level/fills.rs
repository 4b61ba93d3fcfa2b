//! Fills of the second-level cache: blocks requested in part are copied before the request is answered, whole blocks
//! read by a request afterwards.

use super::super::cache_slots::{BlockRun, BlockState};
use super::super::io::{FlowKind, IoRequest, LevelIo, TierLevel};
use super::super::jobs::JobId;
use super::super::storage::TierStorage;
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

    /// Holds a request until the block's copy into the cache is complete.
    pub(super) fn wait(
        &mut self,
        storage: &mut TierStorage<Wakeup>,
        open: &mut CoalescedRequest,
        slot: u32,
        part: BlockPart,
    ) {
        let IoRequest { is_write, is_through, .. } = open.io;
        match self.settings.mode {
            _ if open.may_dirty && is_write => self.mark_dirty(part.id),
            WriteMode::WriteBack | WriteMode::WriteThrough if is_write => {
                open.add(storage, TierLevel::Origin, part.offset, part.bytes)
            }
            _ => {}
        }
        let rest = self.stretch(TierLevel::Cache, self.place(slot, part), part.bytes, is_write, FlowKind::File);
        storage.hold(open.job);
        self.after_copy(storage, part.id, open.job, LevelIo { is_through, ..rest });
    }

    /// Submits a request to a block as part of a job held for it, at once or after the block was copied.
    pub(super) fn after_copy(&mut self, storage: &mut TierStorage<Wakeup>, id: KeyId, job: JobId, stretch: LevelIo) {
        match self.migrations.get_mut(&id) {
            Some(waiting) => waiting.push((job, stretch)),
            None => {
                storage.submit(job, stretch);
                storage.close(job);
            }
        }
    }

    /// Copies a whole block into the cache; the request then continues.
    pub(super) fn migrate(
        &mut self,
        storage: &mut TierStorage<Wakeup>,
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

    /// Completes a migration and releases the requests that wait for the block.
    pub(super) fn complete_promotion(&mut self, storage: &mut TierStorage<Wakeup>, id: KeyId) {
        for (job, stretch) in self.migrations.remove(&id).into_iter().flatten() {
            storage.submit(job, stretch);
            storage.close(job);
        }
    }

    /// Schedules a block to be cached once its request has read it. The request's reads from the origin become a
    /// separate job.
    pub(super) fn keep(
        &mut self,
        storage: &mut TierStorage<Wakeup>,
        open: &mut CoalescedRequest,
        slot: u32,
        id: KeyId,
    ) {
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

    /// Completes the reads of a fill for its request, and writes the blocks into the cache in the background.
    pub(super) fn write_fills(&mut self, storage: &mut TierStorage<Wakeup>, keeping: usize) {
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

    /// Marks filled blocks as cached, unless they were evicted meanwhile.
    pub(super) fn complete_fill(&mut self, run: BlockRun) {
        for at in 0..run.blocks {
            let id = run.id + at;
            if self.slots.of(id) == Some(run.slot + at) && self.slots.state(id) == BlockState::Filling {
                self.slots.set(id, BlockState::Clean);
            }
        }
    }

    pub(super) fn copy_in(&mut self, storage: &mut TierStorage<Wakeup>, job: JobId, run: BlockRun) {
        let to = self.data_start + u64::from(run.slot) * self.block;
        storage.submit(
            job,
            self.stretch(TierLevel::Cache, to, u64::from(run.blocks) * self.block, true, FlowKind::Promotion),
        );
        self.note(storage, job, run.id);
    }
}
