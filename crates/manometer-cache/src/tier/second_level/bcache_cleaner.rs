//! bcache's write-back thread: Linux 6.1, `drivers/md/bcache/writeback.c`. It scans for dirty blocks in address order,
//! writes them back at a rate, and pauses after a scan that found all of them. While too many buckets are in use, writes
//! go to the origin too.

use std::collections::VecDeque;

use super::super::cache_slots::BlockRun;
use super::super::events::Ns;
use super::super::io::{FLUSHER, IoRequest};
use super::super::storage::TierStorage;
use super::super::wakeup::Wakeup;
use super::SecondLevelCache;
use super::settings::{SecondLevelSettings, WriteMode};
use super::write_back_rate::{DirtyData, SECTOR, UPDATE_NS, WriteBackRate};

/// The share of dirty data by default (`writeback_percent`).
const TARGET_SHARE: f64 = 0.1;
/// The percentage of buckets in use above which nothing becomes dirty: by synchronous writes, and by others.
const CUTOFF_SYNCHRONOUS: f64 = 70.0;
const CUTOFF: f64 = 40.0;
/// The runs of dirty blocks, each within a bucket, that a scan finds at most.
const SCANNED_MAX: u64 = 500;
/// The pause after a scan that found all.
const PAUSE_NS: Ns = 30_000_000_000;
/// While so many blocks are being written back, no other begins to be.
const WRITTEN_AT_ONCE: usize = 64;

/// What the thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CleanerState {
    /// Nothing, until something becomes dirty.
    Asleep,
    /// It writes back.
    Running,
    /// It waits, because of the rate.
    Paced,
    /// It waits until it scans again.
    Paused,
}

/// The thread's state. Its times and sizes are those at full scale.
#[derive(Debug)]
pub struct BcacheCleaner {
    state: CleanerState,
    rate: WriteBackRate,
    target_share: f64,
    buckets: u64,
    bucket_bytes: u64,
    scanned_max: usize,
    /// What the last scan found, and whether that was all.
    found: VecDeque<BlockRun>,
    found_all: bool,
    /// The number of the last request before the scan.
    scanned: u32,
    has_dirty: bool,
    is_timed: bool,
}

impl BcacheCleaner {
    /// That of a cache of `bytes` with `buckets` at a scale.
    pub fn new(settings: &SecondLevelSettings, bytes: u64, buckets: u64, scale: u64) -> Self {
        Self {
            state: CleanerState::Asleep,
            rate: WriteBackRate::new(scale),
            target_share: settings.clean_above.map_or(TARGET_SHARE, |share| share.0),
            buckets: buckets * scale,
            bucket_bytes: bytes / buckets,
            scanned_max: (SCANNED_MAX / scale).max(1) as usize,
            found: VecDeque::new(),
            found_all: false,
            scanned: 0,
            has_dirty: false,
            is_timed: false,
        }
    }

    fn wait(&mut self, storage: &mut TierStorage<Wakeup>, state: CleanerState, ns: Ns) {
        self.state = state;
        storage.wake_at(storage.now() + ns, Wakeup::CleanerTimer);
    }
}

impl SecondLevelCache<'_> {
    /// Whether a write may leave blocks dirty.
    pub(super) fn may_dirty(&self, io: &IoRequest) -> bool {
        let cutoff = if io.task == FLUSHER { CUTOFF } else { CUTOFF_SYNCHRONOUS };
        let in_use = (100.0 * self.policy.unavailable_share()).floor();
        self.settings.mode == WriteMode::WriteBack && (self.cleaner.is_none() || in_use <= cutoff)
    }

    /// Notes a request, which ends idleness.
    pub(super) fn note_request(&mut self, storage: &mut TierStorage<Wakeup>) {
        let scale = self.time_scale;
        let Some(cleaner) = &mut self.cleaner else { return };
        cleaner.rate.end_idle();
        if !std::mem::replace(&mut cleaner.is_timed, true) {
            storage.wake_at(storage.now() + UPDATE_NS / scale, Wakeup::RateTimer);
        }
    }

    /// Sets the rate.
    pub(super) fn update_rate(&mut self, storage: &mut TierStorage<Wakeup>) {
        let scale = self.time_scale;
        let dirty_bytes = (self.slots.dirty() + self.cleaning as u64) * self.block * scale;
        let unavailable = self.policy.unavailable_share();
        let Some(cleaner) = &mut self.cleaner else { return };
        storage.wake_at(storage.now() + UPDATE_NS / scale, Wakeup::RateTimer);
        if !cleaner.has_dirty {
            return;
        }
        let cache_sectors = (cleaner.buckets * cleaner.bucket_bytes / SECTOR) as f64;
        let dirty = DirtyData {
            sectors: (dirty_bytes / SECTOR) as i64,
            target: (cache_sectors * cleaner.target_share) as i64,
            buckets: cleaner.buckets as i64,
            in_use: (cleaner.buckets as f64 * unavailable).round() as i64,
            bucket_sectors: (cleaner.bucket_bytes / SECTOR) as i64,
        };
        cleaner.rate.update(storage.now() * scale, &dirty);
    }

    /// Continues after the thread's timer.
    pub(super) fn continue_cleaner(&mut self, storage: &mut TierStorage<Wakeup>) {
        let (now, scale) = (storage.now(), self.time_scale);
        let Some(cleaner) = &mut self.cleaner else { return };
        if cleaner.state == CleanerState::Paced {
            let delay = cleaner.rate.delay(now * scale, 0) / scale;
            if delay > 0 {
                return cleaner.wait(storage, CleanerState::Paced, delay);
            }
            cleaner.state = CleanerState::Running;
        } else {
            cleaner.rate.reset(now * scale);
            cleaner.state = if cleaner.has_dirty { CleanerState::Running } else { CleanerState::Asleep };
        }
        self.clean(storage);
    }

    /// Writes back what is due.
    pub(super) fn run_cleaner(&mut self, storage: &mut TierStorage<Wakeup>, cleaner: &mut BcacheCleaner) {
        cleaner.has_dirty |= !self.dirty.is_empty();
        if cleaner.state == CleanerState::Asleep && cleaner.has_dirty {
            cleaner.state = CleanerState::Running;
        }
        while cleaner.state == CleanerState::Running && self.cleaning < WRITTEN_AT_ONCE {
            if let Some(run) = cleaner.found.pop_front() {
                let blocks = self.clean_run(storage, cleaner.scanned, run);
                let delay =
                    cleaner.rate.delay(storage.now() * self.time_scale, blocks * self.block / SECTOR * self.time_scale);
                if delay >= self.time_scale {
                    cleaner.wait(storage, CleanerState::Paced, delay / self.time_scale);
                }
            } else if self.cleaning > 0 {
                return;
            } else if std::mem::take(&mut cleaner.found_all) {
                cleaner.wait(storage, CleanerState::Paused, PAUSE_NS / self.time_scale);
            } else {
                self.scan(cleaner);
            }
        }
    }

    /// Begins to write back a run. Returns its number of blocks: none if it was written to since the scan.
    fn clean_run(&mut self, storage: &mut TierStorage<Wakeup>, scanned: u32, run: BlockRun) -> u64 {
        let is_same = |id| self.dirty.get(&id).is_some_and(|written| written.wrapping_sub(scanned) as i32 <= 0);
        if !(run.id..run.id + run.blocks).all(is_same) {
            return 0;
        }
        (run.id..run.id + run.blocks).for_each(|id| self.clean_block(storage, id));
        u64::from(run.blocks)
    }

    /// Finds runs of dirty blocks, from where the last scan ended.
    fn scan(&self, cleaner: &mut BcacheCleaner) {
        cleaner.scanned = self.requested;
        let after = self.dirty.range(self.cleaned_to..);
        let before = self.dirty.range(..self.cleaned_to);
        let run_max = (cleaner.bucket_bytes / self.block) as u32;
        for id in after.chain(before).map(|(id, _)| *id) {
            let Some(slot) = self.slots.of(id) else { continue };
            let is_full = cleaner.found.len() == cleaner.scanned_max;
            match cleaner.found.back_mut() {
                Some(run) if run.id + run.blocks == id && run.slot + run.blocks == slot && run.blocks < run_max => {
                    run.blocks += 1;
                }
                _ if is_full => return,
                _ => cleaner.found.push_back(BlockRun { slot, blocks: 1, id }),
            }
        }
        cleaner.found_all = true;
        cleaner.has_dirty = !cleaner.found.is_empty();
    }
}
