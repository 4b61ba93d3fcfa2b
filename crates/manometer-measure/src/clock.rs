//! Clocks, passed as arguments.
//!
//! Every time in a recording is nanoseconds of `CLOCK_MONOTONIC`, which all processes of a host share. [`WallAnchor`] ties it
//! to the wall clock once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::monotonic::{self, nanoseconds};
use crate::stopwatch;

/// A clock to read and to wait on.
pub trait Clock: Send + Sync {
    /// Nanoseconds since an arbitrary fixed time; never runs backwards.
    fn now_ns(&self) -> u64;

    /// A stopwatch's reading: cheaper than [`now_ns`](Self::now_ns), and good for one difference only, by
    /// [`elapsed_ns`](Self::elapsed_ns).
    fn ticks(&self) -> u64 {
        self.now_ns()
    }

    /// Nanoseconds from the reading `start` to the reading `end` of [`ticks`](Self::ticks).
    fn elapsed_ns(&self, start: u64, end: u64) -> u64 {
        end.saturating_sub(start)
    }

    /// Waits until `deadline_ns`; returns at once if that has passed.
    fn sleep_until(&self, deadline_ns: u64);

    /// Waits until `deadline_ns` without yielding the processor, if that is more exact. Returns the time after that.
    fn spin_until(&self, deadline_ns: u64) -> u64 {
        self.sleep_until(deadline_ns);
        self.now_ns()
    }

    /// Waits for `ns` nanoseconds from now.
    fn sleep(&self, ns: u64) {
        self.sleep_until(self.now_ns().saturating_add(ns));
    }
}

/// The host's `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, Copy, Default)]
pub struct MonotonicClock;

impl Clock for MonotonicClock {
    #[inline]
    fn now_ns(&self) -> u64 {
        monotonic::now_ns()
    }

    #[inline]
    fn ticks(&self) -> u64 {
        stopwatch::ticks()
    }

    #[inline]
    fn elapsed_ns(&self, start: u64, end: u64) -> u64 {
        stopwatch::elapsed_ns(start, end)
    }

    #[inline]
    fn spin_until(&self, deadline_ns: u64) -> u64 {
        loop {
            let now_ns = self.now_ns();
            if now_ns >= deadline_ns {
                return now_ns;
            }
        }
    }

    #[expect(clippy::disallowed_methods, reason = "this is the clock that others wait on")]
    fn sleep_until(&self, deadline_ns: u64) {
        let left_ns = deadline_ns.saturating_sub(self.now_ns());
        if left_ns > 0 {
            std::thread::sleep(Duration::from_nanos(left_ns));
        }
    }
}

/// A clock that stands still unless it is advanced or waited on; for tests.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicU64);

impl ManualClock {
    /// A clock that shows `now_ns`.
    pub fn at(now_ns: u64) -> Self {
        Self(AtomicU64::new(now_ns))
    }

    /// Advances the clock by `ns`.
    pub fn advance(&self, ns: u64) {
        self.0.fetch_add(ns, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now_ns(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    fn sleep_until(&self, deadline_ns: u64) {
        self.0.fetch_max(deadline_ns, Ordering::SeqCst);
    }
}

/// One moment on the monotonic clock and the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WallAnchor {
    /// `CLOCK_MONOTONIC`, nanoseconds.
    pub monotonic_ns: u64,
    /// Nanoseconds since 1970-01-01T00:00:00Z.
    pub unix_ns: u64,
}

impl WallAnchor {
    /// Reads both clocks, one right after the other.
    pub fn now() -> Self {
        let monotonic_ns = MonotonicClock.now_ns();
        let unix_ns = nanoseconds(clock_gettime(ClockId::Realtime));
        Self { monotonic_ns, unix_ns }
    }

    /// Whole seconds since 1970-01-01T00:00:00Z.
    pub fn unix_s(self) -> u64 {
        self.unix_ns / 1_000_000_000
    }
}

/// The first multiple of `step_ns` after `t_ns`: the next tick of samples every `step_ns`.
pub fn next_tick_ns(t_ns: u64, step_ns: u64) -> u64 {
    (t_ns / step_ns + 1) * step_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_only_when_advanced() {
        let clock = ManualClock::at(5);
        assert_eq!(clock.now_ns(), 5);
        clock.sleep(10);
        clock.sleep_until(3);
        clock.advance(1);
        assert_eq!(clock.now_ns(), 16);
    }

    #[test]
    fn the_anchor_reads_the_wall_clock() {
        assert!(WallAnchor::now().unix_ns > 1_600_000_000_000_000_000);
    }
}
