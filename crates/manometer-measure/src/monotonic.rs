//! `CLOCK_MONOTONIC` in nanoseconds.

use rustix::time::{ClockId, Timespec, clock_gettime};

/// The time now.
#[inline]
pub(crate) fn now_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// A time in nanoseconds: both clocks count up from zero and fit 64 bits until the year 2554.
pub(crate) fn nanoseconds(time: Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
