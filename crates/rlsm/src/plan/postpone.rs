//! How far a range may go beyond its limits while the device is better left alone.

use super::settings::PlanSettings;
use super::{Balance, Load, balance};

/// A range's size and its superseded part may come to so many times what they are rewritten at otherwise.
const EXCESS: f64 = 2.0;

/// Whether a range that is due to be rewritten can wait, so that what came is appended: it stays within bounds on space,
/// and on runs, which are what a read costs.
pub fn can_wait(settings: &PlanSettings, load: Load) -> bool {
    let wide = PlanSettings {
        split_ratio: EXCESS * settings.split_ratio,
        stale_ratio: EXCESS * settings.stale_ratio,
        ..*settings
    };
    balance(&wide, load) == Balance::Append
}

#[cfg(test)]
mod tests {
    use super::super::RANGE_RUNS_MAX;
    use super::*;

    const PLAN: PlanSettings =
        PlanSettings { memtable_bytes: 1 << 20, range_bytes: 2 << 20, split_ratio: 1.2, stale_ratio: 0.4 };

    /// In the middle of what the dice do.
    fn load(bytes: u64, stale_bytes: u64, runs: usize) -> Load {
        Load { bytes, stale_bytes, runs, dice: 1 << 63 }
    }

    #[test]
    fn what_is_due_can_wait_until_it_is_twice_as_bad() {
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
            assert_eq!(balance(&PLAN, load) != Balance::Append, is_due, "{load:?}");
            assert_eq!(can_wait(&PLAN, load), waits, "{load:?}");
        }
    }
}
