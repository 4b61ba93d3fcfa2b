//! The levels at one moment: immutable, shared by all who read them.

use std::sync::Arc;

use super::edit::{Edit, RangeRecord};
use super::{LiveRun, RunRef, Runs};
use crate::Sequence;
use crate::plan::{Flushed, LEVEL0_RUNS_MAX, Place, RANGE_RUNS_MAX, Span, place};
use crate::run::{Hashes, Order};

/// A key range of Level 1.
pub(crate) struct Range {
    pub span: Span,
    pub runs: Runs,
}

/// Level 0 and the ranges of Level 1, which are disjoint and ordered by key.
#[derive(Clone)]
pub(crate) struct Version {
    pub level0: Runs,
    pub ranges: Arc<Vec<Arc<Range>>>,
    /// Whether a run anywhere deletes a range of keys.
    pub has_range_deletes: bool,
}

/// What a flush, a compaction or a link changes.
#[derive(Default)]
pub(crate) struct Change {
    pub log: Option<u64>,
    pub flushed: Option<Sequence>,
    pub level0_dropped: Vec<RunRef>,
    pub level0_added: Option<(Arc<LiveRun>, Hashes)>,
    /// By their lowest keys, before the change.
    pub ranges_dropped: Vec<Box<[u8]>>,
    pub ranges_set: Vec<Arc<Range>>,
}

impl Version {
    /// Nothing yet.
    pub fn empty() -> Self {
        Self { level0: Runs::new(LEVEL0_RUNS_MAX as u8), ranges: Arc::default(), has_range_deletes: false }
    }

    pub fn range_of(&self, key: &[u8]) -> Option<&Arc<Range>> {
        match place(&self.ranges, |range| &range.span, key) {
            Place::Range(number) => Some(&self.ranges[number]),
            Place::Gap(_) => None,
        }
    }

    /// All runs of both levels.
    pub fn runs(&self) -> impl Iterator<Item = &Arc<LiveRun>> {
        self.level0.list().iter().chain(self.ranges.iter().flat_map(|range| range.runs.list()))
    }

    pub fn level1_bytes(&self) -> u64 {
        self.ranges.iter().map(|range| range.runs.bytes()).sum()
    }

    /// Whether Level 0 cost iterators as much as compacting it now would: it is read and written, and brings all ranges
    /// one run nearer to being written anew.
    pub fn level0_is_to_be_sorted(&self) -> bool {
        let price = 2 * (self.level0.bytes() + self.level1_bytes() / RANGE_RUNS_MAX as u64);
        !self.level0.list().is_empty() && scan_cost(self.level0.list()) >= price
    }

    /// Level 0 as decisions see it.
    pub fn flushed(&self) -> Vec<Flushed> {
        let summary = |run: &Arc<LiveRun>| Flushed {
            bytes: run.stored_bytes,
            entries: run.entries,
            span: run.span_with_deletes(),
        };
        self.level0.list().iter().map(summary).collect()
    }

    /// The version after `change`; `level0_growth` is how many runs Level 0 is expected to gather.
    pub fn changed(&self, change: &Change, level0_growth: u64) -> Self {
        let mut level0 = self.level0.clone();
        if !change.level0_dropped.is_empty() {
            level0 = level0.without(|run| change.level0_dropped.contains(&run));
        }
        if let Some((run, hashes)) = &change.level0_added {
            level0 = level0.with(Arc::clone(run), hashes, level0_growth);
        }
        let mut ranges = Arc::clone(&self.ranges);
        if !change.ranges_dropped.is_empty() || !change.ranges_set.is_empty() {
            ranges = Arc::new(self.ranges_after(change));
        }
        let mut version = Self { level0, ranges, has_range_deletes: false };
        version.has_range_deletes = version.any_range_deletes();
        version
    }

    /// Whether a run anywhere deletes a range of keys, looked up in all of them.
    pub fn any_range_deletes(&self) -> bool {
        let mut runs = self.ranges.iter().map(|range| &range.runs).chain([&self.level0]);
        runs.any(|runs| runs.range_deletes().next().is_some())
    }

    fn ranges_after(&self, change: &Change) -> Vec<Arc<Range>> {
        let dropped = |range: &&Arc<Range>| !change.ranges_dropped.contains(&range.span.low);
        let mut ranges: Vec<_> = self.ranges.iter().filter(dropped).chain(&change.ranges_set).cloned().collect();
        ranges.sort_by(|one, other| one.span.low.cmp(&other.span.low));
        debug_assert!(ranges.windows(2).all(|pair| pair[0].span.high < pair[1].span.low), "ranges overlap");
        ranges
    }

    /// All of it as one record of a new manifest.
    pub fn record(&self, log: u64, flushed: Sequence, next_number: u64) -> Edit {
        Edit {
            log: Some(log),
            next_number,
            flushed: Some(flushed),
            level0_added: self.level0.list().iter().map(|run| run.at()).collect(),
            ranges_set: self.ranges.iter().map(|range| range.record()).collect(),
            ..Edit::default()
        }
    }
}

impl Range {
    /// How much a range is expected to grow until it is written anew.
    pub const GROWTH: u64 = 2;

    /// The runs of a range that has none yet. A link may bring one more than an append.
    pub fn no_runs() -> Runs {
        Runs::new(RANGE_RUNS_MAX as u8 * 2)
    }

    pub fn new(span: Span, runs: Runs) -> Arc<Self> {
        Arc::new(Self { span, runs })
    }

    /// Whether it was last written in the order of its keys: what is appended to it is, too.
    pub fn is_sorted(&self) -> bool {
        self.runs.list().first().is_some_and(|run| run.order == Order::Key)
    }

    /// Whether iterators come here, so that it is to be written in the order of its keys next time.
    pub fn is_scanned(&self) -> bool {
        Self::is_scanned_for(self.scan_cost(), self.runs.bytes())
    }

    /// Whether so many bytes are scanned that cost iterators so much: one scan of all of them is enough.
    pub fn is_scanned_for(cost: u64, bytes: u64) -> bool {
        cost > bytes / 32
    }

    /// What its runs cost iterators.
    pub fn scan_cost(&self) -> u64 {
        scan_cost(self.runs.list())
    }

    /// What of `cost` is remembered when a run of so many bytes is written in place of those that caused it: enough for
    /// another rewriting in the order of keys, not for ever.
    pub fn remembered(cost: u64, bytes: u64) -> u64 {
        cost.min(2 * bytes) / 4
    }

    /// Whether it cost iterators as much as writing all of it as one run in the order of keys would have: what they pay
    /// for such a run does not count.
    pub fn is_to_be_sorted(&self) -> bool {
        let superfluous = scan_cost(&self.runs.list()[usize::from(self.is_sorted())..]);
        superfluous > 0 && superfluous >= 2 * self.runs.bytes()
    }

    pub fn record(&self) -> RangeRecord {
        RangeRecord { span: self.span.clone(), runs: self.runs.list().iter().map(|run| run.at()).collect() }
    }
}

fn scan_cost(runs: &[Arc<LiveRun>]) -> u64 {
    runs.iter().map(|run| run.scan_cost()).sum()
}

impl Change {
    /// The change as a record of the manifest.
    pub fn record(&self, next_number: u64) -> Edit {
        Edit {
            log: self.log,
            next_number,
            flushed: self.flushed,
            level0_dropped: self.level0_dropped.clone(),
            level0_added: self.level0_added.iter().map(|(run, _)| run.at()).collect(),
            ranges_dropped: self.ranges_dropped.clone(),
            ranges_set: self.ranges_set.iter().map(|range| range.record()).collect(),
        }
    }
}
