//! Budgets: how many pages may be in memory, which ones go, and where the room they leave is kept.

mod background;
mod clock;
mod free_slots;
mod recency;

use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::{Mutex, RwLock};

use self::background::Background;
use self::clock::{ALL_ROUNDS, CLEAN_ROUNDS, Hand};
use self::free_slots::FreeSlots;
use self::recency::{Candidate, Recency};
use crate::choices::{Policy, Replacement};
use crate::core::Core;
use crate::counters::{Event, ShardedCounters};
use crate::page::{PageWord, State};
use crate::residents::Residents;
use crate::system::Memory;
use crate::{Counters, Error, PAGE_BYTES, Result};

/// Most regions of one budget: an owner names its region in 16 bits.
const MAX_REGIONS: usize = 1 << 16;

/// Most pages of one budget: 16 TiB, but for one page.
const MAX_PAGES: u32 = u32::MAX - 1;

/// Bits of an owner that name the page.
const PAGE_BITS: u32 = 48;

/// A share of the budget that neither a batch nor a window exceeds.
const LARGEST_SHARE: u32 = 8;

/// Which pages go, and how many at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EvictionRules {
    pub(crate) policy: Policy,
    pub(crate) replacement: Replacement,
    /// Most pages that are recycled at once.
    pub(crate) batch: u32,
}

/// Memory for pages, which several regions may share. Clones are the same budget.
#[derive(Clone)]
pub struct Budget(pub(crate) Arc<Slots>);

impl Budget {
    /// A budget of `memory` bytes that evicts by `rules`.
    pub(crate) fn with_rules(memory: u64, rules: EvictionRules) -> Result<Self> {
        let pages = memory / PAGE_BYTES as u64;
        if pages == 0 {
            return Err(Error::Budget { got: memory, wanted: PAGE_BYTES as u64, reason: "it holds no page" });
        }
        let pages = u32::try_from(pages).ok().filter(|pages| *pages <= MAX_PAGES);
        let most = u64::from(MAX_PAGES) * PAGE_BYTES as u64;
        let pages = pages.ok_or(Error::BudgetTooLarge { got: memory, most })?;
        let slots = Arc::new(Slots::new(pages, rules)?);
        if rules.policy == Policy::CleanOnly {
            let of_thread = Arc::downgrade(&slots);
            let work = move || of_thread.upgrade().iter().for_each(|slots| slots.reclaim());
            let background = Background::start(work).map_err(Error::io("start of a thread", 0, 0))?;
            // Only this thread knows the budget yet.
            let _ = slots.background.set(background);
        }
        Ok(Self(slots))
    }

    /// The budget in pages.
    pub fn pages(&self) -> u32 {
        self.0.count
    }

    /// What the budget's regions have done.
    pub fn counters(&self) -> Counters {
        self.0.tally.sums()
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Budget").field("pages", &self.0.count).field("policy", &self.0.policy).finish()
    }
}

/// In what order pages are evicted.
enum Order {
    Clock(Hand),
    Recency(Recency),
}

/// Pages of one region that were taken for eviction.
struct EvictionBatch {
    region: Arc<Core>,
    pages: Vec<u64>,
}

/// A budget's places for pages.
pub(crate) struct Slots {
    count: u32,
    policy: Policy,
    batch: usize,
    free: FreeSlots,
    /// Memory of pages that are not mapped: a frame for each slot.
    frames: Memory,
    /// The slots whose frames take memory.
    framed: Residents,
    /// The region and page in each slot; meaningful where the page's word names the slot.
    owners: Vec<AtomicU64>,
    order: Mutex<Order>,
    /// Whether uses have to be reported to the order.
    is_ordered_by_use: bool,
    regions: RwLock<Vec<Weak<Core>>>,
    /// Batches recycled so far: the clock by which an evicted page knows how long it was away.
    now: AtomicU32,
    pub(crate) tally: ShardedCounters,
    background: OnceLock<Background>,
}

impl Slots {
    fn new(count: u32, rules: EvictionRules) -> Result<Self> {
        let failed = |bytes| Error::io("reservation of memory", 0, bytes);
        let bytes = count as usize * PAGE_BYTES;
        let frames = Memory::new(bytes).map_err(failed(bytes as u64))?;
        // Where the system has no huge pages, small ones do.
        let _ = frames.advise(libc::MADV_HUGEPAGE);
        let is_ordered_by_use = rules.replacement != Replacement::Clock;
        let order = match rules.replacement {
            Replacement::Clock => Order::Clock(Hand::default()),
            Replacement::Lru => Order::Recency(Recency::new(count, false)),
            Replacement::Cflru => Order::Recency(Recency::new(count, true)),
        };
        Ok(Self {
            count,
            policy: rules.policy,
            batch: rules.batch.clamp(1, (count / LARGEST_SHARE).max(1)) as usize,
            free: FreeSlots::new(count, rules.policy == Policy::FullPrivate),
            frames,
            framed: Residents::new(u64::from(count)).map_err(failed(u64::from(count / 8)))?,
            owners: (0..count).map(|_| AtomicU64::new(0)).collect(),
            order: Mutex::new(order),
            is_ordered_by_use,
            regions: RwLock::default(),
            now: AtomicU32::new(1),
            tally: ShardedCounters::default(),
            background: OnceLock::new(),
        })
    }

    /// How many pages the budget holds.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Most pages that one read may bring.
    pub(crate) fn largest_window(&self) -> u64 {
        u64::from(self.count / LARGEST_SHARE).max(1)
    }

    /// Adds a region, which learns its number here.
    pub(crate) fn register(&self, make: impl FnOnce(u16) -> Core) -> Result<Arc<Core>> {
        let mut regions = self.regions.write();
        let free = regions.iter().position(|region| region.strong_count() == 0);
        let number = free.unwrap_or(regions.len());
        let id = u16::try_from(number).map_err(|_| Error::TooManyRegions { most: MAX_REGIONS })?;
        let region = Arc::new(make(id));
        match regions.get_mut(number) {
            Some(place) => *place = Arc::downgrade(&region),
            None => regions.push(Arc::downgrade(&region)),
        }
        Ok(region)
    }

    /// The frame of a slot.
    pub(crate) fn frame(&self, slot: u32) -> *mut u8 {
        self.frames.start().wrapping_add(slot as usize * PAGE_BYTES)
    }

    /// Says where the pages in these slots are kept: in their frames, or elsewhere.
    pub(crate) fn place(&self, slots: &[u32], is_in_frames: bool) {
        for slot in slots {
            let is_framed = self.framed.contains(u64::from(*slot));
            if is_in_frames && !is_framed {
                self.framed.insert(u64::from(*slot));
            } else if !is_in_frames && is_framed {
                let start = *slot as usize * PAGE_BYTES;
                // If this fails, the frame's memory is used again when the slot is.
                let _ = self.frames.release(std::slice::from_ref(&(start..start + PAGE_BYTES)));
                self.framed.remove(u64::from(*slot));
            }
        }
    }

    /// A page has come into the slot.
    pub(crate) fn filled(&self, slot: u32, region: u16, page: u64) {
        self.owners[slot as usize].store(u64::from(region) << PAGE_BITS | page, Ordering::Release);
    }

    /// The page in the slot was used.
    pub(crate) fn used(&self, slot: u32) {
        if self.is_ordered_by_use
            && let Order::Recency(recency) = &mut *self.order.lock()
        {
            recency.touch(slot);
        }
    }

    /// The time, in batches.
    pub(crate) fn now(&self) -> u32 {
        // 0 is never.
        self.now.load(Ordering::Relaxed).max(1)
    }

    /// Whether a page evicted at `evicted` would still be here in a budget twice as large.
    pub(crate) fn is_recently_evicted(&self, evicted: u32) -> bool {
        let batches = self.count / self.batch as u32;
        evicted != 0 && self.now().wrapping_sub(evicted) <= batches
    }

    /// An empty slot. Recycles where there is none, and waits where that does not help at once.
    ///
    /// # Errors
    /// Every page is pinned, or those that are not cannot be written back.
    pub(crate) fn take(&self) -> Result<u32> {
        if let Some(slot) = self.free.take() {
            return Ok(slot);
        }
        let is_clean_only = self.policy == Policy::CleanOnly;
        if let Some(slot) = self.recycle(is_clean_only)? {
            return Ok(slot);
        }
        if let Some(background) = self.background.get() {
            self.tally.add(Event::BackgroundReclaim, 1);
            background.request();
            if let Some(slot) = self.free.take_any() {
                return Ok(slot);
            }
        }
        self.tally.add(Event::ForegroundReclaim, 1);
        loop {
            if let Some(slot) = self.free.take_any() {
                return Ok(slot);
            }
            if let Some(slot) = self.recycle(false)? {
                return Ok(slot);
            }
            if self.pinned() == self.count {
                return Err(Error::AllPinned { pages: self.count });
            }
            std::thread::yield_now();
        }
    }

    /// An empty slot, if there is one or recycling gives one at once.
    pub(crate) fn try_take(&self) -> Option<u32> {
        self.free.take().or_else(|| self.recycle(self.policy == Policy::CleanOnly).ok().flatten())
    }

    /// Gives empty slots back.
    pub(crate) fn put(&self, slots: &[u32]) {
        self.free.put(slots);
    }

    /// Gives empty slots back to whoever needs them first.
    pub(crate) fn put_shared(&self, slots: &[u32]) {
        self.free.put_shared(slots);
    }

    /// The slots are empty, and nothing in them is used any more.
    pub(crate) fn emptied(&self, slots: &[u32]) {
        if self.is_ordered_by_use
            && let Order::Recency(recency) = &mut *self.order.lock()
        {
            slots.iter().for_each(|slot| recency.remove(*slot));
        }
    }

    /// Evicts a batch. Returns one of the slots; the others are free.
    fn recycle(&self, is_clean_only: bool) -> Result<Option<u32>> {
        let (mut slots, failed) = self.evict_batch(is_clean_only);
        let Some(slot) = slots.pop() else {
            return match failed {
                None => Ok(None),
                Some(error) if is_clean_only => Err(error),
                // Dirty pages cannot be written now: perhaps there are clean ones.
                Some(error) => self.recycle(true)?.map_or(Err(error), |slot| Ok(Some(slot))),
            };
        };
        self.tally.add(Event::Recycling, 1);
        self.tally.add(Event::PagesRecycled, slots.len() as u64 + 1);
        self.free.put(&slots);
        Ok(Some(slot))
    }

    /// What the background thread does: evicts a batch, dirty or not, for whoever needs it.
    fn reclaim(&self) {
        let (slots, _) = self.evict_batch(false);
        self.free.put_shared(&slots);
    }

    fn evict_batch(&self, is_clean_only: bool) -> (Vec<u32>, Option<Error>) {
        let (mut slots, mut failed) = (Vec::with_capacity(self.batch), None);
        let victims = self.choose(is_clean_only);
        if !victims.is_empty() {
            self.now.fetch_add(1, Ordering::Relaxed);
        }
        for EvictionBatch { region, mut pages } in victims {
            failed = region.evict(&mut pages, &mut slots).or(failed);
        }
        (slots, failed)
    }

    /// Takes a batch of pages for eviction.
    fn choose(&self, is_clean_only: bool) -> Vec<EvictionBatch> {
        let regions = self.regions.read();
        let mut victims: Vec<EvictionBatch> = Vec::new();
        let mut take = |region: &Arc<Core>, page: u64| {
            let is_taken = region.cell(page).change(|word| word.begin_evict(is_clean_only)).is_ok();
            if is_taken {
                match victims.iter_mut().find(|some| Arc::ptr_eq(&some.region, region)) {
                    Some(some) => some.pages.push(page),
                    None => victims.push(EvictionBatch { region: Arc::clone(region), pages: vec![page] }),
                }
            }
            is_taken
        };
        match &mut *self.order.lock() {
            Order::Clock(hand) => {
                let rounds = if is_clean_only { CLEAN_ROUNDS } else { ALL_ROUNDS };
                hand.sweep(&regions, rounds * u64::from(self.count), self.batch, &mut take);
            }
            Order::Recency(recency) => {
                let chosen = recency.victims(self.batch, |slot| self.candidate_at(&regions, slot, is_clean_only));
                for slot in chosen {
                    if let Some((region, page)) = self.owner(&regions, slot) {
                        take(&region, page);
                    }
                }
            }
        }
        victims
    }

    /// The region and page in a slot.
    fn owner(&self, regions: &[Weak<Core>], slot: u32) -> Option<(Arc<Core>, u64)> {
        let owner = self.owners[slot as usize].load(Ordering::Acquire);
        let region = regions.get((owner >> PAGE_BITS) as usize)?.upgrade()?;
        let page = owner & ((1 << PAGE_BITS) - 1);
        (page < region.pages() && holds(region.cell(page).load(), slot)).then_some((region, page))
    }

    fn candidate_at(&self, regions: &[Weak<Core>], slot: u32, is_clean_only: bool) -> Candidate {
        let Some((region, page)) = self.owner(regions, slot) else { return Candidate::Held };
        let word = region.cell(page).load();
        match word.begin_evict(is_clean_only) {
            Err(_) => Candidate::Held,
            Ok(_) if word.is_dirty() => Candidate::Dirty,
            Ok(_) => Candidate::Clean,
        }
    }

    /// How many pages are pinned.
    fn pinned(&self) -> u32 {
        let regions = self.regions.read();
        let regions = regions.iter().filter_map(Weak::upgrade);
        regions.map(|region| region.pinned()).sum()
    }
}

/// Whether the page of `word` is in `slot`.
fn holds(word: PageWord, slot: u32) -> bool {
    word.state() == State::Resident && word.slot() == slot
}
