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
}

impl IoEngine {
    /// Every engine, the best first.
    pub const ALL: [Self; 3] = [Self::IoUring, Self::Libaio, Self::Posix];

    /// The name in experiment files and flags.
    pub fn name(self) -> &'static str {
        match self {
            Self::Posix => "posix",
            Self::Libaio => "libaio",
            Self::IoUring => "io_uring",
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
            Self::Posix => "leave io_engine out",
        }
    }
}

impl fmt::Display for IoEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
