//! io_uring: one system call submits everything queued and waits.
//!
//! Three things make it cheap. Files and buffers are registered, so that no request looks them up or pins pages.
//! Completions are processed in the caller's own wait and interrupt nothing. The deadline of an idle wait is one
//! timeout request that stays armed from wait to wait, so that no request pays for setting and cancelling a timer.
//! Registration and deferred work are left out where the kernel does not support or allow them.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;

use io_uring::types::{Fd, Fixed, FsyncFlags, SubmitArgs, TimeoutFlags, Timespec};
use io_uring::{IoUring, opcode, squeue};

use super::{BackendOptions, Buffers, Completion, IoBackend, IoOperation, Submission, SubmissionBatch, write_flags};

/// The user data of the armed timeout's completion; no slot has this number.
const TIMEOUT: u64 = u64::MAX;

/// Queue entries for the timeout, in addition to the requests.
const EXTRA_ENTRIES: u32 = 1;

/// Whether the kernel provides a ring with the required features.
pub(super) fn probe() -> io::Result<()> {
    ring(1).map(drop)
}

/// The cheapest ring that this kernel supports.
fn ring(entries: u32) -> io::Result<(IoUring, bool)> {
    let deferred = IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(entries);
    let (ring, deferred) = match deferred {
        Ok(ring) => (ring, true),
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => (IoUring::new(entries)?, false),
        Err(error) => return Err(error),
    };
    if !ring.params().is_feature_ext_arg() {
        return Err(io::Error::new(io::ErrorKind::Unsupported, "a wait with a deadline needs Linux 5.11"));
    }
    Ok((ring, deferred))
}

pub(super) struct Uring {
    /// Declared before the buffers: the ring is dropped first, and with it the kernel's references to them.
    ring: IoUring,
    files: Vec<File>,
    buffers: Buffers,
    write_flags: i32,
    registered_files: bool,
    registered_buffers: bool,
    features: Vec<&'static str>,
    /// The deadline of the timeout request in flight.
    armed_ns: Option<u64>,
    /// The time that the kernel reads when the timeout is submitted.
    armed_time: Box<Timespec>,
    departures: SubmissionBatch,
}

impl Uring {
    pub(super) fn new(files: Vec<File>, buffers: Buffers, options: &BackendOptions) -> io::Result<Self> {
        let (ring, deferred) = ring(options.depth + EXTRA_ENTRIES)?;
        let descriptors: Vec<_> = files.iter().map(|file| file.as_raw_fd()).collect();
        let registered_files = ring.submitter().register_files(&descriptors).is_ok();
        // SAFETY: the memory outlives the ring: `buffers` comes after `ring` in the struct.
        let registered_buffers = unsafe { ring.submitter().register_buffers(&buffers.vectors()) }.is_ok();
        let features = [
            (registered_files, "registered files"),
            (registered_buffers, "registered buffers"),
            (deferred, "deferred task work"),
        ];
        Ok(Self {
            ring,
            files,
            buffers,
            write_flags: write_flags(options.dsync),
            registered_files,
            registered_buffers,
            features: features.into_iter().filter_map(|(has, name)| has.then_some(name)).collect(),
            armed_ns: None,
            armed_time: Box::new(Timespec::new()),
            departures: SubmissionBatch::default(),
        })
    }

    fn push(&mut self, entry: &squeue::Entry) {
        // SAFETY: the buffers and the time that the entry refers to stay in place until its completion: slots are lent,
        // and the boxed time is rearmed only after the last timeout has completed.
        let pushed = unsafe { self.ring.submission().push(entry) };
        assert!(pushed.is_ok(), "the queue has room for every slot and the timeout");
    }

    fn transfer(&mut self, request: Submission) -> squeue::Entry {
        let memory = self.buffers.acquire(request.slot, request.skip, request.length);
        let plain = Fd(self.files[request.file as usize].as_raw_fd());
        let fixed = Fixed(request.file);
        let (length, offset, slot) = (request.length, request.offset, request.slot as u16);
        let flags = self.write_flags;
        match (request.operation, self.registered_files, self.registered_buffers) {
            (IoOperation::Read, true, true) => {
                opcode::ReadFixed::new(fixed, memory, length, slot).offset(offset).build()
            }
            (IoOperation::Read, false, true) => {
                opcode::ReadFixed::new(plain, memory, length, slot).offset(offset).build()
            }
            (IoOperation::Read, true, false) => opcode::Read::new(fixed, memory, length).offset(offset).build(),
            (IoOperation::Read, false, false) => opcode::Read::new(plain, memory, length).offset(offset).build(),
            (IoOperation::Write, true, true) => {
                opcode::WriteFixed::new(fixed, memory, length, slot).offset(offset).rw_flags(flags).build()
            }
            (IoOperation::Write, false, true) => {
                opcode::WriteFixed::new(plain, memory, length, slot).offset(offset).rw_flags(flags).build()
            }
            (IoOperation::Write, true, false) => {
                opcode::Write::new(fixed, memory, length).offset(offset).rw_flags(flags).build()
            }
            (IoOperation::Write, false, false) => {
                opcode::Write::new(plain, memory, length).offset(offset).rw_flags(flags).build()
            }
            (IoOperation::Sync, true, _) => opcode::Fsync::new(fixed).flags(FsyncFlags::DATASYNC).build(),
            (IoOperation::Sync, false, _) => opcode::Fsync::new(plain).flags(FsyncFlags::DATASYNC).build(),
        }
    }

    /// Arms the timeout for `deadline_ns` unless one is armed. Returns whether the armed one is early enough.
    fn arm(&mut self, deadline_ns: u64) -> bool {
        if let Some(armed_ns) = self.armed_ns {
            return armed_ns <= deadline_ns;
        }
        *self.armed_time = timespec(deadline_ns);
        let timeout = opcode::Timeout::new(&raw const *self.armed_time).flags(TimeoutFlags::ABS);
        self.push(&timeout.build().user_data(TIMEOUT));
        self.armed_ns = Some(deadline_ns);
        true
    }

    fn enter(&mut self, now_ns: u64, deadline_ns: u64) -> io::Result<()> {
        let entered = if self.arm(deadline_ns) {
            self.ring.submit_and_wait(1)
        } else {
            let left = timespec(deadline_ns.saturating_sub(now_ns));
            self.ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&left))
        };
        match entered.map_err(|error| (error.raw_os_error(), error)) {
            Ok(_) => Ok(()),
            // The deadline has passed, a signal arrived, or completions must be reaped first.
            Err((Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN), _)) => Ok(()),
            Err((_, error)) => Err(error),
        }
    }
}

impl IoBackend for Uring {
    fn slot_mut(&mut self, slot: u32) -> &mut [u8] {
        self.buffers.slot_mut(slot)
    }

    fn queue(&mut self, request: Submission) {
        let entry = self.transfer(request).user_data(u64::from(request.slot));
        self.push(&entry);
        if self.departures.is_full() {
            // Requests that the kernel does not accept now are submitted by the next wait, which also returns the
            // reason.
            let _ = self.ring.submit();
        }
    }

    fn wait(&mut self, now_ns: u64, deadline_ns: u64, finished: &mut Vec<Completion>) -> io::Result<()> {
        self.enter(now_ns, deadline_ns)?;
        self.departures.begin();
        for entry in self.ring.completion() {
            if entry.user_data() == TIMEOUT {
                self.armed_ns = None;
                continue;
            }
            let slot = entry.user_data() as u32;
            self.buffers.take_back(slot);
            finished.push(Completion { slot, result: entry.result() });
        }
        Ok(())
    }

    fn features(&self) -> Vec<&'static str> {
        self.features.clone()
    }
}

fn timespec(ns: u64) -> Timespec {
    Timespec::new().sec(ns / 1_000_000_000).nsec((ns % 1_000_000_000) as u32)
}
