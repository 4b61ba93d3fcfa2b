//! How writers are slowed down while compaction is behind: a little at first, and to its own speed in the end, so that
//! none of them ever stands still for long.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::plan::LEVEL0_RUNS_MAX;

/// Writers go free while Level 0 holds less than so many times what a compaction takes.
const FREE_DEBT: f64 = 1.25;

/// From here on they go no faster than compaction.
const FULL_DEBT: f64 = 2.25;

/// Runs of Level 0 that weigh like what a compaction takes, so that writers go no faster than compaction well before
/// Level 0 takes no more runs and they stand still.
const RUNS_OF_BATCH: f64 = 0.3 * LEVEL0_RUNS_MAX as f64;

/// How much of its measured speed compaction is thought to have, so that debt falls again.
const CAUTION: f64 = 0.9;

/// What is owed below this is not waited for yet: short waits cost more than they are worth.
const WAIT_NS_MIN: u64 = 500_000;

/// Never more at once than this.
const WAIT_NS_MAX: u64 = 100_000_000;

/// The speed of compaction, and when the next write is due.
#[derive(Default)]
pub(crate) struct Pace {
    /// How many compactions Level 0 holds work for, as an f64's bits.
    debt: AtomicU64,
    /// Bytes of Level 0 that compaction takes away in a second, smoothed, as an f64's bits; 0 while unknown.
    drain_bytes_per_s: AtomicU64,
    due_ns: AtomicU64,
}

impl Pace {
    /// Takes note of what Level 0 holds, of which a compaction takes `batch_bytes`.
    pub fn set_debt(&self, level0_bytes: u64, level0_runs: usize, batch_bytes: u64) {
        let debt = (level0_bytes as f64 / batch_bytes.max(1) as f64).max(level0_runs as f64 / RUNS_OF_BATCH);
        self.debt.store(debt.to_bits(), Ordering::Relaxed);
    }

    /// Whether writers are being slowed down.
    pub fn is_late(&self) -> bool {
        f64::from_bits(self.debt.load(Ordering::Relaxed)) > FREE_DEBT
    }

    /// Takes note of a compaction.
    pub fn drained(&self, bytes: u64, took_ns: u64) {
        let speed = bytes as f64 * 1e9 / took_ns.max(1) as f64;
        let before = f64::from_bits(self.drain_bytes_per_s.load(Ordering::Relaxed));
        let smoothed = if before == 0.0 { speed } else { 0.7 * before + 0.3 * speed };
        self.drain_bytes_per_s.store(smoothed.to_bits(), Ordering::Relaxed);
    }

    /// How long who is about to write `bytes` at `now_ns` has to wait first, in nanoseconds.
    pub fn wait_ns(&self, bytes: u64, now_ns: u64) -> u64 {
        let debt = f64::from_bits(self.debt.load(Ordering::Relaxed));
        let drain = f64::from_bits(self.drain_bytes_per_s.load(Ordering::Relaxed));
        if debt <= FREE_DEBT || drain == 0.0 {
            return 0;
        }
        let share = ((debt - FREE_DEBT) / (FULL_DEBT - FREE_DEBT)).powi(2).min(4.0);
        let cost_ns = share * bytes as f64 * 1e9 / (CAUTION * drain);
        let due = self.due_ns.load(Ordering::Relaxed).max(now_ns) + cost_ns as u64;
        self.due_ns.store(due, Ordering::Relaxed);
        match due - now_ns {
            short if short < WAIT_NS_MIN => 0,
            long => long.min(WAIT_NS_MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    /// Writes 1,000 times 1,000 bytes and returns how long all waits were.
    fn waited_ns(debt_percent: u64) -> u64 {
        let pace = Pace::default();
        pace.drained(1_000_000, S);
        pace.set_debt(debt_percent, 1, 100);
        let mut now = S;
        for _ in 0..1000 {
            now += pace.wait_ns(1000, now);
        }
        now - S
    }

    #[test]
    fn writers_go_free_until_compaction_is_behind() {
        assert_eq!(waited_ns(125), 0);
        assert!(waited_ns(150) > 0);
    }

    #[test]
    fn writers_slow_down_smoothly_to_the_speed_of_compaction() {
        let waits: Vec<u64> = [130, 150, 175, 200, 225].map(waited_ns).into();
        assert!(waits.windows(2).all(|pair| pair[0] < pair[1]), "{waits:?}");
        assert!((1.0..1.2).contains(&(waits[4] as f64 / S as f64)), "{waits:?}");
    }

    #[test]
    fn runs_that_level_0_has_no_room_for_are_debt_too() {
        let wait_ns = |runs| {
            let pace = Pace::default();
            pace.drained(1_000_000, S);
            pace.set_debt(100, runs, 1000);
            pace.wait_ns(10_000, S)
        };
        assert_eq!(wait_ns(LEVEL0_RUNS_MAX / 3), 0);
        assert!(wait_ns(LEVEL0_RUNS_MAX * 3 / 4) >= 10_000_000);
    }

    #[test]
    fn nothing_is_waited_for_before_a_compaction_was_seen() {
        let pace = Pace::default();
        pace.set_debt(500, 1, 100);
        assert_eq!(pace.wait_ns(1 << 30, S), 0);
    }

    #[test]
    fn no_wait_is_long() {
        let pace = Pace::default();
        pace.drained(1, S);
        pace.set_debt(1000, 1, 100);
        assert_eq!(pace.wait_ns(1 << 30, S), WAIT_NS_MAX);
    }
}
