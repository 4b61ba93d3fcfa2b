//! The names of the kernel's I/O interfaces.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How requests reach the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IoEngine {
    /// `pread` and `pwrite`: one request at a time.
    Posix,
    /// Linux AIO: `io_submit`, `io_getevents`.
    Libaio,
    /// io_uring.
    IoUring,
    /// The kernel's `mmap`: bytes are copied from and to the mapped file, one request at a time.
    Mmap,
    /// `recycle`: as `mmap`, but pages are pinned and recycled within a budget of the workload's own.
    Recycle,
    /// `recycle` with mapped pages, by userfaultfd.
    RecycleMap,
}

impl IoEngine {
    /// Every engine, the best first. Those of [`Self::is_mapped`] are used only where they are named.
    pub const ALL: [Self; 6] = [Self::IoUring, Self::Libaio, Self::Posix, Self::Mmap, Self::Recycle, Self::RecycleMap];

    /// Whether bytes are copied from and to memory, where pages of the file come and go.
    pub fn is_mapped(self) -> bool {
        matches!(self, Self::Mmap | Self::Recycle | Self::RecycleMap)
    }

    /// Whether its pages are held in memory of the workload's own.
    pub fn has_memory(self) -> bool {
        matches!(self, Self::Recycle | Self::RecycleMap)
    }

    /// Whether the thread itself waits for each request, so that only one is in flight.
    pub fn is_synchronous(self) -> bool {
        self == Self::Posix || self.is_mapped()
    }

    /// The state that it reports: the names, units and meanings of its columns.
    pub fn state(self) -> &'static [(&'static str, &'static str, &'static str)] {
        match self {
            Self::Posix | Self::Libaio | Self::IoUring => &[],
            Self::Mmap => &[
                ("faults", "faults", "Page faults of the process in the interval."),
                ("major_faults", "faults", "Those of them that waited for the device."),
            ],
            Self::Recycle | Self::RecycleMap => &[
                ("faults", "faults", "Requests that found their page absent, in the interval."),
                ("write_faults", "faults", "Writes that found their page write-protected."),
                ("pages_read", "pages", "Pages read from the files, read-ahead included."),
                ("pages_written", "pages", "Pages written to the files."),
                ("recyclings", "batches", "Times that a batch of pages was recycled."),
                ("pages_recycled", "pages", "Pages recycled in these batches."),
                ("background_reclaims", "waits", "Times that a fault waited for the background thread."),
                (
                    "foreground_reclaims",
                    "waits",
                    "Times that a fault found every page held, or wrote dirty pages itself.",
                ),
                ("errors", "errors", "Reads and writes of pages that failed."),
            ],
        }
    }

    /// The name in experiment files and flags.
    pub fn name(self) -> &'static str {
        match self {
            Self::Posix => "posix",
            Self::Libaio => "libaio",
            Self::IoUring => "io_uring",
            Self::Mmap => "mmap",
            Self::Recycle => "recycle",
            Self::RecycleMap => "recycle_map",
        }
    }

    /// What to do if it is not available.
    pub(super) fn remedy(self) -> &'static str {
        match self {
            Self::IoUring => {
                "containers and the sysctl kernel.io_uring_disabled often forbid it, and Linux 5.11 is needed; \
                 use libaio or leave io_engine out"
            }
            Self::Libaio => "the sysctl fs.aio-max-nr may be used up; use posix or leave io_engine out",
            Self::RecycleMap => {
                "it needs userfaultfd, which Linux 5.11 has and many containers forbid; use recycle, which works without"
            }
            Self::Posix | Self::Mmap | Self::Recycle => "leave io_engine out",
        }
    }
}

impl fmt::Display for IoEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
