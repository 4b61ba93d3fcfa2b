//! The time that passes, for what is counted.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// How long the machine has run, but for when it slept.
pub(crate) fn now() -> Duration {
    let time = clock_gettime(ClockId::Monotonic);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}
