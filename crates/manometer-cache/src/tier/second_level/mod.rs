//! The second-level cache: an SSD that caches blocks of the origin.
//!
//! A policy of [`crate::policy`] decides which blocks are cached. This module decides where they lie, and handles
//! copies, bypass and write-back. Cache thesis, chapters 4 and 6.2.2.

mod bcache_cleaner;
mod coalesced;
mod fills;
mod metadata;
mod sequential;
pub mod settings;
mod write_back;
mod write_back_rate;

use std::collections::{BTreeMap, HashMap};

use self::bcache_cleaner::BcacheCleaner;
use self::coalesced::{CoalescedRequest, FillRequest};
use self::sequential::SequentialDetector;
use self::settings::{MetadataKind, SecondLevelSettings, SequentialBypass, WriteMode};
use super::cache_slots::{BlockRun, BlockState, CacheSlots};
use super::io::{FLUSHER, FlowKind, IoRequest, LevelIo, TierLevel};
use super::jobs::JobId;
use super::metadata_tree::MetadataTree;
use super::storage::TierStorage;
use super::wakeup::Wakeup;
use crate::CacheError;
use crate::key_id::KeyId;
use crate::policy::Policy;
use crate::request::CacheRequest;
use crate::requests::RequestSequence;

/// The size of a metadata node in bytes.
const NODE: u64 = 4096;
/// The fraction of the cache for metadata.
const METADATA_SHARE: u64 = 128;

/// The counters of the second-level cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SecondLevelCounters {
    /// Blocks requested by reads.
    pub reads: u64,
    /// Read hits.
    pub read_hits: u64,
    /// Blocks requested by writes.
    pub writes: u64,
    /// Write hits.
    pub write_hits: u64,
    /// Blocks that bypassed the cache, because the requests were sequential or it was congested.
    pub bypassed: u64,
}

impl SecondLevelCounters {
    /// The counts since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            reads: self.reads - earlier.reads,
            read_hits: self.read_hits - earlier.read_hits,
            writes: self.writes - earlier.writes,
            write_hits: self.write_hits - earlier.write_hits,
            bypassed: self.bypassed - earlier.bypassed,
        }
    }
}

/// The simulation state of an SSD cache.
pub struct SecondLevelCache<'a> {
    settings: &'a SecondLevelSettings,
    block: u64,
    policy: Box<dyn Policy + 'a>,
    /// The time scale: policies that count seconds get as many as at full size.
    time_scale: u64,
    requested: u32,
    slots: CacheSlots,
    capacity: u64,
    /// Dirty blocks in address order, if they are cleaned, with the number of the request that wrote them last; and the
    /// cleaning position.
    dirty: BTreeMap<KeyId, u32>,
    cleaning: usize,
    cleaned_to: KeyId,
    last_cleaned: Option<KeyId>,
    /// The write-back thread of bcache in write-back mode.
    cleaner: Option<BcacheCleaner>,
    /// The size of the metadata, before the blocks: nodes, or a journal and a tree; and the journal's position.
    metadata_bytes: u64,
    journal_bytes: u64,
    journal: u64,
    tree: MetadataTree,
    data_start: u64,
    /// Blocks being migrated into the cache, and the requests that wait for them.
    migrations: HashMap<KeyId, Vec<(JobId, LevelIo)>, rapidhash::fast::RandomState>,
    /// Requests that read blocks to be cached.
    keeping: Vec<FillRequest>,
    kept: Vec<usize>,
    tasks: SequentialDetector,
    /// Whether its metadata must be committed before a flush.
    is_changed: bool,
    evicted: Vec<KeyId>,
    counters: SecondLevelCounters,
}

/// The part of a request within one block.
#[derive(Debug, Clone, Copy)]
struct BlockPart {
    id: KeyId,
    /// The start address on the origin.
    offset: u64,
    bytes: u64,
}

impl<'a> SecondLevelCache<'a> {
    /// A cache of `bytes` over the blocks of `blocks`, with sizes and periods divided by `scale`.
    ///
    /// # Errors
    /// It is too small for a block.
    pub fn new(
        settings: &'a SecondLevelSettings,
        bytes: u64,
        blocks: &'a RequestSequence,
        scale: u64,
        seed: u64,
    ) -> Result<Self, CacheError> {
        let block = settings.block.0;
        let metadata_bytes = (bytes / METADATA_SHARE).next_multiple_of(NODE);
        let is_tree = settings.metadata.kind == MetadataKind::BTree;
        let journal_bytes = if is_tree { (metadata_bytes / 2).next_multiple_of(NODE) } else { metadata_bytes };
        let places = bytes.saturating_sub(metadata_bytes) / block;
        // A rewritten block needs a slot before its old one is free.
        let spare = (places / 64).max(1);
        if places < 2 * spare + 1 || places > u64::from(u32::MAX) {
            return Err(CacheError::Invalid(format!(
                "a cache of {bytes} bytes does not hold blocks of {block} bytes: make it larger, or `scale` smaller"
            )));
        }
        let metadata = settings.metadata;
        if metadata.kind != MetadataKind::None && metadata.bytes.0 > journal_bytes {
            return Err(CacheError::Invalid(format!(
                "`metadata.bytes` is {}, and of a cache of {bytes} bytes {journal_bytes} are for that: write less for each \
                change, or make the cache larger, or `scale` smaller",
                metadata.bytes.0
            )));
        }
        let capacity = places - spare;
        let mut policy = settings.policy.create(capacity, blocks, false, seed);
        policy.record_evictions();
        let cleaner = settings.bcache_buckets(bytes).filter(|_| settings.mode == WriteMode::WriteBack);
        let cleaner = cleaner.map(|buckets| BcacheCleaner::new(settings, bytes, buckets, scale));
        Ok(Self {
            settings,
            block,
            policy,
            time_scale: scale,
            requested: 0,
            slots: CacheSlots::new(blocks.keys(), places as u32),
            capacity,
            dirty: BTreeMap::new(),
            cleaning: 0,
            cleaned_to: 0,
            last_cleaned: None,
            cleaner,
            metadata_bytes,
            journal_bytes,
            journal: 0,
            tree: MetadataTree::new(journal_bytes, metadata_bytes - journal_bytes, blocks.keys() as u64),
            data_start: metadata_bytes,
            migrations: HashMap::default(),
            keeping: Vec::new(),
            kept: Vec::new(),
            tasks: SequentialDetector::default(),
            is_changed: false,
            evicted: Vec::new(),
            counters: SecondLevelCounters::default(),
        })
    }

    /// Its counters.
    pub fn counters(&self) -> SecondLevelCounters {
        self.counters
    }

    /// Makes a job wait until written data is on the media. Metadata in nodes are committed first.
    pub fn flush(&mut self, storage: &mut TierStorage<Wakeup>, job: JobId) {
        if self.settings.metadata.kind == MetadataKind::Mapping && std::mem::take(&mut self.is_changed) {
            storage.flush(job, TierLevel::Cache);
            self.note(storage, job, 0);
        }
        storage.flush(job, TierLevel::Cache);
    }

    /// Serves a request as part of a job.
    pub fn request(&mut self, storage: &mut TierStorage<Wakeup>, job: JobId, io: &IoRequest) {
        self.note_request(storage);
        let is_bypassed = self.bypasses(storage, io);
        let mut open = CoalescedRequest {
            job,
            io: *io,
            stretch: None,
            keeps: None,
            is_logged: false,
            may_dirty: self.may_dirty(io),
        };
        let (mut at, end) = (io.offset, io.offset + io.bytes);
        while at < end {
            let until = end.min((at / self.block + 1) * self.block);
            let part = BlockPart { id: (at / self.block) as KeyId, offset: at, bytes: until - at };
            self.part(storage, &mut open, part, is_bypassed);
            at = until;
        }
        open.flush(storage);
        if let Some((reads, _)) = open.keeps {
            storage.close(reads);
        }
        self.clean(storage);
    }

    /// Whether a request bypasses the cache, because it is sequential or the cache is congested.
    fn bypasses(&mut self, storage: &TierStorage<Wakeup>, io: &IoRequest) -> bool {
        let is_congested = self.settings.congested.as_ref().is_some_and(|congested| {
            let limit = if io.is_write { congested.write } else { congested.read };
            storage.backlog(TierLevel::Cache, io.is_write) > limit.nanoseconds()
        });
        let is_synchronous = io.is_write && io.task != FLUSHER && self.settings.mode == WriteMode::WriteBack;
        let counts = |sequential: &&SequentialBypass| sequential.synchronous_writes || !is_synchronous;
        is_congested || self.tasks.is_sequential(io, self.settings.sequential.as_ref().filter(counts))
    }

    fn part(
        &mut self,
        storage: &mut TierStorage<Wakeup>,
        open: &mut CoalescedRequest,
        part: BlockPart,
        is_bypassed: bool,
    ) {
        let io = open.io;
        let (was_held, is_whole) = (self.policy.holds(part.id), part.bytes == self.block);
        // What is being written back would overwrite what goes past it.
        let is_bypassed = is_bypassed && !(io.is_write && self.slots.state(part.id) == BlockState::Cleaning);
        let is_there = was_held && self.is_there(part.id);
        self.count(&io, is_there, is_bypassed);
        if io.is_write && self.settings.mode == WriteMode::WriteAround {
            self.forget(part.id);
            return open.add(storage, TierLevel::Origin, part.offset, part.bytes);
        }
        if is_bypassed && (!was_held || io.is_write && is_whole) {
            self.forget(part.id);
            return open.add(storage, TierLevel::Origin, part.offset, part.bytes);
        }
        if !was_held && !is_whole && !self.may_migrate(part.id) {
            return open.add(storage, TierLevel::Origin, part.offset, part.bytes);
        }
        let is_dirty = io.is_write && self.slots.state(part.id) == BlockState::Dirty;
        if is_dirty && is_whole {
            // Nobody needs the old data any more.
            self.set_clean(part.id);
        }
        let now = storage.now() * self.time_scale;
        let request = CacheRequest {
            id: part.id,
            position: self.requested,
            size: 1,
            // A part that is written through leaves the rest of the block where it is.
            is_write: io.is_write && (is_whole || open.may_dirty || !is_dirty),
            is_whole: is_whole && self.settings.mode == WriteMode::WriteBack,
            time_ns: now,
        };
        self.requested = self.requested.wrapping_add(1);
        self.policy.request(&request);
        self.make_room(storage);
        match (was_held, self.policy.holds(part.id)) {
            (true, true) => self.hit(storage, open, part),
            (false, true) => self.admit(storage, open, part),
            (_, false) => {
                self.forget(part.id);
                open.add(storage, TierLevel::Origin, part.offset, part.bytes);
            }
        }
    }

    /// Whether a cached block is completely in the cache.
    fn is_there(&self, id: KeyId) -> bool {
        self.slots.state(id) != BlockState::Filling && !self.migrations.contains_key(&id)
    }

    fn count(&mut self, io: &IoRequest, is_hit: bool, is_bypassed: bool) {
        let (requests, hits) = match io.is_write {
            true => (&mut self.counters.writes, &mut self.counters.write_hits),
            false => (&mut self.counters.reads, &mut self.counters.read_hits),
        };
        *requests += 1;
        *hits += u64::from(is_hit);
        self.counters.bypassed += u64::from(is_bypassed && !is_hit);
    }

    fn hit(&mut self, storage: &mut TierStorage<Wakeup>, open: &mut CoalescedRequest, part: BlockPart) {
        let Some(slot) = self.slots.of(part.id) else {
            return open.add(storage, TierLevel::Origin, part.offset, part.bytes);
        };
        if self.migrations.contains_key(&part.id) {
            return self.wait(storage, open, slot, part);
        }
        let is_arriving = self.slots.state(part.id) == BlockState::Filling;
        if is_arriving && open.io.is_write && part.bytes < self.block {
            self.forget(part.id);
            return open.add(storage, TierLevel::Origin, part.offset, part.bytes);
        }
        if !open.io.is_write {
            return match is_arriving {
                true => open.add(storage, TierLevel::Origin, part.offset, part.bytes),
                false => open.add(storage, TierLevel::Cache, self.place(slot, part), part.bytes),
            };
        }
        if is_arriving {
            self.slots.set(part.id, BlockState::Clean);
        }
        // A log-structured cache writes whole blocks to a new slot.
        let slot = match self.settings.bucket.is_some() && part.bytes == self.block {
            true => self.slots.take(part.id).unwrap_or(slot),
            false => slot,
        };
        self.write(storage, open, slot, part);
    }

    /// Writes to the cache and, unless that may leave the block dirty, to the origin.
    fn write(&mut self, storage: &mut TierStorage<Wakeup>, open: &mut CoalescedRequest, slot: u32, part: BlockPart) {
        if open.may_dirty || self.slots.state(part.id) == BlockState::Cleaning {
            self.mark_dirty(part.id);
        } else {
            open.add(storage, TierLevel::Origin, part.offset, part.bytes);
        }
        open.add(storage, TierLevel::Cache, self.place(slot, part), part.bytes);
        // Consecutive blocks share one entry of the tree.
        if self.settings.metadata.kind == MetadataKind::BTree && !open.is_logged {
            open.is_logged = true;
            self.log(storage, open.job);
            self.change_node(storage, part.id);
        }
    }

    /// Adds a block that the policy admitted.
    fn admit(&mut self, storage: &mut TierStorage<Wakeup>, open: &mut CoalescedRequest, part: BlockPart) {
        let is_whole = part.bytes == self.block;
        let Some(slot) = self.slots.take(part.id) else {
            self.policy.remove(part.id);
            return open.add(storage, TierLevel::Origin, part.offset, part.bytes);
        };
        self.is_changed = true;
        match (is_whole, open.io.is_write) {
            (true, true) => {
                if self.settings.metadata.kind == MetadataKind::Mapping {
                    self.record_metadata_write(storage, part.id);
                }
                self.write(storage, open, slot, part);
            }
            (true, false) => {
                self.keep(storage, open, slot, part.id);
                open.add(storage, TierLevel::Origin, part.offset, part.bytes);
            }
            (false, _) => {
                open.flush(storage);
                self.migrate(storage, open, slot, part);
            }
        }
    }

    /// Handles a wakeup of the second-level cache.
    pub fn wake(&mut self, storage: &mut TierStorage<Wakeup>, wake: Wakeup) {
        match wake {
            Wakeup::PromotionRead { slot, id } => {
                let copied = storage.open(Wakeup::PromotionWritten { id });
                self.copy_in(storage, copied, BlockRun { slot, blocks: 1, id });
                storage.close(copied);
            }
            Wakeup::PromotionWritten { id } => self.complete_promotion(storage, id),
            Wakeup::FillRead(keeping) => self.write_fills(storage, keeping),
            Wakeup::FillWritten(copied) => self.complete_fill(copied),
            Wakeup::NodeTimer(node) => {
                let append = self.tree.flush_node(node);
                append.into_iter().for_each(|append| self.append(storage, append));
            }
            Wakeup::WriteBackRead { id, flow } => self.write_to_origin(storage, id, flow),
            Wakeup::BlockCleaned { id } => self.complete_write_back(storage, id),
            Wakeup::CleanerTimer => self.continue_cleaner(storage),
            Wakeup::RateTimer => self.update_rate(storage),
            _ => {}
        }
    }

    /// Frees the slots of evicted blocks; dirty ones are written back first.
    fn make_room(&mut self, storage: &mut TierStorage<Wakeup>) {
        let mut evicted = std::mem::take(&mut self.evicted);
        self.policy.drain_evictions(&mut evicted);
        for id in evicted.drain(..) {
            let Some((slot, state)) = self.slots.free(id) else { continue };
            self.dirty.remove(&id);
            if state == BlockState::Dirty {
                self.record_metadata_write(storage, id);
                self.write_back(storage, slot, id, FlowKind::Demotion);
            }
            self.trim(storage, slot);
        }
        self.evicted = evicted;
    }

    /// Discards a slot on the SSDs, if discards are sent.
    fn trim(&self, storage: &mut TierStorage<Wakeup>, slot: u32) {
        if self.settings.trim {
            storage.trim(TierLevel::Cache, self.data_start + u64::from(slot) * self.block, self.block);
        }
    }

    /// Drops the blocks completely covered by a range, dirty or not, since their data is no longer needed.
    pub fn discard(&mut self, storage: &mut TierStorage<Wakeup>, offset: u64, bytes: u64) {
        let mut dropped = None;
        for id in offset.div_ceil(self.block) as KeyId..((offset + bytes) / self.block) as KeyId {
            if let Some(slot) = self.slots.of(id) {
                self.forget(id);
                self.trim(storage, slot);
                dropped = Some(id);
            }
        }
        if let Some(id) = dropped {
            self.is_changed = true;
            self.record_metadata_write(storage, id);
        }
    }

    fn mark_dirty(&mut self, id: KeyId) {
        self.is_changed = true;
        self.slots.set(id, BlockState::Dirty);
        self.policy.set_dirty(id, true);
        if self.settings.clean_above.is_some() || self.cleaner.is_some() {
            self.dirty.insert(id, self.requested);
        }
    }

    fn set_clean(&mut self, id: KeyId) {
        self.slots.set(id, BlockState::Clean);
        self.policy.set_dirty(id, false);
        self.dirty.remove(&id);
    }

    /// Drops a block: the origin has newer data, or will have.
    fn forget(&mut self, id: KeyId) {
        self.policy.remove(id);
        self.slots.free(id);
        self.dirty.remove(&id);
    }

    fn place(&self, slot: u32, part: BlockPart) -> u64 {
        self.data_start + u64::from(slot) * self.block + part.offset % self.block
    }

    fn stretch(&self, level: TierLevel, offset: u64, bytes: u64, is_write: bool, flow: FlowKind) -> LevelIo {
        LevelIo { level, offset, bytes, is_write, is_through: false, flow }
    }
}
