//! Versions of the levels: immutable, shared by all readers.

use std::sync::Arc;

use super::version_edit::{RangeRecord, VersionEdit};
use super::{LiveRun, RunLocation, RunSet};
use crate::SequenceNumber;
use crate::plan::{KeyPlacement, KeySpan, LEVEL0_RUNS_MAX, Level0Run, RANGE_RUNS_MAX, place_key};
use crate::run::{HashColumn, Order};

/// A key range of Level 1.
pub(crate) struct Range {
    pub span: KeySpan,
    pub runs: RunSet,
}

/// A version: Level 0 and the ranges of Level 1, which are disjoint and in key order.
#[derive(Clone)]
pub(crate) struct Version {
    pub level0: RunSet,
    pub ranges: Arc<Vec<Arc<Range>>>,
    /// Whether any run has a range tombstone.
    pub has_range_tombstones: bool,
}

/// The changes of a flush, a compaction, a link or a trivial move.
#[derive(Default)]
pub(crate) struct VersionUpdate {
    pub log: Option<u64>,
    pub flushed: Option<SequenceNumber>,
    pub level0_dropped: Vec<RunLocation>,
    pub level0_added: Option<(Arc<LiveRun>, HashColumn)>,
    /// The lowest keys of the ranges that are dropped. They are dropped before others are set.
    pub ranges_dropped: Vec<Box<[u8]>>,
    pub ranges_set: Vec<Arc<Range>>,
}

impl Version {
    /// Empty levels.
    pub fn empty() -> Self {
        Self { level0: RunSet::new(LEVEL0_RUNS_MAX as u8), ranges: Arc::default(), has_range_tombstones: false }
    }

    pub fn range_of(&self, key: &[u8]) -> Option<&Arc<Range>> {
        match place_key(&self.ranges, |range| &range.span, key) {
            KeyPlacement::Range(number) => Some(&self.ranges[number]),
            KeyPlacement::Gap(_) => None,
        }
    }

    /// All runs of both levels.
    pub fn runs(&self) -> impl Iterator<Item = &Arc<LiveRun>> {
        self.level0.list().iter().chain(self.ranges.iter().flat_map(|range| range.runs.list()))
    }

    pub fn level1_bytes(&self) -> u64 {
        self.ranges.iter().map(|range| range.runs.bytes()).sum()
    }

    /// Whether scans lost as much in Level 0 as compacting it now costs: it is read and written, and every range comes
    /// one run closer to a rewrite.
    pub fn should_sort_level0(&self) -> bool {
        let price = 2 * (self.level0.bytes() + self.level1_bytes() / RANGE_RUNS_MAX as u64);
        !self.level0.list().is_empty() && scan_cost(self.level0.list()) >= price
    }

    /// Level 0 as compaction decisions need it.
    pub fn level0_runs(&self) -> Vec<Level0Run> {
        let summary = |run: &Arc<LiveRun>| Level0Run {
            bytes: run.stored_bytes,
            entries: run.entries,
            span: run.span_with_deletes(),
        };
        self.level0.list().iter().map(summary).collect()
    }

    /// The version after `change`. `level0_growth` is the number of runs that Level 0 is expected to collect.
    pub fn updated(&self, change: &VersionUpdate, level0_growth: u64) -> Self {
        let mut level0 = self.level0.clone();
        if !change.level0_dropped.is_empty() {
            level0 = level0.without_runs(|run| change.level0_dropped.contains(&run));
        }
        if let Some((run, hashes)) = &change.level0_added {
            level0 = level0.with_run(Arc::clone(run), hashes, level0_growth);
        }
        let mut ranges = Arc::clone(&self.ranges);
        if !change.ranges_dropped.is_empty() || !change.ranges_set.is_empty() {
            ranges = Arc::new(self.ranges_after(change));
        }
        let mut version = Self { level0, ranges, has_range_tombstones: false };
        version.has_range_tombstones = version.any_range_tombstones();
        version
    }

    /// Whether any run has a range tombstone, by going through all of them.
    pub fn any_range_tombstones(&self) -> bool {
        let mut runs = self.ranges.iter().map(|range| &range.runs).chain([&self.level0]);
        runs.any(|runs| runs.range_tombstones().next().is_some())
    }

    fn ranges_after(&self, change: &VersionUpdate) -> Vec<Arc<Range>> {
        let dropped = |range: &&Arc<Range>| !change.ranges_dropped.contains(&range.span.low);
        let mut ranges: Vec<_> = self.ranges.iter().filter(dropped).chain(&change.ranges_set).cloned().collect();
        ranges.sort_by(|one, other| one.span.low.cmp(&other.span.low));
        debug_assert!(ranges.windows(2).all(|pair| pair[0].span.high < pair[1].span.low), "ranges overlap");
        ranges
    }

    /// The whole version as the first record of a new manifest.
    pub fn record(&self, log: u64, flushed: SequenceNumber, next_number: u64) -> VersionEdit {
        VersionEdit {
            log: Some(log),
            next_number,
            flushed: Some(flushed),
            level0_added: self.level0.list().iter().map(|run| run.location()).collect(),
            ranges_set: self.ranges.iter().map(|range| range.record()).collect(),
            ..VersionEdit::default()
        }
    }
}

impl Range {
    /// By which factor a range is expected to grow until it is rewritten.
    pub const EXPECTED_GROWTH: u64 = 2;

    /// An empty run set for a range, with slots to spare.
    pub fn empty_run_set() -> RunSet {
        RunSet::new(RANGE_RUNS_MAX as u8 * 2)
    }

    pub fn new(span: KeySpan, runs: RunSet) -> Arc<Self> {
        Arc::new(Self { span, runs })
    }

    /// Whether it was last written in key order. What is appended to it is then sorted too.
    pub fn is_sorted(&self) -> bool {
        self.runs.list().first().is_some_and(|run| run.order == Order::Key)
    }

    /// Whether scans are frequent enough to write it in key order next time.
    pub fn is_scanned(&self) -> bool {
        Self::is_scan_heavy(self.scan_cost(), self.runs.bytes())
    }

    /// Whether `bytes` of data with this scan cost are scanned often: one full scan is enough.
    pub fn is_scan_heavy(cost: u64, bytes: u64) -> bool {
        cost > bytes / 32
    }

    /// The scan cost of its runs.
    pub fn scan_cost(&self) -> u64 {
        scan_cost(self.runs.list())
    }

    /// The part of the scan cost that a rewritten range inherits: enough for one more rewrite in key order, then it
    /// fades.
    pub fn inherited_scan_cost(cost: u64, bytes: u64) -> u64 {
        cost.min(2 * bytes) / 4
    }

    /// Whether scans lost as much as writing the range as one run in key order costs. The cost of scanning such a run
    /// does not count.
    pub fn should_sort(&self) -> bool {
        let superfluous = scan_cost(&self.runs.list()[usize::from(self.is_sorted())..]);
        superfluous > 0 && superfluous >= 2 * self.runs.bytes()
    }

    pub fn record(&self) -> RangeRecord {
        RangeRecord { span: self.span.clone(), runs: self.runs.list().iter().map(|run| run.location()).collect() }
    }
}

fn scan_cost(runs: &[Arc<LiveRun>]) -> u64 {
    runs.iter().map(|run| run.scan_cost()).sum()
}

impl VersionUpdate {
    /// The change as a record of the manifest.
    pub fn record(&self, next_number: u64) -> VersionEdit {
        VersionEdit {
            log: self.log,
            next_number,
            flushed: self.flushed,
            level0_dropped: self.level0_dropped.clone(),
            level0_added: self.level0_added.iter().map(|(run, _)| run.location()).collect(),
            ranges_dropped: self.ranges_dropped.clone(),
            ranges_set: self.ranges_set.iter().map(|range| range.record()).collect(),
        }
    }
}
