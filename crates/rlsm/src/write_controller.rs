//! Back-pressure: delays writes while compaction is behind, a little at first and down to the speed of compaction in
//! the end, so that writes rarely stall.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::plan::LEVEL0_RUNS_MAX;

/// Writes are not delayed up to this debt, in compactions' worth of data in Level 0.
const DELAY_DEBT_MIN: f64 = 1.25;

/// From this debt on writes go no faster than compaction.
const FULL_DELAY_DEBT: f64 = 2.25;

/// The number of Level 0 runs that counts as one compaction's worth, so that full delay comes well before Level 0 has
/// no room and writes stall.
const RUNS_PER_COMPACTION: f64 = 0.3 * LEVEL0_RUNS_MAX as f64;

/// The part of the measured compaction speed that writes may use, so that the debt shrinks.
const RATE_MARGIN: f64 = 0.9;

/// Shorter delays are added to the next one: sleeping so briefly costs more than it helps.
const DELAY_NS_MIN: u64 = 500_000;

/// The longest single delay.
const DELAY_NS_MAX: u64 = 100_000_000;

/// The compaction debt and speed, and when the next write is due.
#[derive(Default)]
pub(crate) struct WriteController {
    /// Compactions' worth of data in Level 0, as the bits of an f64.
    debt: AtomicU64,
    /// Bytes of Level 0 that compaction drains per second, smoothed, as the bits of an f64; 0 while unknown.
    compaction_bytes_per_s: AtomicU64,
    due_ns: AtomicU64,
}

impl WriteController {
    /// Updates the debt: Level 0 holds this much, and a compaction takes `batch_bytes` of it.
    pub fn set_debt(&self, level0_bytes: u64, level0_runs: usize, batch_bytes: u64) {
        let debt = (level0_bytes as f64 / batch_bytes.max(1) as f64).max(level0_runs as f64 / RUNS_PER_COMPACTION);
        self.debt.store(debt.to_bits(), Ordering::Relaxed);
    }

    /// Whether writes are being delayed.
    pub fn is_delaying_writes(&self) -> bool {
        f64::from_bits(self.debt.load(Ordering::Relaxed)) > DELAY_DEBT_MIN
    }

    /// Records the speed of a compaction.
    pub fn record_compaction(&self, bytes: u64, took_ns: u64) {
        let speed = bytes as f64 * 1e9 / took_ns.max(1) as f64;
        let before = f64::from_bits(self.compaction_bytes_per_s.load(Ordering::Relaxed));
        let smoothed = if before == 0.0 { speed } else { 0.7 * before + 0.3 * speed };
        self.compaction_bytes_per_s.store(smoothed.to_bits(), Ordering::Relaxed);
    }

    /// The delay before a write of `bytes` at `now_ns`, in nanoseconds.
    pub fn delay_ns(&self, bytes: u64, now_ns: u64) -> u64 {
        let debt = f64::from_bits(self.debt.load(Ordering::Relaxed));
        let compaction = f64::from_bits(self.compaction_bytes_per_s.load(Ordering::Relaxed));
        if debt <= DELAY_DEBT_MIN || compaction == 0.0 {
            return 0;
        }
        let share = ((debt - DELAY_DEBT_MIN) / (FULL_DELAY_DEBT - DELAY_DEBT_MIN)).powi(2).min(4.0);
        let cost_ns = share * bytes as f64 * 1e9 / (RATE_MARGIN * compaction);
        let due = self.due_ns.load(Ordering::Relaxed).max(now_ns) + cost_ns as u64;
        self.due_ns.store(due, Ordering::Relaxed);
        match due - now_ns {
            short if short < DELAY_NS_MIN => 0,
            long => long.min(DELAY_NS_MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    /// Writes 1,000 times 1,000 bytes and returns the sum of the delays.
    fn total_delay_ns(debt_percent: u64) -> u64 {
        let controller = WriteController::default();
        controller.record_compaction(1_000_000, S);
        controller.set_debt(debt_percent, 1, 100);
        let mut now = S;
        for _ in 0..1000 {
            now += controller.delay_ns(1000, now);
        }
        now - S
    }

    #[test]
    fn writes_are_not_delayed_until_compaction_is_behind() {
        assert_eq!(total_delay_ns(125), 0);
        assert!(total_delay_ns(150) > 0);
    }

    #[test]
    fn delays_grow_smoothly_to_the_speed_of_compaction() {
        let waits: Vec<u64> = [130, 150, 175, 200, 225].map(total_delay_ns).into();
        assert!(waits.windows(2).all(|pair| pair[0] < pair[1]), "{waits:?}");
        assert!((1.0..1.2).contains(&(waits[4] as f64 / S as f64)), "{waits:?}");
    }

    #[test]
    fn the_number_of_runs_counts_as_debt() {
        let delay_ns = |runs| {
            let controller = WriteController::default();
            controller.record_compaction(1_000_000, S);
            controller.set_debt(100, runs, 1000);
            controller.delay_ns(10_000, S)
        };
        assert_eq!(delay_ns(LEVEL0_RUNS_MAX / 3), 0);
        assert!(delay_ns(LEVEL0_RUNS_MAX * 3 / 4) >= 10_000_000);
    }

    #[test]
    fn writes_are_not_delayed_before_the_first_compaction() {
        let controller = WriteController::default();
        controller.set_debt(500, 1, 100);
        assert_eq!(controller.delay_ns(1 << 30, S), 0);
    }

    #[test]
    fn a_delay_has_a_limit() {
        let controller = WriteController::default();
        controller.record_compaction(1, S);
        controller.set_debt(1000, 1, 100);
        assert_eq!(controller.delay_ns(1 << 30, S), DELAY_NS_MAX);
    }
}
