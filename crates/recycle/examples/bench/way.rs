//! The ways to the file's pages, all behind the same two verbs.

use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;

use recycle::{Counters, Mapping, Options, PAGE_BYTES, Region};

use crate::Settings;

/// Bytes of a page at the start of memory that direct I/O takes.
#[repr(align(4096))]
struct Page([u8; PAGE_BYTES]);

/// A way to the pages of a file.
pub enum Way {
    /// The kernel's `mmap`; also the whole file in memory, where nothing limits that.
    Kernel(*mut u8),
    /// `pread` and `pwrite` past the page cache.
    Pread(File),
    Pinned(Region),
    Mapped(Mapping),
}

// SAFETY: the mapped file is plain memory whose 8-byte words the threads read and write as a whole.
unsafe impl Sync for Way {}
// SAFETY: as above.
unsafe impl Send for Way {}

impl Way {
    pub fn open(path: &Path, settings: &Settings) -> Self {
        let file = File::options().read(true).write(true).open(path).unwrap();
        forget(&file);
        let parse = |name: &str, default: &str| settings.word(name, default);
        let options = Options {
            memory: settings.number("memory", 64 << 20),
            policy: parse("policy", "fp").parse().unwrap(),
            replacement: parse("replacement", "clock").parse().unwrap(),
            batch: settings.number("batch", 32) as u32,
            read_ahead: settings.number("read_ahead", 512 << 10),
            faults: parse("faults", "signal").parse().unwrap(),
            ..Options::default()
        };
        match settings.word("way", "map").as_str() {
            "mmap" => kernel(&file, None),
            "mmap-random" => kernel(&file, Some(libc::MADV_RANDOM)),
            "mmap-sequential" => kernel(&file, Some(libc::MADV_SEQUENTIAL)),
            "memory" => populated(&file),
            "pread" => {
                let direct = File::options().read(true).write(true).custom_flags(libc::O_DIRECT).open(path);
                Self::Pread(direct.unwrap())
            }
            "pin" => Self::Pinned(Region::open(&file, &options).unwrap()),
            // SAFETY: the file is this program's alone.
            "map" => Self::Mapped(unsafe { Region::map(&file, &options) }.unwrap()),
            other => panic!("`{other}` is none of mmap, mmap-random, mmap-sequential, memory, pread, pin, map"),
        }
    }

    /// Reads the eight bytes at `offset`, a multiple of eight.
    pub fn read(&self, offset: u64) -> u64 {
        let (page, within) = (offset / PAGE_BYTES as u64, offset as usize % PAGE_BYTES);
        let word = |bytes: &[u8]| u64::from_le_bytes(bytes[within..within + 8].try_into().unwrap());
        match self {
            // SAFETY: the word is within the mapped file.
            Self::Kernel(start) => unsafe { start.add(offset as usize).cast::<u64>().read_volatile() },
            // SAFETY: the word is within the mapping.
            Self::Mapped(mapping) => unsafe { mapping.as_mut_ptr().add(offset as usize).cast::<u64>().read_volatile() },
            Self::Pinned(region) => word(&region.pin(page).unwrap()),
            Self::Pread(file) => {
                let mut buffer = Page([0; PAGE_BYTES]);
                file.read_exact_at(&mut buffer.0, page * PAGE_BYTES as u64).unwrap();
                word(&buffer.0)
            }
        }
    }

    /// Writes the eight bytes at `offset`, a multiple of eight.
    pub fn write(&self, offset: u64, value: u64) {
        let (page, within) = (offset / PAGE_BYTES as u64, offset as usize % PAGE_BYTES);
        match self {
            // SAFETY: the word is within the mapped file.
            Self::Kernel(start) => unsafe { start.add(offset as usize).cast::<u64>().write_volatile(value) },
            // SAFETY: the word is within the mapping.
            Self::Mapped(mapping) => unsafe {
                mapping.as_mut_ptr().add(offset as usize).cast::<u64>().write_volatile(value);
            },
            Self::Pinned(region) => {
                region.pin_mut(page).unwrap()[within..within + 8].copy_from_slice(&value.to_le_bytes());
            }
            Self::Pread(file) => {
                let mut buffer = Page([0; PAGE_BYTES]);
                file.read_exact_at(&mut buffer.0, page * PAGE_BYTES as u64).unwrap();
                buffer.0[within..within + 8].copy_from_slice(&value.to_le_bytes());
                file.write_all_at(&buffer.0, page * PAGE_BYTES as u64).unwrap();
            }
        }
    }

    /// Calls `visit` with the bytes of each page that `bytes` touches.
    pub fn visit(&self, bytes: std::ops::Range<u64>, mut visit: impl FnMut(&[u8])) {
        let mut start = bytes.start;
        while start < bytes.end {
            let (page, within) = (start / PAGE_BYTES as u64, start as usize % PAGE_BYTES);
            let length = (PAGE_BYTES - within).min((bytes.end - start) as usize);
            match self {
                // SAFETY: the bytes are within the mapped file, and nobody writes them now.
                Self::Kernel(first) => visit(unsafe { std::slice::from_raw_parts(first.add(start as usize), length) }),
                Self::Mapped(mapping) => visit(&mapping[start as usize..start as usize + length]),
                Self::Pinned(region) => visit(&region.pin(page).unwrap()[within..within + length]),
                Self::Pread(file) => {
                    let mut buffer = Page([0; PAGE_BYTES]);
                    let read = file.read_at(&mut buffer.0, page * PAGE_BYTES as u64).unwrap();
                    assert!(read >= within + length);
                    visit(&buffer.0[within..within + length]);
                }
            }
            start += length as u64;
        }
    }

    pub fn counters(&self) -> Option<Counters> {
        match self {
            Self::Pinned(region) => Some(region.counters()),
            Self::Mapped(mapping) => Some(mapping.counters()),
            Self::Kernel(_) | Self::Pread(_) => None,
        }
    }
}

/// Empties the page cache of the file: what others read into it is not limited by our control group.
fn forget(file: &File) {
    file.sync_all().unwrap();
    // SAFETY: the call has no pointers.
    assert_eq!(unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) }, 0);
}

fn kernel(file: &File, advice: Option<libc::c_int>) -> Way {
    let bytes = file.metadata().unwrap().len() as usize;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    assert_ne!(start, libc::MAP_FAILED);
    if let Some(advice) = advice {
        // SAFETY: the range is ours.
        assert_eq!(unsafe { libc::madvise(start, bytes, advice) }, 0);
    }
    Way::Kernel(start.cast())
}

/// The file's bytes in plain memory.
fn populated(file: &File) -> Way {
    let bytes = file.metadata().unwrap().len() as usize;
    let content = Box::leak(vec![0_u8; bytes].into_boxed_slice());
    file.read_exact_at(content, 0).unwrap();
    Way::Kernel(content.as_mut_ptr())
}
