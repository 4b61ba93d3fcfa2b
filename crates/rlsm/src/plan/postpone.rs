//! Which rewrites can be postponed while the device is under pressure.

use super::settings::CompactionSettings;
use super::{RangeAction, RangeLoad, plan_range};

/// A range may exceed its size and its superseded part by this factor before its rewrite can no longer be postponed.
const POSTPONE_FACTOR: f64 = 2.0;

/// Whether the rewrite of a range can be postponed, so that new entries are appended instead. Bounds on space hold, and
/// the limit on runs, which is what a read costs.
pub fn can_postpone(settings: &CompactionSettings, load: RangeLoad) -> bool {
    let relaxed = CompactionSettings {
        split_ratio: POSTPONE_FACTOR * settings.split_ratio,
        stale_ratio: POSTPONE_FACTOR * settings.stale_ratio,
        ..*settings
    };
    plan_range(&relaxed, load) == RangeAction::Append
}

#[cfg(test)]
mod tests {
    use super::super::RANGE_RUNS_MAX;
    use super::*;

    const PLAN: CompactionSettings =
        CompactionSettings { memtable_bytes: 1 << 20, range_bytes: 2 << 20, split_ratio: 1.2, stale_ratio: 0.4 };

    /// With the middle of the jitter.
    fn load(bytes: u64, stale_bytes: u64, runs: usize) -> RangeLoad {
        RangeLoad { bytes, stale_bytes, runs, jitter: 1 << 63 }
    }

    #[test]
    fn a_rewrite_can_be_postponed_up_to_twice_its_threshold() {
        let split = PLAN.split_bytes(1 << 63);
        for (load, is_due, waits) in [
            (load(split, 0, 2), false, true),
            (load(split + 1, 0, 2), true, true),
            (load(2 * split + 2, 0, 2), true, false),
            (load(1_390_000, 390_000, 2), false, true),
            (load(1_410_000, 410_000, 2), true, true),
            (load(1_790_000, 790_000, 2), true, true),
            (load(1_810_000, 810_000, 2), true, false),
            (load(1 << 20, 0, RANGE_RUNS_MAX), false, true),
            (load(1 << 20, 0, RANGE_RUNS_MAX + 1), true, false),
        ] {
            assert_eq!(plan_range(&PLAN, load) != RangeAction::Append, is_due, "{load:?}");
            assert_eq!(can_postpone(&PLAN, load), waits, "{load:?}");
        }
    }
}
