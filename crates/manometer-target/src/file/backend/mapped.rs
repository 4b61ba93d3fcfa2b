//! Files whose bytes are copied from and to memory: the kernel's `mmap`, and `recycle` with pin and map. The thread
//! itself waits for pages, one request at a time.
//!
//! A page that cannot be had ends the worker with SIGBUS, but for `recycle`, which returns the error.

use std::fs::File;
use std::io;

use recycle::{Budget, Counters, Mapping, Options, Region};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::{BackendOptions, Buffers, Completion, IoBackend, IoEngine, IoOperation, Submission};

/// A file mapped by the kernel.
struct KernelMapping {
    file: File,
    start: *mut u8,
    bytes: usize,
}

impl KernelMapping {
    fn new(file: File, is_writable: bool) -> io::Result<Self> {
        let bytes = usize::try_from(file.metadata()?.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let protection = if is_writable { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing.
        let start = unsafe { mmap(std::ptr::null_mut(), bytes, protection, MapFlags::SHARED, &file, 0)? };
        Ok(Self { file, start: start.cast(), bytes })
    }
}

impl Drop for KernelMapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nobody uses it any more. A failure would leave it mapped, which harms nobody.
        let _ = unsafe { munmap(self.start.cast(), self.bytes) };
    }
}

/// A file behind one of the interfaces.
enum MappedFile {
    Kernel(KernelMapping),
    Mapped(Mapping),
    Pinned(Region),
}

impl MappedFile {
    /// Moves the bytes of a read or a write between the file and `memory`. Returns how many: fewer only at the file's end.
    fn transfer(&self, request: Submission, memory: *mut u8) -> io::Result<usize> {
        match self {
            Self::Kernel(mapping) => Ok(copy(mapping.start, mapping.bytes, request, memory)),
            Self::Mapped(mapping) => Ok(copy(mapping.as_mut_ptr(), mapping.len(), request, memory)),
            Self::Pinned(region) => {
                let length = u64::from(request.length).min(region.len().saturating_sub(request.offset)) as usize;
                // SAFETY: the slot's memory is good for the request's length, and lent to this call alone.
                let bytes = unsafe { std::slice::from_raw_parts_mut(memory, length) };
                match request.operation {
                    IoOperation::Read => region.read_at(request.offset, bytes)?,
                    _ => region.write_at(request.offset, bytes)?,
                }
                Ok(length)
            }
        }
    }

    fn sync(&self) -> io::Result<()> {
        match self {
            Self::Kernel(mapping) => mapping.file.sync_data(),
            Self::Mapped(mapping) => Ok(mapping.sync()?),
            Self::Pinned(region) => Ok(region.sync()?),
        }
    }
}

/// Copies between the `bytes` mapped from `start` on and `memory`.
fn copy(start: *mut u8, bytes: usize, request: Submission, memory: *mut u8) -> usize {
    let offset = usize::try_from(request.offset).map_or(bytes, |offset| offset.min(bytes));
    let length = (request.length as usize).min(bytes - offset);
    let place = start.wrapping_add(offset);
    let (from, to) = if request.operation == IoOperation::Read { (place, memory) } else { (memory, place) };
    // SAFETY: both are good for `length` bytes, and apart: the slot is lent to this call alone, and this thread alone uses
    // the mapping.
    unsafe { std::ptr::copy_nonoverlapping(from, to, length) };
    length
}

/// What counts, and its counts at the last look.
enum FaultSource {
    /// The process's page faults, and those that waited for the device.
    Kernel([u64; 2]),
    Recycle(Budget, Counters),
}

pub(super) struct Mapped {
    files: Vec<MappedFile>,
    buffers: Buffers,
    queued: Vec<Submission>,
    tally: FaultSource,
}

impl Mapped {
    pub(super) fn new(files: Vec<File>, buffers: Buffers, options: &BackendOptions) -> io::Result<Self> {
        if options.engine == IoEngine::Mmap {
            let map = |file| KernelMapping::new(file, options.write).map(MappedFile::Kernel);
            let files = files.into_iter().map(map).collect::<io::Result<_>>()?;
            return Ok(Self { files, buffers, queued: Vec::new(), tally: FaultSource::Kernel(kernel_faults()) });
        }
        let budget = Budget::new(&Options { memory: options.memory_bytes, ..Options::default() })?;
        let region = Options { budget: Some(budget.clone()), ..Options::default() };
        let open = |file: File| -> io::Result<MappedFile> {
            Ok(match options.engine {
                // SAFETY: no reference to bytes of the mapping is ever made: `copy` uses pointers. So it does not matter
                // who else writes the file.
                IoEngine::RecycleMap => MappedFile::Mapped(unsafe { Region::map(&file, &region)? }),
                _ => MappedFile::Pinned(Region::open(&file, &region)?),
            })
        };
        let files = files.into_iter().map(open).collect::<io::Result<_>>()?;
        Ok(Self { files, buffers, queued: Vec::new(), tally: FaultSource::Recycle(budget, Counters::default()) })
    }

    fn perform(&mut self, request: Submission) -> i32 {
        let file = &self.files[request.file as usize];
        let performed = if request.operation == IoOperation::Sync {
            file.sync().map(|()| 0)
        } else {
            let memory = self.buffers.acquire(request.slot, request.skip, request.length);
            let moved = file.transfer(request, memory);
            self.buffers.take_back(request.slot);
            moved
        };
        // Requests are shorter than 2 GiB.
        performed.map_or_else(|error| -error.raw_os_error().unwrap_or(libc::EIO), |moved| moved as i32)
    }
}

/// Whether the system can map regions of `recycle`.
pub(super) fn probe_mapping() -> io::Result<()> {
    let file = tempfile_in_memory()?;
    file.set_len(1)?;
    // SAFETY: nobody else has the file.
    unsafe { Region::map(&file, &Options::default())? };
    Ok(())
}

fn tempfile_in_memory() -> io::Result<File> {
    Ok(rustix::fs::memfd_create("manometer-probe", rustix::fs::MemfdFlags::CLOEXEC)?.into())
}

/// The process's page faults, and those that waited for the device.
fn kernel_faults() -> [u64; 2] {
    // SAFETY: zeroes are a valid value, and the pointer is live.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    [(usage.ru_minflt + usage.ru_majflt).unsigned_abs(), usage.ru_majflt.unsigned_abs()]
}

impl IoBackend for Mapped {
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
        match self.tally {
            FaultSource::Kernel(_) => vec!["page cache"],
            FaultSource::Recycle(..) => vec!["direct I/O"],
        }
    }

    fn state(&mut self) -> Vec<(&'static str, u64)> {
        match &mut self.tally {
            FaultSource::Kernel(before) => {
                let now = kernel_faults();
                let before = std::mem::replace(before, now);
                vec![("faults", now[0] - before[0]), ("major_faults", now[1] - before[1])]
            }
            FaultSource::Recycle(budget, before) => {
                let now = budget.counters();
                let before = std::mem::replace(before, now);
                let since = |((name, now), (_, before)): ((&'static str, u64), (_, u64))| (name, now - before);
                now.named().into_iter().zip(before.named()).map(since).collect()
            }
        }
    }
}
