//! The rate that all threads keep together.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use manometer_measure::{Clock, Rate};

use super::thread_gate::ThreadGate;
use crate::io::token_bucket::TokenBucket;

/// The longest wait of a thread between two polls of the gate.
const GATE_POLL_NS: u64 = 10_000_000;

/// A token bucket that threads share, if there is a rate.
#[derive(Debug)]
pub(crate) struct Pace {
    limits: AtomicBool,
    bucket: Mutex<Option<TokenBucket>>,
}

impl Pace {
    pub(crate) fn new(rate: Option<Rate>, now_ns: u64) -> Self {
        let bucket = rate.map(|rate| TokenBucket::new(rate, now_ns));
        Self { limits: AtomicBool::new(bucket.is_some()), bucket: Mutex::new(bucket) }
    }

    /// Keeps `rate` from now on.
    pub(crate) fn change(&self, rate: Option<Rate>, now_ns: u64) {
        *self.lock() = rate.map(|rate| TokenBucket::new(rate, now_ns));
        self.limits.store(rate.is_some(), Ordering::Release);
    }

    /// Waits until an operation may start; false once the gate is stopped.
    pub(crate) fn wait(&self, clock: &dyn Clock, gate: &ThreadGate) -> bool {
        while self.limits.load(Ordering::Acquire) {
            let now_ns = clock.now_ns();
            let taken = self.lock().as_mut().map_or(Ok(()), |bucket| bucket.take(now_ns, 0));
            let Err(ready_ns) = taken else { return true };
            clock.sleep_until(ready_ns.min(now_ns + GATE_POLL_NS));
            if !gate.await_go() {
                return false;
            }
        }
        true
    }

    fn lock(&self) -> MutexGuard<'_, Option<TokenBucket>> {
        self.bucket.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use manometer_measure::ManualClock;

    use super::*;

    #[test]
    fn operations_begin_at_the_rate_and_freely_without_one() {
        let (clock, gate) = (ManualClock::at(1), ThreadGate::new(1));
        gate.set_going(true);
        let pace = Pace::new(Some(Rate::Requests(100.0)), clock.now_ns());
        assert!((0..1001).all(|_| pace.wait(&clock, &gate)));
        let passed_ns = clock.now_ns();
        assert!(passed_ns.abs_diff(10_000_000_000) <= 20_000_000, "{passed_ns}");
        pace.change(None, clock.now_ns());
        assert!((0..1000).all(|_| pace.wait(&clock, &gate)));
        assert_eq!(clock.now_ns(), passed_ns);
        pace.change(Some(Rate::Requests(1e-3)), clock.now_ns());
        assert!(pace.wait(&clock, &gate));
        gate.stop();
        assert!(!pace.wait(&clock, &gate), "no thread waits for a token of the next hour");
    }
}
