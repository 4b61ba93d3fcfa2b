//! Returning freed memory to the system.

/// Returns freed memory to the operating system, where the allocator is glibc's.
///
/// After a compaction glibc holds several ranges' worth of freed memory in each thread's arena. In a memory cgroup that
/// was a third of the limit; without it for the page cache, scans took twice as long.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "no safe binding exists")]
pub(crate) fn release_free_memory() {
    // SAFETY: `malloc_trim` takes no pointer, may be called by any thread at any time, and releases free memory only.
    unsafe { libc::malloc_trim(0) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn release_free_memory() {}
