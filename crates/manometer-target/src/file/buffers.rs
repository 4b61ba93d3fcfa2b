//! The buffers of requests: one page-aligned slot for each request in flight.

use std::ffi::c_void;
use std::io;
use std::ptr::NonNull;

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// An alignment that direct I/O accepts on every file system, in bytes.
const PAGE_BYTES: usize = 4096;

/// Slots of equal size in one mapping. A slot belongs either to the caller or to the kernel.
#[derive(Debug)]
pub(super) struct Buffers {
    start: NonNull<u8>,
    slot_bytes: usize,
    stride_bytes: usize,
    lent: Vec<bool>,
}

impl Buffers {
    pub(super) fn new(slots: u32, slot_bytes: usize) -> io::Result<Self> {
        let stride_bytes = slot_bytes.next_multiple_of(PAGE_BYTES);
        let lent = vec![false; slots as usize];
        let flags = MapFlags::PRIVATE | MapFlags::POPULATE;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new anonymous mapping, placed by the kernel, overlaps nothing.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), lent.len() * stride_bytes, protection, flags)? };
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        Ok(Self { start, slot_bytes, stride_bytes, lent })
    }

    /// The bytes of a slot that is not lent.
    pub(super) fn slot_mut(&mut self, slot: u32) -> &mut [u8] {
        assert!(!self.lent[slot as usize], "slot {slot} is in flight");
        // SAFETY: the address and length lie within the mapping, which lives as long as self. The slot is not lent, so
        // nothing else accesses it, and the borrow of self keeps it from being lent.
        unsafe { std::slice::from_raw_parts_mut(self.address(slot), self.slot_bytes) }
    }

    /// Lends `length` bytes of a slot, after the first `skip`, to the kernel until [`Self::take_back`].
    pub(super) fn acquire(&mut self, slot: u32, skip: u32, length: u32) -> *mut u8 {
        assert!(skip as usize + length as usize <= self.slot_bytes, "the request is longer than its slot");
        let lent = std::mem::replace(&mut self.lent[slot as usize], true);
        assert!(!lent, "slot {slot} is already in flight");
        // SAFETY: the result lies within the slot, as asserted above.
        unsafe { self.address(slot).add(skip as usize) }
    }

    /// Takes back a slot whose request has completed.
    pub(super) fn take_back(&mut self, slot: u32) {
        self.lent[slot as usize] = false;
    }

    /// How many slots are lent to the kernel.
    pub(super) fn in_use(&self) -> usize {
        self.lent.iter().filter(|lent| **lent).count()
    }

    /// All slots, in the form in which the kernel registers buffers.
    pub(super) fn vectors(&self) -> Vec<libc::iovec> {
        let slots = 0..self.lent.len() as u32;
        slots.map(|slot| libc::iovec { iov_base: self.address(slot).cast(), iov_len: self.slot_bytes }).collect()
    }

    fn address(&self, slot: u32) -> *mut u8 {
        assert!((slot as usize) < self.lent.len(), "there is no slot {slot}");
        // SAFETY: the slot exists, so its first byte lies within the mapping.
        unsafe { self.start.as_ptr().add(slot as usize * self.stride_bytes) }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        if self.in_use() > 0 {
            // The kernel may still write there: leaking the memory is better than reusing it.
            return;
        }
        // SAFETY: the mapping is exclusive, nothing of it is lent, and it is not used afterwards. A failure would leave
        // it mapped, which is harmless.
        let _ = unsafe { munmap(self.start.as_ptr().cast::<c_void>(), self.lent.len() * self.stride_bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_aligned_and_apart() {
        let mut buffers = Buffers::new(3, 512).unwrap();
        for slot in 0..3 {
            assert_eq!(buffers.slot_mut(slot).as_ptr() as usize % PAGE_BYTES, 0);
            buffers.slot_mut(slot).fill(slot as u8 + 1);
        }
        assert!((0..3).all(|slot| buffers.slot_mut(slot).iter().all(|byte| *byte == slot as u8 + 1)));
        assert_eq!(buffers.vectors().len(), 3);
    }

    #[test]
    #[should_panic(expected = "in flight")]
    fn a_lent_slot_is_out_of_reach() {
        let mut buffers = Buffers::new(1, 4096).unwrap();
        buffers.acquire(0, 0, 4096);
        buffers.slot_mut(0);
    }

    #[test]
    #[should_panic(expected = "longer than its slot")]
    fn a_request_stays_within_its_slot() {
        Buffers::new(1, 4096).unwrap().acquire(0, 512, 4096);
    }
}
