//! What need not be done at once, and is not while a neighbour squeezes the device.

use std::sync::Arc;

use super::{job, merge_small, sort_scanned};
use crate::Result;
use crate::core::Core;
use crate::levels::{Range, Version};
use crate::plan::{Balance, balance};

/// Does the next step of what can wait, and says whether there was one and it is time for it.
pub(crate) fn at_leisure(core: &Core) -> Result<bool> {
    core.pressure.look();
    core.memory.share(core.pressure.lean(), &core.cache);
    if core.pressure.is_squeezed() {
        return Ok(false);
    }
    Ok(rewrite_overdue(core)? || merge_small(core)? || sort_scanned(core)?)
}

/// The numbers of the ranges whose rewriting is due.
pub(crate) fn overdue<'a>(core: &'a Core, version: &'a Version) -> impl Iterator<Item = usize> + 'a {
    let is_overdue = move |range: &Arc<Range>| balance(&core.options.plan, job::load_of(range)) != Balance::Append;
    (0..version.ranges.len()).filter(move |&number| is_overdue(&version.ranges[number]))
}

/// Writes a range anew whose rewriting was put off.
fn rewrite_overdue(core: &Core) -> Result<bool> {
    let owed = core.pressure.owed();
    if owed == 0 {
        return Ok(false);
    }
    let version = Arc::clone(&core.view().version);
    let Some(number) = overdue(core, &version).next() else {
        core.pressure.pay(owed, 0);
        return Ok(false);
    };
    // However a range turns out, no more are rewritten than were put off.
    core.pressure.pay(owed, owed - 1);
    core.storage.reach("rebalance: before a range is rewritten that was put off");
    core.guard(job::rewrite_together(core, &version, number..number + 1)).map(|()| true)
}
