//! Several writes at once, with io_uring where the system has it.

use std::io;
use std::os::fd::RawFd;

use io_uring::{IoUring, opcode, types};
use parking_lot::Mutex;

use super::Run;

/// Writes in flight at once, on one ring.
const ENTRIES: u32 = 64;

/// Rings that no thread uses now. A thread takes one, or makes one.
#[derive(Default)]
pub(super) struct Rings {
    idle: Mutex<Vec<IoUring>>,
}

impl std::fmt::Debug for Rings {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Rings").finish_non_exhaustive()
    }
}

impl Rings {
    /// Writes the runs to the descriptors that `descriptor` names; for each, in order, the bytes written, which may be
    /// fewer than all. Without io_uring, or for a single run, nothing is written, and 0 returned.
    pub(super) fn write(&self, runs: &[Run<'_>], descriptor: impl Fn(&Run<'_>) -> RawFd) -> Vec<io::Result<usize>> {
        let mut written: Vec<io::Result<usize>> = runs.iter().map(|_| Ok(0)).collect();
        if runs.len() < 2 {
            return written;
        }
        let Some(mut ring) = self.take() else { return written };
        let mut is_usable = true;
        for (some, results) in runs.chunks(ENTRIES as usize).zip(written.chunks_mut(ENTRIES as usize)) {
            is_usable = is_usable && write_some(&mut ring, some, results, &descriptor);
        }
        if is_usable {
            self.idle.lock().push(ring);
        }
        written
    }

    fn take(&self) -> Option<IoUring> {
        let idle = self.idle.lock().pop();
        idle.or_else(|| IoUring::new(ENTRIES).ok())
    }
}

/// Writes at most as many runs as the ring holds. Returns whether the ring can be used again.
fn write_some(
    ring: &mut IoUring,
    runs: &[Run<'_>],
    results: &mut [io::Result<usize>],
    descriptor: impl Fn(&Run<'_>) -> RawFd,
) -> bool {
    for (index, run) in runs.iter().enumerate() {
        let file = types::Fd(descriptor(run));
        let count = run.buffers.len().min(1024) as u32;
        let entry = opcode::Writev::new(file, run.buffers.as_ptr().cast(), count).offset(run.offset).build();
        // SAFETY: buffers and vector live until this function has seen the completion of every entry that left.
        if unsafe { ring.submission().push(&entry.user_data(index as u64)) }.is_err() {
            return false;
        }
    }
    let mut missing = runs.len();
    while missing > 0 {
        match ring.submit_and_wait(missing) {
            Err(error) if !matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY)) => {
                // The kernel takes no more entries, and what it took may still read our buffers: without its
                // completions we cannot go on.
                assert!(ring.submission().len() == missing, "io_uring failed with writes in flight: {error}");
                return false;
            }
            _ => {}
        }
        for completion in ring.completion() {
            let result = completion.result();
            results[completion.user_data() as usize] =
                usize::try_from(result).map_err(|_| io::Error::from_raw_os_error(-result));
            missing -= 1;
        }
    }
    true
}
