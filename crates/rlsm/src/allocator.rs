//! Giving back what was freed.

/// Gives memory that was freed back to the system, where the allocator is the GNU C library's.
///
/// It keeps what a compaction freed, several ranges' worth in each thread's arena, where the page cache has better use
/// for it: in a memory cgroup, a third of the memory was held like that, and scans took twice as long.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "nothing safe asks for it")]
pub(crate) fn give_back() {
    // SAFETY: `malloc_trim` takes no pointer, may be called by any thread at any time, and frees only what is free.
    unsafe { libc::malloc_trim(0) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn give_back() {}
