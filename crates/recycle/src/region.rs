//! The first interface: pages that are pinned one by one.

use std::fs::File;
use std::ops::{Bound, Range, RangeBounds};
use std::sync::Arc;

use crate::core::{Core, Parts};
use crate::page::PageWord;
use crate::storage::{FileStorage, Storage};
use crate::system::has_supported_pages;
use crate::{Advice, Budget, Counters, Error, Options, PAGE_BYTES, PagePin, PagePinMut, Result};

const PAGE: u64 = PAGE_BYTES as u64;

/// The least room to grow without setting the region up anew.
const LEAST_CAPACITY: u64 = (1 << 30) / PAGE;

/// A file of which a budget's worth of pages is in memory. Threads share it by reference.
pub struct Region {
    core: Arc<Core>,
}

impl Region {
    /// A region of `file` whose pages are pinned. It needs nothing of the system but memory.
    ///
    /// # Errors
    /// The options are invalid, the file cannot be read, or another region of this process excludes this one.
    pub fn open(file: &File, options: &Options) -> Result<Self> {
        let storage = FileStorage::new(file)?;
        let is_writable = storage.is_writable();
        Self::on(Arc::new(storage), is_writable, options)
    }

    /// A region of any storage.
    ///
    /// # Errors
    /// The options are invalid, or the storage cannot say its length.
    pub fn on(storage: Arc<dyn Storage>, is_writable: bool, options: &Options) -> Result<Self> {
        check_page_size()?;
        let slots = budget_of(options)?.0;
        let core = Core::new(&slots, || parts(&slots, storage, is_writable, options))?;
        Ok(Self { core })
    }

    /// The length in bytes.
    pub fn len(&self) -> u64 {
        self.core.len()
    }

    /// Whether the length is 0.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many pages it has; the last one may be incomplete.
    pub fn pages(&self) -> u64 {
        self.core.pages()
    }

    /// Holds a page in memory, to read it. Waits while somebody else holds it for writing. A page beyond the file's end
    /// within the last page reads as zero.
    ///
    /// # Errors
    /// There is no such page, it cannot be read, or every page of the budget is pinned.
    pub fn pin(&self, page: u64) -> Result<PagePin<'_>> {
        check_page(&self.core, page)?;
        PagePin::new(&self.core, page)
    }

    /// Holds a page in memory for the caller alone. Waits while somebody else holds it, so a thread that holds a page
    /// must not ask for it again. What is written beyond the file's end is lost.
    ///
    /// # Errors
    /// As [`Region::pin`]; or the file was opened for reading only.
    pub fn pin_mut(&self, page: u64) -> Result<PagePinMut<'_>> {
        check_page(&self.core, page)?;
        check_writable(&self.core)?;
        PagePinMut::new(&self.core, page)
    }

    /// Reads bytes of the region. Reads of several pages are not atomic.
    ///
    /// # Errors
    /// The bytes are not within the region, or a page cannot be had.
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        read_at(&self.core, offset, buffer)
    }

    /// As [`Region::read_at`], if all pages are in memory and nobody writes them now. Returns whether it read; if not, the
    /// content of the buffer is undefined.
    ///
    /// # Errors
    /// The bytes are not within the region.
    pub fn read_resident(&self, offset: u64, buffer: &mut [u8]) -> Result<bool> {
        check_range(&self.core, offset, buffer.len())?;
        let len = buffer.len();
        let mut rest = buffer;
        for (page, within) in pieces(offset, len) {
            let (piece, after) = rest.split_at_mut(within.len());
            let Some(pin) = PagePin::of_resident(&self.core, page) else { return Ok(false) };
            pin.copy_to(within.start, piece);
            rest = after;
        }
        Ok(true)
    }

    /// Writes bytes of the region. Writes of several pages are not atomic: after an error, the first ones are written.
    ///
    /// # Errors
    /// The bytes are not within the region, a page cannot be had, or the file was opened for reading only.
    pub fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        check_range(&self.core, offset, bytes.len())?;
        check_writable(&self.core)?;
        let mut rest = bytes;
        for (page, within) in pieces(offset, bytes.len()) {
            let (piece, after) = rest.split_at(within.len());
            PagePinMut::new(&self.core, page)?[within].copy_from_slice(piece);
            rest = after;
        }
        Ok(())
    }

    /// Makes all changes durable that were made before the call. Waits for pages that are held for writing, so the caller
    /// must hold none.
    ///
    /// # Errors
    /// A page cannot be written, or the device cannot make them durable. Pages that were not written stay changed and are
    /// tried again by the next call.
    pub fn sync(&self) -> Result<()> {
        self.core.sync(0..self.pages())
    }

    /// As [`Region::sync`], for the pages of a range of bytes.
    ///
    /// # Errors
    /// As [`Region::sync`].
    pub fn sync_range(&self, range: impl RangeBounds<u64>) -> Result<()> {
        self.core.sync(pages_of(&self.core, range))
    }

    /// Says how the pages of a range of bytes will be used.
    ///
    /// # Errors
    /// With [`Advice::WillNeed`] a page cannot be read, with [`Advice::DontNeed`] it cannot be written.
    pub fn advise(&self, range: impl RangeBounds<u64>, advice: Advice) -> Result<()> {
        self.core.advise(pages_of(&self.core, range), advice)
    }

    /// Changes the file's length, and the region's with it. New bytes are zero.
    ///
    /// # Errors
    /// The file cannot have this length; the region is as before.
    pub fn resize(&mut self, len: u64) -> Result<()> {
        check_writable(&self.core)?;
        self.reserve(len)?;
        self.core.resize(len)
    }

    /// Takes in what others have appended to the file: the region ends where the file does. Pages in memory stay, but for
    /// the one in which the region ended. A file that is no longer than before changes nothing.
    ///
    /// # Errors
    /// The file cannot be examined, or the page in which the region ended cannot be written; the region is as before.
    pub fn follow(&mut self) -> Result<()> {
        let len = self.core.storage().len().map_err(Error::io("examination", 0, 0))?;
        if len <= self.len() {
            return Ok(());
        }
        self.reserve(len)?;
        self.core.follow(len)
    }

    /// Makes room for a length. Where the addresses are used up, the region is set up anew, with more of them.
    fn reserve(&mut self, len: u64) -> Result<()> {
        if len.div_ceil(PAGE) > self.core.capacity() {
            self.core.sync(0..self.pages())?;
            let grown = regrown(&self.core, len)?;
            self.core.close();
            self.core = grown;
        }
        Ok(())
    }

    /// Ends a pin whose guard is gone, for C.
    pub(crate) fn unpin(&self, page: u64) {
        self.core.cell(page).finish(PageWord::unpin);
    }

    /// What the budget's regions have done.
    pub fn counters(&self) -> Counters {
        self.core.slots().tally.sums()
    }
}

impl Drop for Region {
    /// Writes what is changed to the file, without making it durable. Errors go to [`Options::on_error`].
    fn drop(&mut self) {
        self.core.close();
    }
}

impl std::fmt::Debug for Region {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Region").field("len", &self.len()).finish_non_exhaustive()
    }
}

/// The budget that the options name, or one of its own.
pub(crate) fn budget_of(options: &Options) -> Result<Budget> {
    options.budget.clone().map_or_else(|| Budget::new(options), Ok)
}

/// The parts of a region that is not mapped.
pub(crate) fn parts(
    slots: &Arc<crate::core::budget::Slots>,
    storage: Arc<dyn Storage>,
    is_writable: bool,
    options: &Options,
) -> Result<Parts> {
    let len = storage.len().map_err(Error::io("examination", 0, 0))?;
    Ok(Parts {
        slots: Arc::clone(slots),
        storage,
        mapped: None,
        len,
        capacity: capacity(len),
        read_ahead: options.read_ahead,
        is_writable,
        on_error: options.on_error.clone(),
    })
}

/// Pages for a length and its growth: reserved addresses cost nothing.
pub(crate) fn capacity(len: u64) -> u64 {
    (len.div_ceil(PAGE) * 2).max(LEAST_CAPACITY)
}

/// The same region with room for `len` bytes; no page of it is in memory.
fn regrown(core: &Core, len: u64) -> Result<Arc<Core>> {
    Core::new(core.slots(), || {
        Ok(Parts {
            slots: Arc::clone(core.slots()),
            storage: Arc::clone(core.storage()),
            mapped: None,
            len: core.len(),
            capacity: capacity(len),
            read_ahead: core.max_read_ahead(),
            is_writable: core.is_writable(),
            on_error: core.on_error(),
        })
    })
}

/// Reads bytes through pins.
pub(crate) fn read_at(core: &Core, offset: u64, buffer: &mut [u8]) -> Result<()> {
    check_range(core, offset, buffer.len())?;
    let mut rest = buffer;
    let len = rest.len();
    for (page, within) in pieces(offset, len) {
        let (piece, after) = rest.split_at_mut(within.len());
        PagePin::new(core, page)?.copy_to(within.start, piece);
        rest = after;
    }
    Ok(())
}

/// The pages of these bytes, and which bytes of each.
fn pieces(offset: u64, bytes: usize) -> impl Iterator<Item = (u64, Range<usize>)> {
    let end = offset + bytes as u64;
    (offset / PAGE..end.div_ceil(PAGE)).filter(move |_| bytes > 0).map(move |page| {
        let start = page * PAGE;
        (page, (offset.max(start) - start) as usize..(end.min(start + PAGE) - start) as usize)
    })
}

/// The pages that a range of bytes touches, within the region.
pub(crate) fn pages_of(core: &Core, range: impl RangeBounds<u64>) -> Range<u64> {
    let start = match range.start_bound() {
        Bound::Included(start) => *start,
        Bound::Excluded(start) => start.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(end) => end.saturating_add(1),
        Bound::Excluded(end) => *end,
        Bound::Unbounded => u64::MAX,
    };
    let end = end.min(core.len());
    if start >= end { 0..0 } else { start / PAGE..end.div_ceil(PAGE) }
}

pub(crate) fn check_page(core: &Core, page: u64) -> Result<()> {
    if page < core.pages() {
        return Ok(());
    }
    Err(Error::OutOfRange { offset: page.saturating_mul(PAGE), bytes: PAGE, len: core.len() })
}

pub(crate) fn check_range(core: &Core, offset: u64, bytes: usize) -> Result<()> {
    let len = core.len();
    let is_within = offset.checked_add(bytes as u64).is_some_and(|end| end <= len);
    if is_within { Ok(()) } else { Err(Error::OutOfRange { offset, bytes: bytes as u64, len }) }
}

pub(crate) fn check_writable(core: &Core) -> Result<()> {
    if core.is_writable() { Ok(()) } else { Err(Error::ReadOnly) }
}

pub(crate) fn check_page_size() -> Result<()> {
    if has_supported_pages() {
        return Ok(());
    }
    Err(Error::Unsupported {
        what: "the kernel's pages are not of 4096 bytes",
        remedy: "boot a kernel with pages of 4 KiB",
        source: std::io::ErrorKind::Unsupported.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_cut_at_pages() {
        assert_eq!(pieces(10, 0).count(), 0);
        assert_eq!(pieces(4_090, 10).collect::<Vec<_>>(), [(0, 4_090..4_096), (1, 0..4)]);
        assert_eq!(pieces(4_096, 4_096).collect::<Vec<_>>(), [(1, 0..4_096)]);
    }
}
