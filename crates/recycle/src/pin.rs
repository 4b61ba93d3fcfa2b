//! Pages held in memory: nobody evicts a page while a guard of it lives.

use std::ffi::c_void;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::core::Core;
use crate::page::PageWord;
use crate::{PAGE_BYTES, Result};

/// A page held in memory for reading. Others may read it, too; who wants to write it waits.
#[derive(Debug)]
pub struct PagePin<'a>(PinnedPage<'a>);

/// A page held in memory for its holder alone. It counts as changed.
#[derive(Debug)]
pub struct PagePinMut<'a>(PinnedPage<'a>);

struct PinnedPage<'a> {
    core: &'a Core,
    page: u64,
    start: *mut u8,
}

// SAFETY: the page stays where it is while it is held; the guards give out references by the rules of borrowing.
unsafe impl Send for PinnedPage<'_> {}
// SAFETY: as above.
unsafe impl Sync for PinnedPage<'_> {}

impl std::fmt::Debug for PinnedPage<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Page").field("page", &self.page).finish()
    }
}

impl Drop for PinnedPage<'_> {
    fn drop(&mut self) {
        self.core.cell(self.page).finish(PageWord::unpin);
    }
}

impl PinnedPage<'_> {
    /// The bytes, which stay in memory until somebody else ends the pin.
    fn into_raw(self) -> NonNull<c_void> {
        let start = std::mem::ManuallyDrop::new(self).start;
        // SAFETY: a page in memory has an address.
        unsafe { NonNull::new_unchecked(start.cast()) }
    }
}

impl<'a> PagePin<'a> {
    /// For C, whose callers end pins by number.
    pub(crate) fn into_raw(pin: Self) -> NonNull<c_void> {
        pin.0.into_raw()
    }

    /// Holds a page within the region.
    pub(crate) fn new(core: &'a Core, page: u64) -> Result<Self> {
        let start = core.pin(page, PageWord::pin)?;
        Ok(Self(PinnedPage { core, page, start }))
    }

    /// Holds a page within the region, if that needs no waiting.
    pub(crate) fn of_resident(core: &'a Core, page: u64) -> Option<Self> {
        let start = core.pin_resident(page)?;
        Some(Self(PinnedPage { core, page, start }))
    }

    /// The page's number.
    pub fn page(&self) -> u64 {
        self.0.page
    }

    /// The first byte. Of a mapped page others may change bytes through the mapping's pointer, so that it takes no
    /// reference.
    pub(crate) fn start(&self) -> *mut u8 {
        self.0.start
    }

    /// Copies bytes of the page from `within` on.
    pub(crate) fn copy_to(&self, within: usize, buffer: &mut [u8]) {
        assert!(within + buffer.len() <= PAGE_BYTES, "{} bytes at {within} of a page", buffer.len());
        // SAFETY: the bytes are within the page, which is in memory, and the buffer is none of the region's: that would
        // be borrowed.
        unsafe { std::ptr::copy_nonoverlapping(self.start().wrapping_add(within), buffer.as_mut_ptr(), buffer.len()) };
    }
}

impl<'a> PagePinMut<'a> {
    /// For C, whose callers end pins by number.
    pub(crate) fn into_raw(pin: Self) -> NonNull<c_void> {
        pin.0.into_raw()
    }

    /// Holds a page within the region.
    pub(crate) fn new(core: &'a Core, page: u64) -> Result<Self> {
        let start = core.pin(page, PageWord::pin_exclusively)?;
        Ok(Self(PinnedPage { core, page, start }))
    }

    /// The page's number.
    pub fn page(&self) -> u64 {
        self.0.page
    }
}

impl Deref for PagePin<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the page is in memory, and nobody writes it, while it is held.
        unsafe { std::slice::from_raw_parts(self.0.start, PAGE_BYTES) }
    }
}

impl Deref for PagePinMut<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the page is in memory, and nobody else uses it, while it is held.
        unsafe { std::slice::from_raw_parts(self.0.start, PAGE_BYTES) }
    }
}

impl DerefMut for PagePinMut<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: the page is in memory, and nobody else uses it, while it is held.
        unsafe { std::slice::from_raw_parts_mut(self.0.start, PAGE_BYTES) }
    }
}
