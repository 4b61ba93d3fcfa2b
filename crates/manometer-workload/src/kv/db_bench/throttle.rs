//! The pace of the background writer: `benchmark_write_rate_limit`.

use manometer_measure::Clock;

/// The longest time between two looks at the gate.
const LOOK_NS: u64 = 10_000_000;
/// Who fell behind catches up with this much at most, the period in which db_bench fills up its limit.
const CATCH_UP_NS: u64 = 100_000_000;

/// Lets one request pass per interval.
#[derive(Debug, Clone)]
pub(in crate::kv) struct Throttle {
    interval_ns: u64,
    due_ns: u64,
}

impl Throttle {
    /// `per_second` requests.
    pub(in crate::kv) fn new(per_second: f64) -> Self {
        Self { interval_ns: (1e9 / per_second) as u64, due_ns: 0 }
    }

    /// Waits until the next request is due; false when it is time for a look at the gate first.
    pub(in crate::kv) fn wait(&mut self, clock: &impl Clock) -> bool {
        let now_ns = clock.now_ns();
        if now_ns < self.due_ns {
            clock.sleep_until(self.due_ns.min(now_ns + LOOK_NS));
            return false;
        }
        self.due_ns = self.due_ns.max(now_ns.saturating_sub(CATCH_UP_NS)) + self.interval_ns;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use manometer_measure::ManualClock;

    #[test]
    fn a_writer_keeps_its_pace_and_catches_up_a_little() {
        let clock = ManualClock::at(10_000_000_000);
        let mut throttle = Throttle::new(1000.0);
        let burst = (0..1000).take_while(|_| throttle.wait(&clock)).count();
        assert_eq!(burst, 101);
        let begin_ns = clock.now_ns();
        let passed = (0..1000).filter(|_| throttle.wait(&clock)).count() as u64;
        assert!((clock.now_ns() - begin_ns).abs_diff(passed * 1_000_000) <= 2_000_000);
    }
}
