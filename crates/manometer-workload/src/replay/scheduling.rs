//! The scheduling of threads that wait for their requests' times.
//!
//! A thread that waits for the time of its request asks for real-time scheduling, so that it is woken at once. The
//! kernel takes a processor away from a real-time thread that leaves nothing of it to others for most of a second: one
//! that hardly sleeps first has the margin shrink, so that it sleeps between requests that are close together, and if
//! that does not help goes back to usual scheduling for a while, with the highest priority there.

use manometer_measure::Clock;

/// The lowest real-time priority: above all that is not real-time, below all else that is.
const PRIORITY: i32 = 1;
/// The highest usual priority.
const NICE: i32 = -20;
/// How long a thread is watched, and the share of that in which it has to leave its processor to others.
const WATCHED_NS: u64 = 100_000_000;
const LEFT_SHARE: f64 = 0.08;
/// For how many such stretches it may do without: the kernel gives others their share after ten of them.
const SLEEPLESS_MAX: u32 = 8;

/// The scheduling that a thread may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SchedulingClass {
    /// Real-time scheduling.
    RealTime,
    /// Only a higher usual priority.
    Nice,
    /// Neither.
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

    /// A description for people.
    pub(super) fn describe(self) -> &'static str {
        match self {
            Self::RealTime => "real-time (SCHED_FIFO), as far as there is time to sleep between requests",
            Self::Nice => "usual, at the highest priority: real-time scheduling is not allowed (CAP_SYS_NICE)",
            Self::Nothing => "usual: neither real-time scheduling nor a higher priority is allowed (CAP_SYS_NICE)",
        }
    }
}

/// A thread's scheduling.
#[derive(Debug)]
pub(super) struct ThreadScheduling {
    allowed: SchedulingClass,
    is_real_time: bool,
    since_ns: u64,
    /// The processor time that it had taken by then: all that it waits for, its answers too, is time that it leaves.
    taken_ns: u64,
    /// How many stretches in a row it has been real-time and hardly left its processor.
    sleepless: u32,
}

impl ThreadScheduling {
    /// That of a thread that does not wait for times.
    pub(super) fn none() -> Self {
        Self { allowed: SchedulingClass::Nothing, is_real_time: false, since_ns: 0, taken_ns: 0, sleepless: 0 }
    }

    /// All that this thread may ask for.
    pub(super) fn most(clock: &impl Clock) -> Self {
        let allowed = SchedulingClass::here();
        let is_real_time = allowed == SchedulingClass::RealTime;
        Self { allowed, is_real_time, since_ns: clock.now_ns(), taken_ns: taken_ns(), sleepless: 0 }
    }

    /// Checks at intervals how much processor time it leaves to others; returns whether it should sleep more.
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

/// The processor time that this thread has taken.
fn taken_ns() -> u64 {
    let taken = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    u64::try_from(taken.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(taken.tv_nsec).unwrap_or(0)
}

/// Puts this thread into real-time scheduling or back; threads that it starts stay out of it. Tells whether it could.
#[cfg(target_os = "linux")]
fn set_real_time(wanted: bool) -> bool {
    let (policy, sched_priority) = if wanted { (libc::SCHED_FIFO, PRIORITY) } else { (libc::SCHED_OTHER, 0) };
    let parameters = libc::sched_param { sched_priority };
    // SAFETY: the call only reads `parameters`, which live as long as it lasts; 0 is the calling thread.
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
                // It takes all of each stretch.
                let mut shall_sleep_more = |stretch: u64| scheduling.judge(stretch * WATCHED_NS, stretch * WATCHED_NS);
                assert!(shall_sleep_more(1));
                assert!((2..=8).all(|stretch| !shall_sleep_more(stretch)));
                assert!(scheduling.is_real_time);
                scheduling.judge(9 * WATCHED_NS, 9 * WATCHED_NS);
                assert!(!scheduling.is_real_time, "the kernel would stop it");
                scheduling.judge(10 * WATCHED_NS, 10 * WATCHED_NS);
                assert!(scheduling.is_real_time, "it tries again");
                // It took half, and waited for its times or for answers in the other.
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
