//! System calls that no safe library offers as we need them: futex, anonymous memory, releasing many ranges at once.

use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;

use crate::PAGE_BYTES;

/// Most ranges of one `process_madvise`; their vector is on the stack, perhaps a signal handler's.
const MAX_RANGES: usize = 256;

/// Sleeps while the low half of `word` is `low`. May return early.
pub(crate) fn futex_wait(word: &AtomicU64, low: u32) {
    // SAFETY: the address is that of a live word, aligned to more than the four bytes that are compared.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            low_half(word),
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            low,
            std::ptr::null::<libc::timespec>(),
        )
    };
}

/// Wakes all threads that wait for `word`.
pub(crate) fn futex_wake_all(word: &AtomicU64) {
    // SAFETY: the address is that of a live word; waking reads nothing.
    unsafe { libc::syscall(libc::SYS_futex, low_half(word), libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG, i32::MAX) };
}

fn low_half(word: &AtomicU64) -> *const u32 {
    let half = word.as_ptr().cast::<u32>();
    if cfg!(target_endian = "little") { half } else { half.wrapping_add(1) }
}

/// The processor on which the thread runs.
pub(crate) fn processor() -> usize {
    // SAFETY: the call has no arguments and cannot fail on Linux.
    usize::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(0)
}

/// How many processors there may be.
pub(crate) fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Whether the kernel's pages have the size that this crate is written for.
pub(crate) fn has_supported_pages() -> bool {
    // SAFETY: the call reads a constant of the kernel.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }) == Ok(PAGE_BYTES)
}

/// The process that something belongs to. A forked child has copies of what owns memory, threads and entries in tables
/// of its parent's, and must not end those: its addresses may be in other use, its threads do not exist, and it shares
/// descriptors with the parent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owner(u32);

impl Owner {
    /// The calling process.
    pub(crate) fn this_process() -> Self {
        Self(std::process::id())
    }

    /// Whether the calling process is the owner, and no child of it.
    pub(crate) fn is_this_process(self) -> bool {
        self.0 == std::process::id()
    }
}

/// Anonymous, zeroed memory that takes room only where it is touched. A forked child does not have it.
pub(crate) struct Memory {
    start: NonNull<u8>,
    bytes: usize,
    owner: Owner,
}

// SAFETY: it is memory without an owner; whoever makes references into it answers for them.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// `bytes`, rounded up to whole pages.
    pub(crate) fn new(bytes: usize) -> io::Result<Self> {
        let bytes = bytes.max(1).checked_next_multiple_of(PAGE_BYTES).ok_or(io::ErrorKind::OutOfMemory)?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping at an address of the kernel's choice touches no other memory.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        let memory = Self { start, bytes, owner: Owner::this_process() };
        // Without this a child would see zeroes where pages are absent, and share pages with direct I/O.
        memory.advise(libc::MADV_DONTFORK)?;
        Ok(memory)
    }

    /// Advises the kernel about all of it.
    pub(crate) fn advise(&self, advice: libc::c_int) -> io::Result<()> {
        // SAFETY: the range is ours; none of the advice used changes content.
        result(unsafe { libc::madvise(self.start.as_ptr().cast(), self.bytes, advice) })
    }

    pub(crate) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Gives these pages back to the kernel; they read as zero, or fault, afterwards.
    pub(crate) fn release(&self, ranges: &[Range<usize>]) -> io::Result<()> {
        for some in ranges.chunks(MAX_RANGES) {
            if some.len() == 1 || self.release_at_once(some).is_err() {
                self.release_each(some)?;
            }
        }
        Ok(())
    }

    fn release_each(&self, ranges: &[Range<usize>]) -> io::Result<()> {
        for range in ranges {
            assert!(range.start <= range.end && range.end <= self.bytes, "a range of this memory");
            // SAFETY: the range is ours, and the caller knows that nobody uses its content.
            result(unsafe { libc::madvise(self.start().add(range.start).cast(), range.len(), libc::MADV_DONTNEED) })?;
        }
        Ok(())
    }

    /// One system call, and on newer kernels one flush of the translation caches, for all ranges.
    fn release_at_once(&self, ranges: &[Range<usize>]) -> io::Result<()> {
        let process = own_process()?;
        let mut vector = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; MAX_RANGES];
        let mut bytes = 0;
        for (entry, range) in vector.iter_mut().zip(ranges) {
            assert!(range.start <= range.end && range.end <= self.bytes, "a range of this memory");
            // SAFETY: the range lies in this memory.
            *entry = libc::iovec { iov_base: unsafe { self.start().add(range.start) }.cast(), iov_len: range.len() };
            bytes += range.len();
        }
        // SAFETY: the ranges are ours, and the caller knows that nobody uses their content.
        let done = unsafe {
            libc::syscall(
                libc::SYS_process_madvise,
                process.as_raw_fd(),
                vector.as_ptr(),
                ranges.len(),
                libc::MADV_DONTNEED,
                0,
            )
        };
        // Where it stopped half way, releasing a range again does no harm: nobody has used it since.
        if usize::try_from(done) == Ok(bytes) { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.owner.is_this_process() {
            // SAFETY: the mapping is ours, and nothing refers to it any more.
            unsafe { libc::munmap(self.start().cast(), self.bytes) };
        }
    }
}

/// This process, for system calls that want it named. A forked child goes without: the name is its parent's.
fn own_process() -> io::Result<&'static OwnedFd> {
    static PROCESS: OnceLock<Option<(Owner, OwnedFd)>> = OnceLock::new();
    let process = PROCESS.get_or_init(|| {
        // SAFETY: the call has no pointers.
        let file = unsafe { libc::syscall(libc::SYS_pidfd_open, libc::getpid(), 0) };
        let file = i32::try_from(file).ok().filter(|file| *file >= 0)?;
        // SAFETY: a number that is not negative is a new descriptor, ours alone.
        Some((Owner::this_process(), unsafe { OwnedFd::from_raw_fd(file) }))
    });
    let process = process.as_ref().filter(|(owner, _)| owner.is_this_process());
    process.map(|(_, file)| file).ok_or_else(|| io::ErrorKind::Unsupported.into())
}

/// The result of a system call that returns -1 for an error.
pub(crate) fn result(returned: libc::c_int) -> io::Result<()> {
    if returned == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
#[cfg(not(miri))]
mod tests {
    use super::*;

    #[test]
    fn released_pages_are_zero_and_the_others_stay() {
        let memory = Memory::new(8 * PAGE_BYTES).unwrap();
        // SAFETY: the memory is ours alone, and as long as this.
        let bytes = unsafe { std::slice::from_raw_parts_mut(memory.start(), memory.bytes()) };
        bytes.fill(1);
        memory.release(&[0..PAGE_BYTES, 3 * PAGE_BYTES..5 * PAGE_BYTES]).unwrap();
        let pages: Vec<u8> = bytes.chunks(PAGE_BYTES).map(|page| page[7]).collect();
        assert_eq!(pages, [0, 1, 1, 0, 0, 1, 1, 1]);
    }

    #[test]
    fn a_futex_returns_when_the_word_is_another() {
        futex_wait(&AtomicU64::new(1 << 32), 7);
        let word = AtomicU64::new(0);
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                while word.load(std::sync::atomic::Ordering::Acquire) == 0 {
                    futex_wait(&word, 0);
                }
            });
            word.store(1, std::sync::atomic::Ordering::Release);
            futex_wake_all(&word);
            waiter.join().unwrap();
        });
    }
}
