//! What a step is, what it writes, and how it is told.

use manometer_measure::ByteSize;
use serde::Serialize;

use crate::file::Precondition;

/// One step of a preparation.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    /// Free space is filled.
    Precondition {
        /// With what.
        kind: Precondition,
        /// How large the file is that fills it.
        file_bytes: u64,
        /// What it writes.
        bytes: u64,
    },
    /// The data of a workload are made; the primary then runs until it is steady.
    Data {
        /// The workload.
        workload: String,
        /// Whether its files are rewritten at random.
        rewrite: bool,
        /// How long it may run to settle, in seconds.
        settle_s: Option<f64>,
        /// What making the data writes, settling aside.
        bytes: u64,
    },
    /// The primary's database is kept.
    Snapshot {
        /// The workload.
        workload: String,
        /// What it writes at most, where files cannot be cloned.
        bytes: u64,
    },
    /// The primary's database is put back as it was kept.
    Restore {
        /// The workload.
        workload: String,
        /// What it writes.
        bytes: u64,
    },
}

impl Step {
    /// What it writes, as far as that is known before.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Precondition { bytes, .. }
            | Self::Data { bytes, .. }
            | Self::Snapshot { bytes, .. }
            | Self::Restore { bytes, .. } => *bytes,
        }
    }

    /// What it does, for people.
    pub fn text(&self) -> String {
        match self {
            Self::Precondition { kind: Precondition::Sequential, file_bytes, .. } => {
                format!("fill {:.0} MiB of free space twice in order", ByteSize(*file_bytes).mib())
            }
            Self::Precondition { file_bytes, .. } => {
                format!("fill {:.0} MiB of free space, then rewrite it at random", ByteSize(*file_bytes).mib())
            }
            Self::Data { workload, rewrite, settle_s, .. } => {
                let rewritten = if *rewrite { ", rewritten at random" } else { "" };
                let settled = settle_s.map(|seconds| format!(", then let it settle for at most {seconds:.0} s"));
                format!("make the data of `{workload}`{rewritten}{}", settled.unwrap_or_default())
            }
            Self::Snapshot { workload, .. } => format!("keep the database of `{workload}` as a snapshot"),
            Self::Restore { workload, .. } => format!("put the database of `{workload}` back as it was kept"),
        }
    }
}
