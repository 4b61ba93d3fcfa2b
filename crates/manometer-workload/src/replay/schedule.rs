//! The schedule of a replay: when requests are due, and waiting until then. Threads sleep until shortly before and then
//! spin.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use manometer_measure::Clock;

use crate::kv::gate::Gate;

/// The longest time that a sleeping thread does not look at the gate, in nanoseconds.
const GATE_POLL_NS: u64 = 10_000_000;
/// The number of sleeps that calibrate the margin, and their lengths in nanoseconds: a processor wakes later from a
/// longer sleep.
const TRIALS: usize = 64;
const TRIALS_NS: [u64; 4] = [50_000, 200_000, 800_000, 3_200_000];
/// Range of the margin in nanoseconds. A machine that wakes threads later than that is too busy for spinning.
const MARGIN_NS: (u64, u64) = (5_000, 250_000);
/// By how much the margin grows after a wake-up later than the margin, and shrinks after any other, in nanoseconds. In
/// balance the margin covers 199 of 200 wake-ups.
const GROWTH_NS: u64 = 3_980;
const SHRINKAGE_NS: u64 = 20;

/// Converts the times of a trace to due times.
#[derive(Debug, Clone)]
pub(crate) struct DueTimes {
    factor: f64,
    first_ns: Option<u64>,
    latest_ns: u64,
    due_ns: u64,
}

impl DueTimes {
    /// Due times of a replay `factor` times as fast as recorded.
    pub(crate) fn new(factor: f64) -> Self {
        Self { factor, first_ns: None, latest_ns: 0, due_ns: 0 }
    }

    /// When the next request is due, in nanoseconds since the schedule's zero. A request without a time, or with one
    /// earlier than a time before it, is due with the request before it: requests stay in the order of the trace.
    #[inline]
    pub(crate) fn due_ns(&mut self, time_ns: Option<u64>) -> u64 {
        let Some(time_ns) = time_ns else { return self.due_ns };
        let first_ns = *self.first_ns.get_or_insert(time_ns);
        if time_ns > self.latest_ns {
            self.latest_ns = time_ns;
            let since_ns = time_ns.saturating_sub(first_ns);
            self.due_ns = if self.factor == 1.0 { since_ns } else { (since_ns as f64 / self.factor).round() as u64 };
        }
        self.due_ns
    }

    /// By how much `time_ns` is earlier than the latest time so far, in nanoseconds.
    pub(crate) fn behind_ns(&self, time_ns: u64) -> u64 {
        if self.first_ns.is_some() { self.latest_ns.saturating_sub(time_ns) } else { 0 }
    }
}

/// The schedule that all waiting threads share.
#[derive(Debug)]
pub(super) struct Schedule {
    /// The schedule's zero, on the clock.
    zero_ns: AtomicU64,
    /// How long before a request is due its thread wakes; 0 at full speed.
    margin_ns: AtomicU64,
    /// How many more threads may spin. More than there are processors would displace one another.
    spinners: AtomicU32,
}

/// When a request was due and when it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SendTime {
    /// The schedule's zero, on the clock.
    pub(super) zero_ns: u64,
    /// When the request is due, on the clock.
    pub(super) due_ns: u64,
    /// The time now, on the clock.
    pub(super) now_ns: u64,
}

impl Schedule {
    /// A schedule whose threads wake `margin_ns` early, `spinners` at a time.
    pub(super) fn new(margin_ns: u64, spinners: u32) -> Self {
        Self {
            zero_ns: AtomicU64::new(u64::MAX),
            margin_ns: AtomicU64::new(margin_ns),
            spinners: AtomicU32::new(spinners.max(1)),
        }
    }

    /// Whether the replay runs at full speed, without a schedule.
    pub(super) fn is_free(&self) -> bool {
        self.margin_ns() == 0
    }

    /// Sets the zero. Call only while the gate is closed.
    pub(super) fn begin_at(&self, zero_ns: u64) {
        self.zero_ns.store(zero_ns, Ordering::Release);
    }

    /// The schedule's zero, on the clock.
    pub(super) fn zero_ns(&self) -> u64 {
        self.zero_ns.load(Ordering::Acquire)
    }

    /// How long before a request is due its thread wakes.
    #[inline]
    pub(super) fn margin_ns(&self) -> u64 {
        self.margin_ns.load(Ordering::Relaxed)
    }

    /// Resets the margin to its minimum, so that threads sleep as long as they can. They may wake late until it has
    /// grown again.
    pub(super) fn shrink_margin(&self) {
        self.margin_ns.store(MARGIN_NS.0, Ordering::Relaxed);
    }

    /// Adjusts the margin after a thread woke `late_ns` after the time it asked for.
    #[inline]
    fn adjust_margin(&self, late_ns: u64) {
        let margin_ns = self.margin_ns();
        let next_ns = if late_ns > margin_ns { margin_ns + GROWTH_NS } else { margin_ns.saturating_sub(SHRINKAGE_NS) };
        self.margin_ns.store(next_ns.clamp(MARGIN_NS.0, MARGIN_NS.1), Ordering::Relaxed);
    }

    /// Waits until a request that is due `due_ns` after the zero is due. Returns `None` when the gate is stopped. Waits
    /// through a pause, which moves the zero.
    #[inline]
    pub(super) fn wait<C: Clock>(&self, due_ns: u64, clock: &C, gate: &Gate, turn: &mut u32) -> Option<SendTime> {
        loop {
            if !gate.pass(turn) {
                return None;
            }
            let zero_ns = self.zero_ns.load(Ordering::Acquire);
            let due_ns = zero_ns.saturating_add(due_ns);
            let now_ns = clock.now_ns();
            if now_ns >= due_ns {
                return Some(SendTime { zero_ns, due_ns, now_ns });
            }
            let margin_ns = self.margin_ns();
            if due_ns - now_ns > margin_ns {
                let until_ns = (due_ns - margin_ns).min(now_ns + GATE_POLL_NS);
                clock.sleep_until(until_ns);
                self.adjust_margin(clock.now_ns().saturating_sub(until_ns));
            } else if self.may_spin() {
                let now_ns = clock.spin_until(due_ns);
                self.spinners.fetch_add(1, Ordering::Relaxed);
                return Some(SendTime { zero_ns, due_ns, now_ns });
            } else {
                clock.sleep_until(due_ns);
            }
        }
    }

    #[inline]
    fn may_spin(&self) -> bool {
        let one_less = |left: u32| left.checked_sub(1);
        self.spinners.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok()
    }
}

/// Measures how early a thread must be woken on this host to be awake in time, in nanoseconds: the second longest delay
/// of some trials.
pub(crate) fn margin_ns(clock: &(impl Clock + ?Sized)) -> u64 {
    let late_ns = |trial: usize| {
        let until_ns = clock.now_ns() + TRIALS_NS[trial % TRIALS_NS.len()];
        clock.sleep_until(until_ns);
        clock.now_ns().saturating_sub(until_ns)
    };
    let mut late: Vec<u64> = (0..TRIALS).map(late_ns).collect();
    late.sort_unstable();
    late[TRIALS - 2].clamp(MARGIN_NS.0, MARGIN_NS.1)
}

#[cfg(test)]
mod tests {
    use manometer_measure::ManualClock;

    use super::*;

    #[test]
    fn times_that_go_back_or_lack_are_those_before_them() {
        let mut times = DueTimes::new(1.0);
        let given = [None, Some(1_000), Some(1_500), Some(1_200), None, Some(1_500), Some(2_000)];
        assert_eq!(given.map(|time| times.due_ns(time)), [0, 0, 500, 500, 500, 500, 1_000]);
        assert_eq!((times.behind_ns(1_400), times.behind_ns(2_500)), (600, 0));
    }

    #[test]
    fn a_factor_of_two_halves_the_span() {
        for (factor, due_ns) in [(2.0, 500), (0.5, 2_000), (3.0, 333)] {
            let mut times = DueTimes::new(factor);
            times.due_ns(Some(7_000));
            assert_eq!(times.due_ns(Some(8_000)), due_ns);
        }
        let mut times = DueTimes::new(1.0);
        times.due_ns(Some(u64::MAX - 5));
        assert_eq!(times.due_ns(Some(u64::MAX)), 5);
    }

    #[test]
    fn a_request_waits_for_its_time_and_a_late_one_not_at_all() {
        let (clock, gate, schedule) = (ManualClock::at(1_000), Gate::default(), Schedule::new(20_000, 1));
        schedule.begin_at(2_000);
        gate.open();
        let mut turn = 0;
        let mut wait = |due_ns| schedule.wait(due_ns, &clock, &gate, &mut turn).unwrap();
        assert_eq!(wait(25_000_000), SendTime { zero_ns: 2_000, due_ns: 25_002_000, now_ns: 25_002_000 });
        assert_eq!(wait(0), SendTime { zero_ns: 2_000, due_ns: 2_000, now_ns: 25_002_000 });
        gate.stop();
        assert_eq!(schedule.wait(50_000_000, &clock, &gate, &mut turn), None);
    }

    #[test]
    fn the_margin_follows_how_late_threads_wake_within_bounds() {
        assert_eq!(margin_ns(&ManualClock::at(0)), MARGIN_NS.0);
        let schedule = Schedule::new(50_000, 1);
        schedule.adjust_margin(60_000);
        assert_eq!(schedule.margin_ns(), 53_980);
        (0..199).for_each(|_| schedule.adjust_margin(10_000));
        assert_eq!(schedule.margin_ns(), 50_000);
        (0..1_000).for_each(|_| schedule.adjust_margin(u64::MAX));
        assert_eq!(schedule.margin_ns(), MARGIN_NS.1);
        (0..100_000).for_each(|_| schedule.adjust_margin(0));
        assert_eq!(schedule.margin_ns(), MARGIN_NS.0);
    }
}
