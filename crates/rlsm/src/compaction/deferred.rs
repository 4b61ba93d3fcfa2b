//! Maintenance that can wait, and is postponed while the device is under pressure.

use std::sync::Arc;

use super::{job, merge_small_range, sort_scanned_data};
use crate::Result;
use crate::engine::Engine;
use crate::levels::{Range, Version};
use crate::plan::{RangeAction, plan_range};

/// Runs the next deferred step. Returns `false` if there is none, or the device is under pressure.
pub(crate) fn run_deferred(engine: &Engine) -> Result<bool> {
    engine.pressure.poll();
    engine.memory.apply(engine.pressure.memory_shift(), &engine.cache);
    if engine.pressure.is_under_pressure() {
        return Ok(false);
    }
    Ok(rewrite_overdue_range(engine)? || merge_small_range(engine)? || sort_scanned_data(engine)?)
}

/// The indexes of the ranges that are due for a rewrite.
pub(crate) fn overdue_ranges<'a>(engine: &'a Engine, version: &'a Version) -> impl Iterator<Item = usize> + 'a {
    let is_overdue =
        move |range: &Arc<Range>| plan_range(&engine.options.plan, job::load_of(range)) != RangeAction::Append;
    (0..version.ranges.len()).filter(move |&number| is_overdue(&version.ranges[number]))
}

/// Rewrites a range whose rewrite was postponed.
fn rewrite_overdue_range(engine: &Engine) -> Result<bool> {
    let postponed_rewrites = engine.pressure.postponed_rewrites();
    if postponed_rewrites == 0 {
        return Ok(false);
    }
    let version = Arc::clone(&engine.superversion().version);
    let Some(number) = overdue_ranges(engine, &version).next() else {
        engine.pressure.settle_postponed(postponed_rewrites, 0);
        return Ok(false);
    };
    // Whatever becomes of the range, no more rewrites follow than were postponed.
    engine.pressure.settle_postponed(postponed_rewrites, postponed_rewrites - 1);
    engine.storage.fail_point("rebalance: before a postponed range is rewritten");
    engine.poison_on_error(job::rewrite_ranges(engine, &version, number..number + 1)).map(|()| true)
}
