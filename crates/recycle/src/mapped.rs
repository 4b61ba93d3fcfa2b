//! The memory of a mapped region: every page at its place, absent ones known to the kernel as such.

use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;

use crate::page_runs::{consecutive, near};
use crate::system::Memory;
use crate::userfaultfd::{Fault, Userfaultfd};
use crate::{Error, Faults, PAGE_BYTES, Result};

/// Pages between two that are protected together. Protecting what lies between costs less than flushing the translation
/// caches of all processors once more, and at worst a fault of who writes there next.
const MAX_GAP: u64 = 512;

/// See the [module](self).
pub(crate) struct MappedMemory {
    memory: Memory,
    userfaultfd: Userfaultfd,
}

impl MappedMemory {
    /// Address space for `pages`, all absent.
    ///
    /// # Errors
    /// The system lacks or forbids userfaultfd.
    pub(crate) fn new(pages: u64, faults: Faults) -> Result<Self> {
        let bytes = usize::try_from(pages.saturating_mul(PAGE_BYTES as u64)).unwrap_or(usize::MAX);
        let memory = Memory::new(bytes).map_err(Error::io("reservation of address space", 0, bytes as u64))?;
        // One page at a time is what we count, protect and release.
        let _ = memory.advise(libc::MADV_NOHUGEPAGE);
        let userfaultfd = Userfaultfd::open(faults).map_err(|source| unsupported(faults, source))?;
        userfaultfd.register(&memory).map_err(|source| unsupported(faults, source))?;
        Ok(Self { memory, userfaultfd })
    }

    pub(crate) fn address(&self, page: u64) -> *mut u8 {
        self.memory.start().wrapping_add(page as usize * PAGE_BYTES)
    }

    /// Its addresses.
    pub(crate) fn addresses(&self) -> Range<usize> {
        let start = self.memory.start() as usize;
        start..start + self.memory.bytes()
    }

    /// The page at an address of [`Self::addresses`].
    pub(crate) fn page_at(&self, address: usize) -> u64 {
        ((address - self.memory.start() as usize) / PAGE_BYTES) as u64
    }

    /// Places absent pages. The first of them, which was asked for, comes last: only it may be unprotected, and from then
    /// on nothing may fail.
    pub(crate) fn place(&self, page: u64, content: &[u8], is_protected: bool) -> io::Result<()> {
        let (first, others) = content.split_at(PAGE_BYTES);
        if is_protected || others.is_empty() {
            return self.place_or_release(page, content, is_protected);
        }
        self.place_or_release(page + 1, others, true)?;
        // SAFETY: the page lies in our memory, which is registered.
        let placed = unsafe { self.userfaultfd.copy(self.address(page), first, false) };
        if placed.is_err() {
            self.release_range(page + 1..page + (content.len() / PAGE_BYTES) as u64)?;
        }
        placed
    }

    fn place_or_release(&self, page: u64, content: &[u8], is_protected: bool) -> io::Result<()> {
        // SAFETY: the pages lie in our memory, which is registered.
        let placed = unsafe { self.userfaultfd.copy(self.address(page), content, is_protected) };
        if placed.is_err() {
            self.release_range(page..page + (content.len() / PAGE_BYTES) as u64)?;
        }
        placed
    }

    /// Protects pages from writing, or lets them be written.
    pub(crate) fn protect(&self, pages: Range<u64>, is_protected: bool) -> io::Result<()> {
        let bytes = (pages.end - pages.start) as usize * PAGE_BYTES;
        self.userfaultfd.protect(self.address(pages.start), bytes, is_protected)
    }

    /// Protects these pages, in ascending order, and perhaps others between them.
    pub(crate) fn protect_all(&self, pages: &[u64]) -> io::Result<()> {
        near(pages, MAX_GAP).into_iter().try_for_each(|range| self.protect(range, true))
    }

    /// Makes these pages, in ascending order, absent.
    pub(crate) fn release(&self, pages: &[u64]) -> io::Result<()> {
        let bytes = |span: Range<usize>| {
            let first = pages[span.start] as usize * PAGE_BYTES;
            first..first + span.len() * PAGE_BYTES
        };
        let ranges: Vec<Range<usize>> = consecutive(pages, u64::MAX).into_iter().map(bytes).collect();
        self.memory.release(&ranges)
    }

    fn release_range(&self, pages: Range<u64>) -> io::Result<()> {
        let bytes = |page: u64| page as usize * PAGE_BYTES;
        self.memory.release(std::slice::from_ref(&(bytes(pages.start)..bytes(pages.end))))
    }

    /// The next fault, or none once `stop` is readable.
    pub(crate) fn next_fault(&self, stop: &OwnedFd) -> io::Result<Option<Fault>> {
        self.userfaultfd.next(stop)
    }

    /// Lets whoever waits for the page try again.
    pub(crate) fn wake(&self, page: u64) -> io::Result<()> {
        self.userfaultfd.wake(self.address(page), PAGE_BYTES)
    }
}

fn unsupported(faults: Faults, source: io::Error) -> Error {
    let remedy = match faults {
        Faults::Signal => {
            "Linux 5.11 or later has it; a container's seccomp profile must allow the system call userfaultfd; \
             `Region::open` and `pin` work without it"
        }
        Faults::Thread => {
            "give the process CAP_SYS_PTRACE or access to /dev/userfaultfd, or set vm.unprivileged_userfaultfd = 1; \
             `Faults::Signal` needs none of these, and `Region::open` and `pin` need no userfaultfd"
        }
    };
    Error::Unsupported { what: "mapping a region needs userfaultfd", remedy, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_a_remedy() {
        for (faults, word) in [(Faults::Signal, "seccomp"), (Faults::Thread, "unprivileged_userfaultfd")] {
            let error = unsupported(faults, io::ErrorKind::PermissionDenied.into()).to_string();
            assert!(error.contains(word) && error.contains("pin"), "{error}");
        }
    }
}
