//! One step of a preparation: its kind, the bytes that it writes, and its description.

use manometer_measure::ByteSize;
use serde::Serialize;

use crate::definition::Precondition;

/// One step of a preparation.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum PrepareStep {
    /// Fills the free space.
    Precondition {
        /// How.
        kind: Precondition,
        /// The size of the file that fills it.
        file_bytes: u64,
        /// The bytes that it writes.
        bytes: u64,
    },
    /// Creates the data of a workload. The primary then runs until it is steady.
    Data {
        /// The workload.
        workload: String,
        /// Whether its files are rewritten with random writes.
        rewrite: bool,
        /// The time limit of settling, in seconds.
        settle_s: Option<f64>,
        /// The bytes that creating the data writes, without settling.
        bytes: u64,
    },
    /// Creates a snapshot of the primary's database.
    Snapshot {
        /// The workload.
        workload: String,
        /// The maximum number of bytes that it writes, where files cannot be cloned.
        bytes: u64,
    },
    /// Restores the primary's database from its snapshot.
    Restore {
        /// The workload.
        workload: String,
        /// The bytes that it writes.
        bytes: u64,
    },
}

impl PrepareStep {
    /// The bytes that it writes, as far as they are known in advance.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Precondition { bytes, .. }
            | Self::Data { bytes, .. }
            | Self::Snapshot { bytes, .. }
            | Self::Restore { bytes, .. } => *bytes,
        }
    }

    /// Describes the step.
    pub fn describe(&self) -> String {
        match self {
            Self::Precondition { kind: Precondition::Sequential, file_bytes, .. } => {
                format!("fill {:.0} MiB of free space twice sequentially", ByteSize(*file_bytes).mib())
            }
            Self::Precondition { file_bytes, .. } => {
                format!("fill {:.0} MiB of free space, then rewrite it with random writes", ByteSize(*file_bytes).mib())
            }
            Self::Data { workload, rewrite, settle_s, .. } => {
                let rewritten = if *rewrite { ", rewrite them with random writes" } else { "" };
                let settled = settle_s.map(|seconds| format!(", let it settle for at most {seconds:.0} s"));
                format!("create the data of `{workload}`{rewritten}{}", settled.unwrap_or_default())
            }
            Self::Snapshot { workload, .. } => format!("create a snapshot of the database of `{workload}`"),
            Self::Restore { workload, .. } => format!("restore the database of `{workload}` from its snapshot"),
        }
    }
}
