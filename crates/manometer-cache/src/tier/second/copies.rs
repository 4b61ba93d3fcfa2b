//! What is copied into the second level: blocks of which only a part is asked for, before that is answered, and whole
//! blocks that a request read, behind its back.

use super::super::flows::Flow;
use super::super::jobs::JobId;
use super::super::second_settings::Mode;
use super::super::slots::State;
use super::super::storage::{Level, Storage, Stretch};
use super::super::wake::Wake;
use super::joined::{Copied, Joined, Keeping};
use super::{Ask, Part, Second};
use crate::number::Id;

impl Second<'_> {
    /// Whether a block may be copied into the cache now.
    pub(super) fn may_migrate(&self, id: Id) -> bool {
        let bytes = (self.migrations.len() as u64 + 1) * self.block;
        self.settings.migration.is_none_or(|limit| bytes <= limit.0) && !self.migrations.contains_key(&id)
    }

    /// Goes on with a block that is being copied into the cache once it is there.
    pub(super) fn wait(&mut self, storage: &mut Storage<Wake>, open: &mut Joined, slot: u32, part: Part) {
        let Ask { is_write, is_through, .. } = open.ask;
        match self.settings.mode {
            Mode::WriteBack if is_write => self.soil(part.id),
            Mode::WriteThrough if is_write => open.add(storage, Level::Origin, part.offset, part.bytes),
            _ => {}
        }
        let rest = self.stretch(Level::Cache, self.place(slot, part), part.bytes, is_write, Flow::File);
        storage.hold(open.job);
        self.after_copy(storage, part.id, open.job, Stretch { is_through, ..rest });
    }

    /// Submits a stretch of a block as part of a job that is held for it, at once or when the block is in the cache.
    pub(super) fn after_copy(&mut self, storage: &mut Storage<Wake>, id: Id, job: JobId, stretch: Stretch) {
        match self.migrations.get_mut(&id) {
            Some(waiting) => waiting.push((job, stretch)),
            None => {
                storage.submit(job, stretch);
                storage.close(job);
            }
        }
    }

    /// Copies a whole block into the cache; the request goes on with what it wants of it.
    pub(super) fn migrate(&mut self, storage: &mut Storage<Wake>, open: &mut Joined, slot: u32, part: Part) {
        self.migrations.entry(part.id).or_default();
        self.wait(storage, open, slot, part);
        let copied = storage.open(Wake::Read { slot, id: part.id });
        let from = u64::from(part.id) * self.block;
        storage.submit(copied, self.stretch(Level::Origin, from, self.block, false, Flow::Promotion));
        storage.close(copied);
    }

    /// The block of a migration is in the cache: what waited for it goes on.
    pub(super) fn copied(&mut self, storage: &mut Storage<Wake>, id: Id) {
        for (job, stretch) in self.migrations.remove(&id).into_iter().flatten() {
            storage.submit(job, stretch);
            storage.close(job);
        }
    }

    /// Notes that a block is to be kept once its request read it; what that reads from the origin is a job of its own from
    /// now on.
    pub(super) fn keep(&mut self, storage: &mut Storage<Wake>, open: &mut Joined, slot: u32, id: Id) {
        self.slots.set(id, State::Arriving);
        let (_, keeping) = *open.keeps.get_or_insert_with(|| {
            let at = self.kept.pop().unwrap_or_else(|| {
                self.keeping.push(Keeping::default());
                self.keeping.len() - 1
            });
            storage.hold(open.job);
            self.keeping[at].job = open.job;
            (storage.open(Wake::Keep(at)), at)
        });
        let copies = &mut self.keeping[keeping].copies;
        match copies.last_mut() {
            Some((first, blocks, of)) if *first + *blocks == slot && *of + *blocks == id => *blocks += 1,
            _ => copies.push((slot, 1, id)),
        }
    }

    /// A request read what is kept of it: it is done with that, which is written into the cache behind its back.
    pub(super) fn copy_kept(&mut self, storage: &mut Storage<Wake>, keeping: usize) {
        let Keeping { job, mut copies } = std::mem::take(&mut self.keeping[keeping]);
        self.kept.push(keeping);
        storage.close(job);
        for copied in copies.drain(..) {
            let written = storage.open(Wake::Kept(copied));
            self.copy_in(storage, written, copied);
            storage.close(written);
        }
        self.keeping[keeping].copies = copies;
    }

    /// What was kept is in the cache, unless it went from there in the meantime.
    pub(super) fn kept(&mut self, (slot, blocks, id): Copied) {
        for at in 0..blocks {
            if self.slots.of(id + at) == Some(slot + at) && self.slots.state(id + at) == State::Arriving {
                self.slots.set(id + at, State::Clean);
            }
        }
    }

    pub(super) fn copy_in(&mut self, storage: &mut Storage<Wake>, job: JobId, (slot, blocks, id): Copied) {
        let to = self.data_start + u64::from(slot) * self.block;
        storage.submit(job, self.stretch(Level::Cache, to, u64::from(blocks) * self.block, true, Flow::Promotion));
        self.note(storage, job, id);
    }
}
