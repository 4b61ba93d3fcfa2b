//! The parameters of an `io` workload.

use manometer_measure::{ByteSize, Rate};
use manometer_target::file::IoEngine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::BlockReplaySettings;

/// Reads and writes of files of fixed size (`access_time3` of Lange 2023, section 3.4.2, Table 3.1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct IoSettings {
    /// Bytes of all files together; they are created and fully written before the run.
    pub file_size: ByteSize,
    /// How many files share `file_size`, in equal parts.
    pub files: u32,
    /// Bytes of each request; a multiple of the file system's block.
    pub block_size: ByteSize,
    /// The share of requests that write, 0 to 1; drawn for each request.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub write_ratio: f64,
    /// The share of requests that go to a uniformly random block, 0 to 1; the others go to the block after the last one.
    /// Drawn for each request.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub random_ratio: f64,
    /// Queue depth: requests in flight at once, 1 to 1024; 1 with `posix`, `mmap`, `recycle` and `recycle_map`.
    #[schemars(range(min = 1, max = 1024))]
    pub iodepth: u32,
    /// Whether to bypass the page cache (`O_DIRECT`); `mmap` never does, `recycle` and
    /// `recycle_map` always do, regardless of this setting.
    pub direct: bool,
    /// Whether each write waits until it is durable (`RWF_DSYNC`).
    pub dsync: bool,
    /// Calls `fdatasync` on a file after this many writes to it; 0 for never.
    pub fdatasync_every: u64,
    /// The most requests or bytes per second; default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// How requests reach the kernel; default: the best that this host allows, which is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io_engine: Option<IoEngine>,
    /// Most bytes of the files in memory at once, with `recycle` and `recycle_map`; default: 64MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<ByteSize>,
    /// A timetable of changes that starts with the first `go`: `"20m: iodepth = 2; 25m: write_ratio = 0.5"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// A recorded trace that replaces the pattern.
    #[serde(flatten)]
    pub replay: BlockReplaySettings,
}

impl IoSettings {
    /// Bytes of each file.
    pub fn bytes_each(&self) -> u64 {
        self.file_size.0 / u64::from(self.files.max(1))
    }

    /// The same workload on files shrunk to the share `factor`, in whole blocks for each file.
    pub fn shrunk(&self, factor: f64) -> Self {
        let unit = self.block_size.0 * u64::from(self.files.max(1));
        let units = (self.file_size.0 as f64 * factor / unit as f64) as u64;
        Self { file_size: ByteSize(units.max(1) * unit), ..self.clone() }
    }
}

impl Default for IoSettings {
    fn default() -> Self {
        Self {
            file_size: ByteSize(1 << 30),
            files: 1,
            block_size: ByteSize(4096),
            write_ratio: 0.0,
            random_ratio: 1.0,
            iodepth: 1,
            direct: true,
            dsync: false,
            fdatasync_every: 0,
            rate: None,
            io_engine: None,
            memory: None,
            script: None,
            replay: BlockReplaySettings::default(),
        }
    }
}
