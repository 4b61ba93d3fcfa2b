//! The placement of runs, for tools.

use crate::SequenceNumber;
use crate::levels::{LiveRun, RunSet, Version};

/// The runs of a database by level and range.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Layout {
    /// The runs of Level 0, the oldest first.
    pub level0: Vec<RunInfo>,
    /// The ranges of Level 1, in key order.
    pub ranges: Vec<RangeInfo>,
}

/// A key range of Level 1.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RangeInfo {
    /// The lowest key of the range.
    pub low: Box<[u8]>,
    /// The highest key of the range.
    pub high: Box<[u8]>,
    /// The runs of the range, the oldest first.
    pub runs: Vec<RunInfo>,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunInfo {
    /// The name of its file.
    pub file: String,
    /// The offset of its footer in the file.
    pub footer_offset: u64,
    /// Number of versions of keys.
    pub entries: u64,
    /// How many of them are tombstones.
    pub deletes: u64,
    /// Number of range tombstones.
    pub range_tombstones: u64,
    /// Keys and values of all versions, in bytes.
    pub user_bytes: u64,
    /// Bytes that the run takes in the file.
    pub stored_bytes: u64,
    /// The lowest key.
    pub low: Box<[u8]>,
    /// The highest key.
    pub high: Box<[u8]>,
    /// The lowest and the highest sequence number.
    pub sequences: (SequenceNumber, SequenceNumber),
}

impl Layout {
    pub(crate) fn of(version: &Version) -> Self {
        let range = |range: &std::sync::Arc<crate::levels::Range>| RangeInfo {
            low: range.span.low.clone(),
            high: range.span.high.clone(),
            runs: infos(&range.runs),
        };
        Self { level0: infos(&version.level0), ranges: version.ranges.iter().map(range).collect() }
    }
}

fn infos(runs: &RunSet) -> Vec<RunInfo> {
    runs.list().iter().map(|run| info(run)).collect()
}

fn info(run: &LiveRun) -> RunInfo {
    RunInfo {
        file: run.file.name.clone(),
        footer_offset: run.footer.offset,
        entries: run.entries,
        deletes: run.deletes,
        range_tombstones: run.range_tombstones.len() as u64,
        user_bytes: run.user_bytes,
        stored_bytes: run.stored_bytes,
        low: run.low.clone(),
        high: run.high.clone(),
        sequences: run.sequences,
    }
}
