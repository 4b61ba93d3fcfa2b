//! The pace of the background writer: `benchmark_write_rate_limit`.
//!
//! db_bench refills its limit ten times a second and lets the allowed requests pass at once: the writer wakes that often,
//! not for every request, and disturbs the readers that often.

use manometer_measure::Clock;

/// The longest time between two polls of the gate.
const GATE_POLL_NS: u64 = 10_000_000;
/// The refill period in nanoseconds: RocksDB's default.
const PERIOD_NS: u64 = 100_000_000;

/// Lets a number of requests pass per period.
#[derive(Debug, Clone)]
pub(in crate::kv) struct Throttle {
    per_period: f64,
    allowed: f64,
    refill_ns: u64,
}

impl Throttle {
    /// `per_second` requests.
    pub(in crate::kv) fn new(per_second: f64) -> Self {
        Self { per_period: per_second * PERIOD_NS as f64 / 1e9, allowed: 0.0, refill_ns: 0 }
    }

    /// Waits until the next request is allowed; false when the caller must poll the gate first.
    pub(in crate::kv) fn wait(&mut self, clock: &impl Clock) -> bool {
        if self.allowed < 1.0 {
            let now_ns = clock.now_ns();
            if now_ns < self.refill_ns {
                clock.sleep_until(self.refill_ns.min(now_ns + GATE_POLL_NS));
                return false;
            }
            // The unused rest is less than one request: a writer that fell behind does not catch up.
            self.allowed += self.per_period;
            self.refill_ns = now_ns + PERIOD_NS;
        }
        let passes = self.allowed >= 1.0;
        if passes {
            self.allowed -= 1.0;
        }
        passes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use manometer_measure::ManualClock;

    #[test]
    fn a_writer_keeps_its_pace_in_bursts() {
        for (per_second, burst) in [(1000.0, 100), (1005.0, 100), (5.0, 0)] {
            let clock = ManualClock::at(10_000_000_000);
            let mut throttle = Throttle::new(per_second);
            assert_eq!((0..1000).take_while(|_| throttle.wait(&clock)).count(), burst);
            let (begin_ns, mut passed) = (clock.now_ns(), burst);
            while clock.now_ns() < begin_ns + 10_000_000_000 {
                passed += usize::from(throttle.wait(&clock));
            }
            assert!((passed as f64 - 10.0 * per_second).abs() <= per_second / 10.0 + 1.0, "{passed} at {per_second}");
        }
    }
}
