//! Compaction: runs leave Level 0 by being appended to key ranges, and ranges that need it are rewritten.

mod deferred;
mod entry_buffer;
mod job;
mod partition;
mod passes;

pub(crate) use deferred::{overdue_ranges, run_deferred};
pub(crate) use entry_buffer::EntryBuffer;
pub(crate) use partition::partition;

use std::sync::Arc;

use crate::Result;
use crate::clock;
use crate::engine::Engine;
use crate::levels::{LiveRun, Range, Version, VersionUpdate};
use crate::plan::{
    CompactionChoice, KeySpan, Level0Run, RANGE_RUNS_MAX, choose_compaction, is_compaction_due, merge_partner,
};
use crate::run::Run;

/// Runs the next step of compacting Level 0, if that is due or `all` is set. Returns whether there was one. One thread
/// at a time.
pub(crate) fn compact_level0(engine: &Engine, all: bool) -> Result<bool> {
    let version = Arc::clone(&engine.superversion().version);
    let level0 = version.level0_runs();
    let batch_bytes = engine.options.plan.batch_bytes(version.level1_bytes());
    if level0.is_empty() || !(all || is_compaction_due(&level0, batch_bytes)) {
        return Ok(false);
    }
    let spans: Vec<KeySpan> = version.ranges.iter().map(|range| range.span.clone()).collect();
    let full = |range: usize| is_range_full(engine, &version.ranges[range]);
    let done = match choose_compaction(&level0, &spans, full, batch_bytes) {
        CompactionChoice::TrivialMove(run) => trivial_move(engine, &version, run),
        CompactionChoice::Link { run, range } => link_run(engine, &version, run, range),
        CompactionChoice::Append(runs) => append(engine, &version, &level0, &runs),
    };
    engine.poison_on_error(done).map(|()| true)
}

/// Merges the first small range that has a partner. Returns whether there was one.
pub(crate) fn merge_small_range(engine: &Engine) -> Result<bool> {
    let version = Arc::clone(&engine.superversion().version);
    let range_bytes: Vec<u64> = version.ranges.iter().map(|range| range.runs.bytes()).collect();
    let found = (0..range_bytes.len())
        .find_map(|small| Some((small, merge_partner(&engine.options.plan, &range_bytes, small)?)));
    let Some((small, neighbour)) = found else { return Ok(false) };
    engine.storage.fail_point("rebalance: before small ranges are merged");
    let done = job::rewrite_ranges(engine, &version, small.min(neighbour)..small.max(neighbour) + 1);
    engine.poison_on_error(done).map(|()| true)
}

/// Runs the next step of sorting data that is scanned often: Level 0 is compacted, or a range is rewritten in key
/// order. Returns whether there was one.
fn sort_scanned_data(engine: &Engine) -> Result<bool> {
    let version = Arc::clone(&engine.superversion().version);
    if version.should_sort_level0() {
        return compact_level0(engine, true);
    }
    let Some(number) = version.ranges.iter().position(|range| range.should_sort()) else { return Ok(false) };
    engine.storage.fail_point("rebalance: before a scanned range is sorted");
    engine.poison_on_error(job::rewrite_ranges(engine, &version, number..number + 1))?;
    Ok(true)
}

/// Rewrites every range that has more than one run.
pub(crate) fn rewrite_all_ranges(engine: &Engine) -> Result<()> {
    let version = Arc::clone(&engine.superversion().version);
    for range in version.ranges.iter().filter(|range| range.runs.list().len() > 1) {
        let version = Arc::clone(&engine.superversion().version);
        if let Some(number) = version.ranges.iter().position(|found| Arc::ptr_eq(found, range)) {
            engine.poison_on_error(job::rewrite_ranges(engine, &version, number..number + 1))?;
        }
    }
    Ok(())
}

/// Whether a range accepts no linked run: it must be rewritten first.
fn is_range_full(engine: &Engine, range: &Range) -> bool {
    let plan = &engine.options.plan;
    range.runs.list().len() >= RANGE_RUNS_MAX || range.runs.bytes() as f64 > plan.split_ratio * plan.range_bytes as f64
}

/// Appends runs to the ranges, and records the speed of that.
fn append(engine: &Engine, version: &Version, level0: &[Level0Run], runs: &[usize]) -> Result<()> {
    let bytes = runs.iter().map(|&run| level0[run].bytes).sum();
    let began = clock::now();
    job::append(engine, version, runs)?;
    // The speed of a small batch says little about large ones.
    if bytes >= engine.options.plan.memtable_bytes {
        engine.pressure.write_controller.record_compaction(bytes, (clock::now() - began).as_nanos() as u64);
    }
    Ok(())
}

fn trivial_move(engine: &Engine, version: &Version, run: usize) -> Result<()> {
    let run = &version.level0.list()[run];
    engine.storage.fail_point("compaction: before a trivial move");
    // A run of tombstones alone has nothing below that they could delete.
    let ranges_set = if run.entries == 0 {
        Vec::new()
    } else {
        let span = KeySpan { low: run.low.clone(), high: run.high.clone() };
        let runs = Range::empty_run_set().with_run(Arc::clone(run), &hashes(run)?, Range::EXPECTED_GROWTH);
        vec![Range::new(span, runs)]
    };
    let change = VersionUpdate { level0_dropped: vec![run.location()], ranges_set, ..VersionUpdate::default() };
    engine.publish(&change, None)?;
    engine.storage.fail_point("compaction: after a trivial move");
    Ok(())
}

fn link_run(engine: &Engine, version: &Version, run: usize, range: usize) -> Result<()> {
    let run = &version.level0.list()[run];
    let range = &version.ranges[range];
    engine.storage.fail_point("compaction: before a run is linked");
    let runs = range.runs.with_run(Arc::clone(run), &hashes(run)?, Range::EXPECTED_GROWTH);
    let change = VersionUpdate {
        level0_dropped: vec![run.location()],
        ranges_dropped: vec![range.span.low.clone()],
        ranges_set: vec![Range::new(range.span.clone(), runs)],
        ..VersionUpdate::default()
    };
    engine.publish(&change, None)?;
    engine.storage.fail_point("compaction: after a run is linked");
    Ok(())
}

fn hashes(run: &Arc<LiveRun>) -> Result<crate::run::HashColumn> {
    Ok(Run::open(Arc::clone(&run.file), run.footer)?.1)
}
