//! Files larger than memory, whose pages make room for each other.
//!
//! When a file mapped with `mmap` is larger than memory, page faults wait for the kernel's reclaim. A *region* takes
//! victims from its own pages, in the fault, in batches, so that it neither waits for the kernel's reclaim nor takes
//! memory from others: it never holds more than its budget. It has two interfaces:
//!
//! - [`Region::open`] and [`Region::pin`]: pages are held one by one. Faster, and it works everywhere.
//! - [`Region::map`]: the whole file is a slice of bytes, and pages come and go as they are touched. It needs
//!   userfaultfd, and a promise of the caller: while the slice is used, nobody else writes the file.
//!
//! ```
//! use recycle::{Options, Region};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("large");
//! let file = std::fs::File::options().read(true).write(true).create(true).truncate(false).open(&path)?;
//! file.set_len(1 << 30)?;
//! let options = Options { memory: 1 << 20, ..Options::default() };
//!
//! let region = Region::open(&file, &options)?;
//! region.pin_mut(7)?[..5].copy_from_slice(b"apple");
//! region.sync()?;
//! assert_eq!(&region.pin(7)?[..5], b"apple");
//! drop(region);
//!
//! # if let Err(recycle::Error::Unsupported { .. }) = unsafe { Region::map(&file, &options) } { return Ok(()) }
//! // SAFETY: nobody else writes this file.
//! let mut bytes = unsafe { Region::map(&file, &options)? };
//! assert_eq!(&bytes[7 * 4096..7 * 4096 + 5], b"apple");
//! bytes.as_mut_slice()?[1 << 29] = 1;
//! bytes.sync()?;
//! # Ok(())
//! # }
//! ```
//!
//! What it promises:
//!
//! - A byte read is the byte last written, or the file's. An error of the device is an error, never a zero page.
//! - After [`Region::sync`] what was written before survives the end of the process and of the machine. Unlike with
//!   `mmap`, what was not synced is lost when the *process* is killed: the pages are the process's, not the kernel's.
//! - A region is one program's view of the file: what others write into the file meanwhile is seen when a page is read
//!   next, and what it writes is seen by others after a sync. A pinned page does not change by that; a slice of a mapping
//!   does, which is why [`Region::map`] is unsafe. In one process, a region that writes excludes others.
//!
//! The design follows N. Y. Song, *Efficient Data Management Schemes for High-performance Storage Devices*, doctoral thesis,
//! Seoul National University, 2018, sections 2.3.1 and 3.1, cited here as Song 2018. It runs on Linux.

pub mod c;
mod choices;
mod core;
mod counters;
mod error;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod handler_thread;
mod mapped;
mod mapping;
mod options;
mod page;
mod page_runs;
mod pin;
mod read_ahead;
mod recovery;
mod region;
mod residents;
mod signal;
pub mod storage;
mod system;
mod userfaultfd;

pub use self::core::Budget;
pub use choices::{Advice, Faults, Policy, Replacement, UnknownName};
pub use counters::Counters;
pub use error::{Error, Result};
pub use mapping::{MappedPin, Mapping};
pub use options::Options;
pub use pin::{PagePin, PagePinMut};
pub use recovery::{OnError, Recovery};
pub use region::Region;

/// Bytes of a page.
pub const PAGE_BYTES: usize = 4096;
