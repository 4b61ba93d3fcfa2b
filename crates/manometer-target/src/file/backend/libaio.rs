//! Linux AIO through system calls: `io_submit` for everything queued, `io_getevents` to wait.
//!
//! Without direct I/O the kernel performs each request within `io_submit`: the queue depth is then nominal.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;

use super::{BackendOptions, Buffers, Completion, IoBackend, IoOperation, Submission, SubmissionBatch, write_flags};

const COMMAND_PREAD: u16 = 0;
const COMMAND_PWRITE: u16 = 1;
const COMMAND_FDSYNC: u16 = 3;

/// The kernel's `struct io_event`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct IoEvent {
    data: u64,
    object: u64,
    result: i64,
    second_result: i64,
}

/// A kernel AIO context.
#[derive(Debug)]
struct Context(libc::c_ulong);

impl Context {
    fn new(depth: u32) -> io::Result<Self> {
        let mut context: libc::c_ulong = 0;
        // SAFETY: the kernel writes one word to the pointer's target.
        checked(unsafe { libc::syscall(libc::SYS_io_setup, depth, &raw mut context) })?;
        Ok(Self(context))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context is not used afterwards. The call waits for requests in flight.
        let _ = unsafe { libc::syscall(libc::SYS_io_destroy, self.0) };
    }
}

/// Whether the kernel provides an AIO context.
pub(super) fn probe() -> io::Result<()> {
    Context::new(1).map(drop)
}

pub(super) struct Libaio {
    context: Context,
    files: Vec<File>,
    buffers: Buffers,
    write_flags: i32,
    /// One control block per slot; the kernel copies it on submission.
    blocks: Vec<libc::iocb>,
    /// The slots to submit, in order.
    queued: Vec<u32>,
    pointers: Vec<*const libc::iocb>,
    events: Vec<IoEvent>,
    in_flight: usize,
    departures: SubmissionBatch,
    /// Requests that the kernel refused.
    refused: Vec<Completion>,
}

impl Libaio {
    pub(super) fn new(files: Vec<File>, buffers: Buffers, options: &BackendOptions) -> io::Result<Self> {
        let depth = options.depth as usize;
        // SAFETY: a control block is plain numbers, for which zeros are valid.
        let empty: libc::iocb = unsafe { std::mem::zeroed() };
        Ok(Self {
            context: Context::new(options.depth)?,
            files,
            buffers,
            write_flags: write_flags(options.dsync),
            blocks: vec![empty; depth],
            queued: Vec::with_capacity(depth),
            pointers: Vec::with_capacity(depth),
            events: vec![IoEvent::default(); depth],
            in_flight: 0,
            departures: SubmissionBatch::default(),
            refused: Vec::new(),
        })
    }

    /// Submits as many queued requests as the kernel accepts; the rest stay queued.
    fn submit(&mut self) {
        while !self.queued.is_empty() {
            self.pointers.clear();
            self.pointers.extend(self.queued.iter().map(|slot| &raw const self.blocks[*slot as usize]));
            let (count, first) = (self.pointers.len(), self.pointers.as_ptr());
            // SAFETY: the pointers refer to live control blocks whose buffers are lent to the kernel.
            let taken = checked(unsafe { libc::syscall(libc::SYS_io_submit, self.context.0, count, first) });
            match taken {
                Ok(taken) => {
                    self.queued.drain(..taken);
                    self.in_flight += taken;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && self.in_flight > 0 => return,
                // Only the first request can be at fault: the kernel stops before it, and accepts none.
                Err(error) => {
                    let slot = self.queued.remove(0);
                    self.buffers.take_back(slot);
                    self.refused.push(Completion { slot, result: -error.raw_os_error().unwrap_or(libc::EIO) });
                }
            }
        }
    }

    fn reap(&mut self, minimum: usize, wait_ns: u64, finished: &mut Vec<Completion>) -> io::Result<()> {
        let timeout = libc::timespec {
            tv_sec: (wait_ns / 1_000_000_000) as libc::time_t,
            tv_nsec: (wait_ns % 1_000_000_000) as libc::c_long,
        };
        let room = self.events.len();
        let events = self.events.as_mut_ptr();
        // SAFETY: there is room for `room` events, and the timeout lives through the call.
        let count = checked(unsafe {
            libc::syscall(libc::SYS_io_getevents, self.context.0, minimum, room, events, &raw const timeout)
        });
        let count = match count {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            other => other?,
        };
        self.in_flight -= count;
        for event in &self.events[..count] {
            let slot = event.data as u32;
            self.buffers.take_back(slot);
            finished.push(Completion { slot, result: event.result as i32 });
        }
        Ok(())
    }
}

impl IoBackend for Libaio {
    fn slot_mut(&mut self, slot: u32) -> &mut [u8] {
        self.buffers.slot_mut(slot)
    }

    fn queue(&mut self, request: Submission) {
        let memory = self.buffers.acquire(request.slot, request.skip, request.length);
        let block = &mut self.blocks[request.slot as usize];
        block.aio_data = u64::from(request.slot);
        block.aio_fildes = self.files[request.file as usize].as_raw_fd() as u32;
        block.aio_offset = request.offset as i64;
        block.aio_buf = memory as u64;
        block.aio_nbytes = u64::from(request.length);
        (block.aio_lio_opcode, block.aio_rw_flags) = match request.operation {
            IoOperation::Read => (COMMAND_PREAD, 0),
            IoOperation::Write => (COMMAND_PWRITE, self.write_flags),
            IoOperation::Sync => (COMMAND_FDSYNC, 0),
        };
        if request.operation == IoOperation::Sync {
            (block.aio_offset, block.aio_buf, block.aio_nbytes) = (0, 0, 0);
        }
        self.queued.push(request.slot);
        if self.departures.is_full() {
            self.submit();
        }
    }

    fn wait(&mut self, now_ns: u64, deadline_ns: u64, finished: &mut Vec<Completion>) -> io::Result<()> {
        self.submit();
        self.departures.begin();
        finished.append(&mut self.refused);
        let minimum = usize::from(finished.is_empty());
        self.reap(minimum, deadline_ns.saturating_sub(now_ns), finished)
    }

    fn features(&self) -> Vec<&'static str> {
        Vec::new()
    }
}

/// The result of a system call, as a count or an error.
fn checked(returned: libc::c_long) -> io::Result<usize> {
    usize::try_from(returned).map_err(|_| io::Error::last_os_error())
}
