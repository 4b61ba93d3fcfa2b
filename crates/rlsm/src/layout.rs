//! What lies where, for tools.

use crate::Sequence;
use crate::levels::{LiveRun, Runs, Version};

/// The runs of a database and where they lie.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Layout {
    /// The runs of Level 0, from the oldest.
    pub level0: Vec<RunInfo>,
    /// The ranges of Level 1, in the order of their keys.
    pub ranges: Vec<RangeInfo>,
}

/// A key range of Level 1.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RangeInfo {
    /// The lowest key that it takes for its own.
    pub low: Box<[u8]>,
    /// The highest.
    pub high: Box<[u8]>,
    /// Its runs, from the oldest.
    pub runs: Vec<RunInfo>,
}

/// A run: entries that were written together.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunInfo {
    /// The file that it lies in.
    pub file: String,
    /// Where its footer begins there.
    pub footer_offset: u64,
    /// The versions of keys in it.
    pub entries: u64,
    /// How many of them are deletes.
    pub deletes: u64,
    /// Deletes of key ranges.
    pub range_deletes: u64,
    /// Keys and values of all entries, in bytes.
    pub user_bytes: u64,
    /// What it takes in the file, in bytes.
    pub stored_bytes: u64,
    /// The lowest key.
    pub low: Box<[u8]>,
    /// The highest key.
    pub high: Box<[u8]>,
    /// The numbers of its first and its last write.
    pub sequences: (Sequence, Sequence),
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

fn infos(runs: &Runs) -> Vec<RunInfo> {
    runs.list().iter().map(|run| info(run)).collect()
}

fn info(run: &LiveRun) -> RunInfo {
    RunInfo {
        file: run.file.name.clone(),
        footer_offset: run.footer.offset,
        entries: run.entries,
        deletes: run.deletes,
        range_deletes: run.range_deletes.len() as u64,
        user_bytes: run.user_bytes,
        stored_bytes: run.stored_bytes,
        low: run.low.clone(),
        high: run.high.clone(),
        sequences: run.sequences,
    }
}
