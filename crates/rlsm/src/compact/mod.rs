//! Compaction: what leaves Level 0 is appended to key ranges, and ranges that need it are written anew.

mod job;
mod leisure;
mod partition;
mod pile;
mod slice;

pub(crate) use leisure::{at_leisure, overdue};
pub(crate) use partition::partition;
pub(crate) use pile::Pile;

use std::sync::Arc;

use crate::Result;
use crate::clock;
use crate::core::Core;
use crate::levels::{Change, LiveRun, Range, Version};
use crate::plan::{Choice, Flushed, RANGE_RUNS_MAX, Span, choose, compaction_is_due, lighter_neighbour};
use crate::run::Run;

/// Does the next step of compaction if Level 0 holds enough, or anything at all if `all` is set, and says whether there
/// was one. One thread at a time.
pub(crate) fn compact(core: &Core, all: bool) -> Result<bool> {
    let version = Arc::clone(&core.view().version);
    let level0 = version.flushed();
    let batch_bytes = core.options.plan.batch_bytes(version.level1_bytes());
    if level0.is_empty() || !(all || compaction_is_due(&level0, batch_bytes)) {
        return Ok(false);
    }
    let spans: Vec<Span> = version.ranges.iter().map(|range| range.span.clone()).collect();
    let full = |range: usize| is_full(core, &version.ranges[range]);
    let done = match choose(&level0, &spans, full, batch_bytes) {
        Choice::MoveDown(run) => move_down(core, &version, run),
        Choice::Link { run, range } => link(core, &version, run, range),
        Choice::Append(runs) => append(core, &version, &level0, &runs),
    };
    core.guard(done).map(|()| true)
}

/// Joins the first small range that fits its neighbour with it, and says whether there was one.
pub(crate) fn merge_small(core: &Core) -> Result<bool> {
    let version = Arc::clone(&core.view().version);
    let range_bytes: Vec<u64> = version.ranges.iter().map(|range| range.runs.bytes()).collect();
    let found = (0..range_bytes.len())
        .find_map(|small| Some((small, lighter_neighbour(&core.options.plan, &range_bytes, small)?)));
    let Some((small, neighbour)) = found else { return Ok(false) };
    core.storage.reach("rebalance: before small ranges are joined");
    let done = job::rewrite_together(core, &version, small.min(neighbour)..small.max(neighbour) + 1);
    core.guard(done).map(|()| true)
}

/// Does the next step of sorting what iterators ask for much, and says whether there was one: Level 0 is divided among
/// the ranges, and a range is written in the order of its keys.
fn sort_scanned(core: &Core) -> Result<bool> {
    let version = Arc::clone(&core.view().version);
    if version.level0_is_to_be_sorted() {
        return compact(core, true);
    }
    let Some(number) = version.ranges.iter().position(|range| range.is_to_be_sorted()) else { return Ok(false) };
    core.storage.reach("rebalance: before a scanned range is sorted");
    core.guard(job::rewrite_together(core, &version, number..number + 1))?;
    Ok(true)
}

/// Writes every range anew that holds more than one run or something superseded.
pub(crate) fn rewrite_all(core: &Core) -> Result<()> {
    let version = Arc::clone(&core.view().version);
    for range in version.ranges.iter().filter(|range| range.runs.list().len() > 1) {
        let version = Arc::clone(&core.view().version);
        if let Some(number) = version.ranges.iter().position(|found| Arc::ptr_eq(found, range)) {
            core.guard(job::rewrite_together(core, &version, number..number + 1))?;
        }
    }
    Ok(())
}

/// Whether a range takes no linked run: it has to be written anew first.
fn is_full(core: &Core, range: &Range) -> bool {
    let plan = &core.options.plan;
    range.runs.list().len() >= RANGE_RUNS_MAX || range.runs.bytes() as f64 > plan.split_ratio * plan.range_bytes as f64
}

/// Divides runs among the ranges, and takes note of how fast that went.
fn append(core: &Core, version: &Version, level0: &[Flushed], runs: &[usize]) -> Result<()> {
    let bytes = runs.iter().map(|&run| level0[run].bytes).sum();
    let began = clock::now();
    job::append(core, version, runs)?;
    // A small batch tells little of what many bytes take.
    if bytes >= core.options.plan.memtable_bytes {
        core.pressure.pace.drained(bytes, (clock::now() - began).as_nanos() as u64);
    }
    Ok(())
}

fn move_down(core: &Core, version: &Version, run: usize) -> Result<()> {
    let run = &version.level0.list()[run];
    core.storage.reach("compaction: before a run moves down");
    // A run of deletes alone has nothing below that it could delete.
    let ranges_set = if run.entries == 0 {
        Vec::new()
    } else {
        let span = Span { low: run.low.clone(), high: run.high.clone() };
        let runs = Range::no_runs().with(Arc::clone(run), &hashes(run)?, Range::GROWTH);
        vec![Range::new(span, runs)]
    };
    let change = Change { level0_dropped: vec![run.at()], ranges_set, ..Change::default() };
    core.publish(&change, None)?;
    core.storage.reach("compaction: after a run has moved down");
    Ok(())
}

fn link(core: &Core, version: &Version, run: usize, range: usize) -> Result<()> {
    let run = &version.level0.list()[run];
    let range = &version.ranges[range];
    core.storage.reach("compaction: before a run is linked");
    let runs = range.runs.with(Arc::clone(run), &hashes(run)?, Range::GROWTH);
    let change = Change {
        level0_dropped: vec![run.at()],
        ranges_dropped: vec![range.span.low.clone()],
        ranges_set: vec![Range::new(range.span.clone(), runs)],
        ..Change::default()
    };
    core.publish(&change, None)?;
    core.storage.reach("compaction: after a run is linked");
    Ok(())
}

fn hashes(run: &Arc<LiveRun>) -> Result<crate::run::Hashes> {
    Ok(Run::open(Arc::clone(&run.file), run.footer)?.1)
}
