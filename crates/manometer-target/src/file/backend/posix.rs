//! `pread`, `pwritev2` and `fdatasync`: the thread blocks in each call, one request at a time.
//!
//! A call cannot be interrupted: while the device stalls, so does the thread, even past the deadline.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, RawFd};

use super::{Buffers, Completion, IoBackend, IoOperation, Submission, write_flags};

pub(super) struct Posix {
    files: Vec<File>,
    buffers: Buffers,
    write_flags: i32,
    queued: Vec<Submission>,
}

impl Posix {
    pub(super) fn new(files: Vec<File>, buffers: Buffers, dsync: bool) -> Self {
        Self { files, buffers, write_flags: write_flags(dsync), queued: Vec::new() }
    }

    fn perform(&mut self, request: Submission) -> i32 {
        let file = self.files[request.file as usize].as_raw_fd();
        if request.operation == IoOperation::Sync {
            // SAFETY: the descriptor is open as long as self.
            return result_of(unsafe { libc::fdatasync(file) } as isize);
        }
        let memory = self.buffers.acquire(request.slot, request.skip, request.length);
        let result = transfer(file, memory, request, self.write_flags);
        self.buffers.take_back(request.slot);
        result
    }
}

fn transfer(file: RawFd, memory: *mut u8, request: Submission, write_flags: i32) -> i32 {
    let length = request.length as usize;
    let offset = request.offset as libc::off_t;
    let moved = if request.operation == IoOperation::Read {
        // SAFETY: `memory` is valid for `length` bytes and lent to this call alone.
        unsafe { libc::pread(file, memory.cast(), length, offset) }
    } else if write_flags == 0 {
        // SAFETY: as above.
        unsafe { libc::pwrite(file, memory.cast(), length, offset) }
    } else {
        let vector = libc::iovec { iov_base: memory.cast(), iov_len: length };
        // SAFETY: as above, and the vector lives through the call.
        unsafe { libc::pwritev2(file, &vector, 1, offset, write_flags) }
    };
    result_of(moved)
}

fn result_of(returned: isize) -> i32 {
    match returned {
        ..0 => -io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO),
        // Requests are shorter than 2 GiB.
        _ => returned as i32,
    }
}

impl IoBackend for Posix {
    fn slot_mut(&mut self, slot: u32) -> &mut [u8] {
        self.buffers.slot_mut(slot)
    }

    fn queue(&mut self, request: Submission) {
        self.queued.push(request);
    }

    fn wait(&mut self, _now_ns: u64, _deadline_ns: u64, finished: &mut Vec<Completion>) -> io::Result<()> {
        for request in std::mem::take(&mut self.queued) {
            let result = self.perform(request);
            finished.push(Completion { slot: request.slot, result });
        }
        Ok(())
    }

    fn features(&self) -> Vec<&'static str> {
        Vec::new()
    }
}
