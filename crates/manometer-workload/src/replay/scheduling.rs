//! The scheduling class of threads that wait until their requests are due.
//!
//! Such a thread requests real-time scheduling, so that it is woken at once. The kernel throttles a real-time thread
//! that hardly leaves its processor to others for most of a second. A thread that hardly sleeps therefore first resets
//! the margin, so that it sleeps between requests that are close together; if that does not help, it returns to normal
//! scheduling with the highest priority for a while.

use manometer_measure::Clock;

/// The lowest real-time priority: above all normal threads, below all other real-time threads.
const PRIORITY: i32 = 1;
/// The highest normal priority.
const NICE: i32 = -20;
/// Length of an observation interval in nanoseconds, and the share of it that a thread must leave its processor to
/// others.
const WATCHED_NS: u64 = 100_000_000;
const LEFT_SHARE: f64 = 0.08;
/// How many intervals in a row a thread may leave less: the kernel throttles after ten.
const SLEEPLESS_MAX: u32 = 8;

/// The scheduling class of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SchedulingClass {
    /// Real-time scheduling.
    RealTime,
    /// Normal scheduling with a higher priority.
    Nice,
    /// Normal scheduling.
    Nothing,
}

impl SchedulingClass {
    /// Requests the best scheduling for this thread.
    pub(super) fn here() -> Self {
        let nice = rustix::process::setpriority_process(None, NICE).is_ok();
        if set_real_time(true) {
            Self::RealTime
        } else if nice {
            Self::Nice
        } else {
            Self::Nothing
        }
    }

    /// A description for the user.
    pub(super) fn describe(self) -> &'static str {
        match self {
            Self::RealTime => "real-time (SCHED_FIFO), as far as there is time to sleep between requests",
            Self::Nice => "usual, at the highest priority: real-time scheduling is not allowed (CAP_SYS_NICE)",
            Self::Nothing => "usual: neither real-time scheduling nor a higher priority is allowed (CAP_SYS_NICE)",
        }
    }
}

/// A thread's scheduling class and its use of the processor.
#[derive(Debug)]
pub(super) struct ThreadScheduling {
    allowed: SchedulingClass,
    is_real_time: bool,
    since_ns: u64,
    /// Processor time used up to then, in nanoseconds. Waiting, also for answers, uses none.
    taken_ns: u64,
    /// Intervals in a row in which the thread was real-time and hardly left its processor.
    sleepless: u32,
}

impl ThreadScheduling {
    /// The scheduling of a thread at full speed, which waits for no due times.
    pub(super) fn none() -> Self {
        Self { allowed: SchedulingClass::Nothing, is_real_time: false, since_ns: 0, taken_ns: 0, sleepless: 0 }
    }

    /// Requests the best scheduling class for this thread.
    pub(super) fn most(clock: &impl Clock) -> Self {
        let allowed = SchedulingClass::here();
        let is_real_time = allowed == SchedulingClass::RealTime;
        Self { allowed, is_real_time, since_ns: clock.now_ns(), taken_ns: taken_ns(), sleepless: 0 }
    }

    /// Checks at intervals how much processor time the thread leaves to others. Returns whether it should sleep more.
    #[inline]
    pub(super) fn watch(&mut self, now_ns: u64) -> bool {
        now_ns.saturating_sub(self.since_ns) >= WATCHED_NS && self.judge(now_ns, taken_ns())
    }

    #[cold]
    fn judge(&mut self, now_ns: u64, taken_ns: u64) -> bool {
        let share = 1.0 - taken_ns.saturating_sub(self.taken_ns) as f64 / (now_ns - self.since_ns) as f64;
        (self.since_ns, self.taken_ns) = (now_ns, taken_ns);
        self.sleepless = if self.is_real_time && share < LEFT_SHARE { self.sleepless + 1 } else { 0 };
        let wanted = self.sleepless <= SLEEPLESS_MAX;
        if self.allowed == SchedulingClass::RealTime && wanted != self.is_real_time && set_real_time(wanted) {
            self.is_real_time = wanted;
        }
        self.sleepless == 1
    }
}

/// Processor time used by this thread, in nanoseconds.
fn taken_ns() -> u64 {
    let taken = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    u64::try_from(taken.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(taken.tv_nsec).unwrap_or(0)
}

/// Switches this thread to real-time scheduling or back; its child threads stay out of it. Returns whether it
/// succeeded.
#[cfg(target_os = "linux")]
fn set_real_time(wanted: bool) -> bool {
    let (policy, sched_priority) = if wanted { (libc::SCHED_FIFO, PRIORITY) } else { (libc::SCHED_OTHER, 0) };
    let parameters = libc::sched_param { sched_priority };
    // SAFETY: the call only reads `parameters`, which outlives it; 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, policy | libc::SCHED_RESET_ON_FORK, &raw const parameters) == 0 }
}

#[cfg(not(target_os = "linux"))]
fn set_real_time(_: bool) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use manometer_testing::{Cause, skip};

    use super::*;

    #[test]
    fn who_hardly_sleeps_gives_real_time_up_and_gets_it_back() {
        let mut scheduling = ThreadScheduling {
            allowed: SchedulingClass::RealTime,
            is_real_time: true,
            since_ns: 0,
            taken_ns: 0,
            sleepless: 0,
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                if SchedulingClass::here() != SchedulingClass::RealTime {
                    skip(Cause::RealTime, "real-time scheduling is not allowed");
                    return;
                }
                assert!(!scheduling.watch(WATCHED_NS - 1), "it is not judged yet");
                // It uses all of each interval.
                let mut shall_sleep_more = |stretch: u64| scheduling.judge(stretch * WATCHED_NS, stretch * WATCHED_NS);
                assert!(shall_sleep_more(1));
                assert!((2..=8).all(|stretch| !shall_sleep_more(stretch)));
                assert!(scheduling.is_real_time);
                scheduling.judge(9 * WATCHED_NS, 9 * WATCHED_NS);
                assert!(!scheduling.is_real_time, "the kernel would stop it");
                scheduling.judge(10 * WATCHED_NS, 10 * WATCHED_NS);
                assert!(scheduling.is_real_time, "it tries again");
                // It used half, and waited in the other half.
                assert!(!scheduling.judge(11 * WATCHED_NS, 10 * WATCHED_NS + WATCHED_NS / 2));
                assert_eq!(scheduling.sleepless, 0);
            });
        });
    }

    #[test]
    fn every_scheduling_class_has_a_description() {
        for allowed in [SchedulingClass::RealTime, SchedulingClass::Nice, SchedulingClass::Nothing] {
            assert!(!allowed.describe().is_empty());
        }
    }
}
