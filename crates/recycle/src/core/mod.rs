//! A region behind both interfaces: its pages' states, and what moves pages between file and memory.

pub(crate) mod budget;
pub(crate) mod write_out;

use std::io::IoSliceMut;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

pub use self::budget::Budget;
pub(crate) use self::budget::EvictionRules;
use self::budget::Slots;
use self::write_out::{Outcome, write_out};
use crate::counters::Event;
use crate::mapped::MappedMemory;
use crate::page::{PageCell, PageWord, Refusal, State};
use crate::read_ahead::ReadAhead;
use crate::recovery::OnError;
use crate::residents::Residents;
use crate::storage::Storage;
use crate::system::{Memory, Owner};
use crate::{Advice, Error, PAGE_BYTES, Recovery, Result};

/// Most pages that one read brings.
pub(crate) const MAX_WINDOW: usize = 256;

/// Dirty pages that a flush writes at once.
const FLUSH_BATCH: usize = 256;

/// The weight of a page that was asked for, and of one that was asked for again soon after it was evicted.
const DEMANDED: u8 = 1;
const DEMANDED_AGAIN: u8 = 2;

const PAGE: u64 = PAGE_BYTES as u64;

/// What a region is made of.
pub(crate) struct Parts {
    pub(crate) slots: Arc<Slots>,
    pub(crate) storage: Arc<dyn Storage>,
    /// Where pages are kept; `None`: in the frames of their slots.
    pub(crate) mapped: Option<MappedMemory>,
    pub(crate) len: u64,
    /// Pages up to which the region can grow.
    pub(crate) capacity: u64,
    pub(crate) read_ahead: u64,
    pub(crate) is_writable: bool,
    pub(crate) on_error: Option<OnError>,
}

/// See the [module](self).
pub(crate) struct Core {
    id: u16,
    parts: Parts,
    /// The words of all pages.
    table: Memory,
    residents: Residents,
    len: AtomicU64,
    read_ahead: ReadAhead,
    /// Buffers that no read uses now; mapped regions read into them.
    buffers: Mutex<Vec<Memory>>,
    owner: Owner,
}

impl Core {
    /// A region of which no page is in memory.
    pub(crate) fn new(slots: &Arc<Slots>, parts: impl FnOnce() -> Result<Parts>) -> Result<Arc<Self>> {
        let parts = parts()?;
        let failed = |bytes| Error::io("reservation of memory", 0, bytes);
        let bytes = parts.capacity * 8;
        let table = usize::try_from(bytes).map_err(|_| std::io::ErrorKind::OutOfMemory.into());
        let table = table.and_then(Memory::new).map_err(failed(bytes))?;
        let residents = Residents::new(parts.capacity).map_err(failed(bytes / 8))?;
        let window = (parts.read_ahead / PAGE).min(MAX_WINDOW as u64).min(slots.largest_window());
        let (len, read_ahead) = (AtomicU64::new(parts.len), ReadAhead::new(window));
        let (buffers, owner) = (Mutex::default(), Owner::this_process());
        slots.register(|id| Self { id, parts, table, residents, len, read_ahead, buffers, owner })
    }

    pub(crate) fn len(&self) -> u64 {
        self.len.load(Ordering::Acquire)
    }

    pub(crate) fn pages(&self) -> u64 {
        self.len().div_ceil(PAGE)
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.parts.capacity
    }

    pub(crate) fn slots(&self) -> &Arc<Slots> {
        &self.parts.slots
    }

    pub(crate) fn storage(&self) -> &Arc<dyn Storage> {
        &self.parts.storage
    }

    pub(crate) fn mapped(&self) -> Option<&MappedMemory> {
        self.parts.mapped.as_ref()
    }

    /// Whether the calling process made it, and not its parent.
    pub(crate) fn is_of_this_process(&self) -> bool {
        self.owner.is_this_process()
    }

    pub(crate) fn is_writable(&self) -> bool {
        self.parts.is_writable
    }

    pub(crate) fn on_error(&self) -> Option<OnError> {
        self.parts.on_error.clone()
    }

    pub(crate) fn max_read_ahead(&self) -> u64 {
        self.parts.read_ahead
    }

    /// The word of a page below [`Self::capacity`].
    pub(crate) fn cell(&self, page: u64) -> &PageCell {
        assert!(page < self.parts.capacity, "page {page} of {}", self.parts.capacity);
        // SAFETY: the memory is zeroed, aligned to pages, holds a word for each page up to the capacity, and is only ever
        // used as such.
        unsafe { &*self.table.start().cast::<PageCell>().add(page as usize) }
    }

    pub(crate) fn next_resident(&self, page: u64) -> Option<u64> {
        self.residents.next(page)
    }

    /// How many pages are pinned.
    pub(crate) fn pinned(&self) -> u32 {
        let is_pinned = |page: &u64| self.cell(*page).load().is_pinned();
        self.residents.within(0..self.pages()).filter(is_pinned).count() as u32
    }

    /// Where the bytes of a page in memory are.
    pub(crate) fn address(&self, page: u64, word: PageWord) -> *mut u8 {
        match &self.parts.mapped {
            Some(mapped) => mapped.address(page),
            None => self.parts.slots.frame(word.slot()),
        }
    }

    /// Bytes of a page that are in the file: fewer than a page at its end.
    pub(crate) fn page_bytes(&self, page: u64) -> usize {
        self.len().saturating_sub(page * PAGE).min(PAGE) as usize
    }

    /// Holds a page in memory: the step is [`PageWord::pin`] or [`PageWord::pin_exclusively`]. Returns where it is.
    pub(crate) fn pin(&self, page: u64, step: fn(PageWord) -> Step) -> Result<*mut u8> {
        let cell = self.cell(page);
        loop {
            match cell.change(step) {
                Ok(word) => {
                    self.parts.slots.used(word.slot());
                    return Ok(self.address(page, word));
                }
                Err((Refusal::Absent, _)) => self.provide(page, false, self.window(page))?,
                Err((Refusal::Pins, _)) => return Err(Error::AllPinned { pages: self.parts.slots.count() }),
                Err((_, seen)) => cell.wait(seen),
            }
        }
    }

    /// Holds a page for reading, if it is in memory and nobody writes it.
    pub(crate) fn pin_resident(&self, page: u64) -> Option<*mut u8> {
        let word = self.cell(page).change(PageWord::pin).ok()?;
        self.parts.slots.used(word.slot());
        Some(self.address(page, word))
    }

    /// Answers an access to mapped memory that found its page absent or protected. Returns when trying again is worth it.
    pub(crate) fn fault(&self, page: u64, is_write: bool) -> Result<()> {
        if is_write && !self.parts.is_writable {
            return Err(Error::ReadOnly);
        }
        loop {
            let word = self.cell(page).load();
            match word.state() {
                State::Absent => return self.provide(page, is_write, self.window(page)),
                State::Loading | State::Evicting => self.cell(page).wait(word),
                State::Resident if !is_write || self.unprotect(page)? => return Ok(()),
                State::Resident => {}
            }
        }
    }

    /// Lets a page be written. Returns whether it did; if not, somebody else holds the page.
    fn unprotect(&self, page: u64) -> Result<bool> {
        let cell = self.cell(page);
        match cell.change(PageWord::begin_unprotect) {
            Ok(word) => {
                self.parts.slots.tally.add(Event::WriteFault, 1);
                let lifted = self.parts.mapped.as_ref().map_or(Ok(()), |mapped| mapped.protect(page..page + 1, false));
                cell.finish(if lifted.is_ok() { PageWord::finish_unprotect } else { PageWord::fail_unprotect });
                self.parts.slots.used(word.slot());
                lifted.map(|()| true).map_err(Error::io("lifting of a write protection", page * PAGE, PAGE))
            }
            Err((Refusal::Wait, seen)) => {
                cell.wait(seen);
                Ok(false)
            }
            Err(_) => Ok(false),
        }
    }

    fn window(&self, page: u64) -> u64 {
        self.read_ahead.window(page)
    }

    /// Reads an absent page, and as many after it as `window` says and memory allows. Nothing is to be done where another
    /// thread was first.
    pub(crate) fn provide(&self, page: u64, is_write: bool, window: u64) -> Result<()> {
        let cell = self.cell(page);
        let Ok(claimed) = cell.change(PageWord::begin_load) else { return Ok(()) };
        self.parts.slots.tally.add(Event::Fault, 1);
        let weight = if self.parts.slots.is_recently_evicted(claimed.evicted()) { DEMANDED_AGAIN } else { DEMANDED };
        let mut slots = [0; MAX_WINDOW];
        let loaded = self.parts.slots.take().and_then(|slot| {
            slots[0] = slot;
            let count = self.claim_following(page, window, &mut slots);
            self.load(page, &slots[..count], is_write, weight).or_else(|error| {
                if count == 1 {
                    return Err(error);
                }
                // Perhaps only a page that nobody asked for cannot be read.
                self.load(page, &slots[..1], is_write, weight)
            })
        });
        if loaded.is_err() {
            self.parts.slots.tally.add(Event::Failure, 1);
            cell.finish(PageWord::fail_load);
        }
        loaded
    }

    /// Claims pages after `page`, and slots for them. Returns how many pages are claimed with `page`.
    fn claim_following(&self, page: u64, window: u64, slots: &mut [u32; MAX_WINDOW]) -> usize {
        let last = (page + window.min(MAX_WINDOW as u64)).min(self.pages());
        let mut count = 1;
        for next in page + 1..last {
            if self.cell(next).change(PageWord::begin_load).is_err() {
                break;
            }
            let Some(slot) = self.parts.slots.try_take() else {
                self.cell(next).finish(PageWord::fail_load);
                break;
            };
            slots[count] = slot;
            count += 1;
        }
        count
    }

    /// Reads claimed pages into their slots. If that fails, the slots are free, and all claims but the first ended, unless
    /// there is only one page: its claim stays, and with several pages its slot, too.
    fn load(&self, page: u64, slots: &[u32], is_write: bool, weight: u8) -> Result<()> {
        let read = match &self.parts.mapped {
            None => self.read_into_frames(page, slots),
            Some(mapped) => self.read_into_mapping(mapped, page, slots, is_write),
        };
        match read {
            Ok(()) => {
                self.parts.slots.tally.add(Event::PagesRead, slots.len() as u64);
                self.publish(page, slots, is_write, weight);
                Ok(())
            }
            Err(error) if slots.len() == 1 => {
                self.parts.slots.put(slots);
                Err(error)
            }
            Err(error) => {
                for next in page + 1..page + slots.len() as u64 {
                    self.cell(next).finish(PageWord::fail_load);
                }
                self.parts.slots.put(&slots[1..]);
                Err(error)
            }
        }
    }

    /// Makes loaded pages known, the one that was asked for first.
    fn publish(&self, page: u64, slots: &[u32], is_dirty: bool, weight: u8) {
        for (index, (page, slot)) in (page..).zip(slots).enumerate() {
            let (is_dirty, weight) = if index == 0 { (is_dirty, weight) } else { (false, 0) };
            self.residents.insert(page);
            self.parts.slots.filled(*slot, self.id, page);
            self.parts.slots.used(*slot);
            self.cell(page).finish(|word| word.finish_load(*slot, is_dirty, weight));
        }
    }

    fn read_into_frames(&self, page: u64, slots: &[u32]) -> Result<()> {
        self.parts.slots.place(slots, true);
        // SAFETY: each slot is ours alone until its page is published, and its frame is a page long.
        let frame = |slot: &u32| unsafe { std::slice::from_raw_parts_mut(self.parts.slots.frame(*slot), PAGE_BYTES) };
        let mut frames: Vec<IoSliceMut<'_>> = slots.iter().map(|slot| IoSliceMut::new(frame(slot))).collect();
        let read = self.read(page, &mut frames)?;
        // Only the last page can be incomplete, at the end of the file.
        if let Some(last) = slots.last() {
            frame(last)[read - (slots.len() - 1) * PAGE_BYTES..].fill(0);
        }
        Ok(())
    }

    fn read_into_mapping(&self, mapped: &MappedMemory, page: u64, slots: &[u32], is_write: bool) -> Result<()> {
        self.parts.slots.place(slots, false);
        let buffer = self.take_buffer()?;
        let bytes = slots.len() * PAGE_BYTES;
        // SAFETY: the buffer is ours alone, and as long as the longest window.
        let content = unsafe { std::slice::from_raw_parts_mut(buffer.start(), bytes) };
        let placed = self.read(page, &mut [IoSliceMut::new(content)]).and_then(|read| {
            content[read..].fill(0);
            let failed = Error::io("placement of pages", page * PAGE, bytes as u64);
            mapped.place(page, content, !is_write).map_err(failed)
        });
        self.buffers.lock().push(buffer);
        placed
    }

    fn take_buffer(&self) -> Result<Memory> {
        let bytes = self.read_ahead.max() as usize * PAGE_BYTES;
        let idle = self.buffers.lock().pop();
        idle.map_or_else(|| Memory::new(bytes).map_err(Error::io("reservation of memory", 0, bytes as u64)), Ok)
    }

    /// Reads whole pages; fewer bytes only at the region's end.
    fn read(&self, page: u64, buffers: &mut [IoSliceMut<'_>]) -> Result<usize> {
        let offset = page * PAGE;
        let room: usize = buffers.iter().map(|buffer| buffer.len()).sum();
        let wanted = self.len().saturating_sub(offset).min(room as u64) as usize;
        let read = self.parts.storage.read(offset, buffers).map_err(Error::io("read", offset, room as u64))?;
        if read < wanted {
            return Err(Error::Truncated { offset: offset + read as u64, len: offset + read as u64 });
        }
        Ok(wanted)
    }

    /// Takes pages out of memory that were taken for eviction, in any order, and adds their slots to `freed`. Pages that
    /// cannot be written stay.
    pub(crate) fn evict(&self, pages: &mut [u64], freed: &mut Vec<u32>) -> Option<Error> {
        pages.sort_unstable();
        let dirty: Vec<u64> = pages.iter().copied().filter(|page| self.cell(*page).load().is_dirty()).collect();
        let Outcome { failed_pages, mut error } = write_out(self, &dirty);
        if let Some(error) = &error {
            self.report(error);
        }
        for page in &failed_pages {
            self.cell(*page).finish(PageWord::fail_evict);
        }
        let mut leaving: Vec<u64> =
            pages.iter().copied().filter(|page| failed_pages.binary_search(page).is_err()).collect();
        if let Some(mapped) = &self.parts.mapped
            && let Err(source) = mapped.release(&leaving)
        {
            leaving.drain(..).for_each(|page| self.cell(page).finish(PageWord::fail_evict));
            error = Some(Error::io("release of pages", 0, 0)(source));
        }
        let from = freed.len();
        let now = self.parts.slots.now();
        freed.extend(leaving.iter().map(|page| self.cell(*page).load().slot()));
        self.parts.slots.emptied(&freed[from..]);
        for page in leaving {
            self.residents.remove(page);
            self.cell(page).finish(|word| word.finish_evict(now));
        }
        error
    }

    /// Tells the user of an error that no call returns to whom it concerns.
    pub(crate) fn report(&self, error: &Error) -> Recovery {
        self.parts.on_error.as_ref().map_or(Recovery::Fail, |on_error| on_error(error))
    }

    /// Writes the dirty pages of `pages` to the file.
    pub(crate) fn flush(&self, pages: Range<u64>) -> Result<()> {
        let mut batch = Vec::with_capacity(FLUSH_BATCH);
        let mut failed = None;
        for page in self.residents.within(pages) {
            let mut begun = self.cell(page).change(PageWord::begin_write);
            while let Err((Refusal::Wait, seen)) = begun {
                // Who holds this page may wait for one of ours: let go of those before waiting.
                failed = failed.or(self.write_batch(&mut batch));
                self.cell(page).wait(seen);
                begun = self.cell(page).change(PageWord::begin_write);
            }
            if begun.is_ok() {
                batch.push(page);
            }
            if batch.len() == FLUSH_BATCH {
                failed = failed.or(self.write_batch(&mut batch));
            }
        }
        failed.or(self.write_batch(&mut batch)).map_or(Ok(()), Err)
    }

    fn write_batch(&self, batch: &mut Vec<u64>) -> Option<Error> {
        let Outcome { failed_pages, error } = write_out(self, batch);
        for page in batch.drain(..) {
            let is_written = failed_pages.binary_search(&page).is_err();
            self.cell(page).finish(|word| word.finish_write(is_written));
        }
        error
    }

    /// Makes all that was written up to now durable.
    pub(crate) fn sync(&self, pages: Range<u64>) -> Result<()> {
        self.flush(pages)?;
        self.parts.storage.sync().map_err(Error::io("sync", 0, self.len()))
    }

    /// Takes advice about `pages`.
    pub(crate) fn advise(&self, pages: Range<u64>, advice: Advice) -> Result<()> {
        match advice {
            Advice::Normal | Advice::Random | Advice::Sequential => {
                self.read_ahead.advise(pages, advice);
                Ok(())
            }
            Advice::WillNeed => self.prefetch(pages),
            Advice::DontNeed => {
                self.flush(pages.clone())?;
                self.evict_within(pages)
            }
        }
    }

    fn prefetch(&self, pages: Range<u64>) -> Result<()> {
        let end = pages.end.min(pages.start + u64::from(self.parts.slots.count() / 2));
        for page in pages.start..end {
            if self.cell(page).load().state() == State::Absent {
                self.provide(page, false, self.read_ahead.max().min(end - page))?;
            }
        }
        Ok(())
    }

    /// Evicts the pages of `pages` that nobody holds.
    fn evict_within(&self, pages: Range<u64>) -> Result<()> {
        let is_taken = |page: &u64| self.cell(*page).change(|word| word.begin_evict(false)).is_ok();
        let mut taken: Vec<u64> = self.residents.within(pages).filter(is_taken).collect();
        self.evict_taken(&mut taken)
    }

    fn evict_taken(&self, taken: &mut [u64]) -> Result<()> {
        let mut freed = Vec::with_capacity(taken.len());
        let failed = self.evict(taken, &mut freed);
        self.parts.slots.put_shared(&freed);
        failed.map_or(Ok(()), Err)
    }

    /// Gives up the pages of `pages` without writing them. Nobody may use them any more.
    pub(crate) fn discard(&self, pages: Range<u64>) -> Result<()> {
        let is_taken = |page: &u64| self.cell(*page).change_when_free(PageWord::begin_discard).is_ok();
        let mut taken: Vec<u64> = self.residents.within(pages).filter(is_taken).collect();
        self.evict_taken(&mut taken)
    }

    /// Changes the length, within the capacity. Nobody may use pages beyond the shorter of the two lengths.
    pub(crate) fn resize(&self, len: u64) -> Result<()> {
        let old = self.len();
        let kept = len.min(old);
        // The last page in common may end within the page: its rest must be zero whenever the file grows again.
        self.flush(kept / PAGE..kept.div_ceil(PAGE))?;
        self.parts.storage.set_len(len).map_err(Error::io("change of the length", 0, len))?;
        // Only now: had the file kept its length, changes that were not written would have been lost.
        let discarded = self.discard(kept / PAGE..old.div_ceil(PAGE));
        self.len.store(len, Ordering::Release);
        discarded
    }

    /// Takes the length that the file has grown to, within the capacity. Nobody may use the region meanwhile.
    pub(crate) fn follow(&self, len: u64) -> Result<()> {
        let cut = self.len() / PAGE..self.len().div_ceil(PAGE);
        self.flush(cut.clone())?;
        self.discard(cut)?;
        self.len.store(len, Ordering::Release);
        Ok(())
    }

    /// Writes what is dirty and gives all slots back. A forked child has neither.
    pub(crate) fn close(&self) {
        if !self.is_of_this_process() {
            return;
        }
        if let Err(error) = self.flush(0..self.pages()) {
            self.report(&error);
        }
        if let Err(error) = self.discard(0..self.pages()) {
            self.report(&error);
        }
    }
}

type Step = std::result::Result<PageWord, Refusal>;
