//! When a request is sent: closed loop, closed with think time, or open.

mod arrivals;

use manometer_measure::Clock;

pub(super) use self::arrivals::Arrivals;

use super::db_bench::Throttle;
use super::error::KvError;
use super::gate::Gate;
use super::rate::RateCurve;
use super::settings::{ArrivalKind, KvSettings};

/// The default queue length.
pub const QUEUE_USUAL: u32 = 10_000;
/// The longest queue: it is held in memory.
const QUEUE_MAX: u32 = 100_000_000;
/// The highest rate: generating arrivals must take much less time than passes.
pub const RATE_MAX: f64 = 5e6;
/// The longest sleep of a thread between two polls of the gate.
const GATE_POLL_NS: u64 = 10_000_000;

/// The loop that sends requests.
#[derive(Debug, Clone, PartialEq)]
pub enum PacePlan {
    /// Closed: each thread sends a request when its last was answered, as YCSB without `target`.
    Closed,
    /// Closed, with this think time in nanoseconds after each answer.
    Think(u64),
    /// Open: requests are due at their own times.
    Open(OpenLoop),
}

/// An open loop.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenLoop {
    /// The rate over time.
    pub curve: RateCurve,
    /// How arrivals follow one another.
    pub arrivals: ArrivalKind,
    /// How many may wait; an arrival that finds the queue full is dropped.
    pub queue: u32,
}

impl PacePlan {
    /// Resolves and checks the pacing of `settings`; reads the table that a rate names.
    pub(super) fn new(settings: &KvSettings) -> Result<Self, KvError> {
        let bad = |name, got: String, wanted| Err(KvError::BadSetting { name, got, wanted });
        match (&settings.rate, settings.think) {
            (Some(rate), Some(_)) => bad(
                "think",
                format!("together with `rate` = {rate}"),
                "write one of both: an open loop does not wait for answers",
            ),
            (Some(rate), None) => Self::open(rate.curve()?, settings),
            (None, Some(think)) => Ok(Self::Think(think.nanoseconds())),
            (None, None) => Ok(Self::Closed),
        }
    }

    /// An open loop along `curve`, the rest as `settings` say.
    pub(super) fn open(curve: RateCurve, settings: &KvSettings) -> Result<Self, KvError> {
        let bad = |name, got: String, wanted| Err(KvError::BadSetting { name, got, wanted });
        let queue = settings.queue.unwrap_or(QUEUE_USUAL);
        if queue == 0 || queue > QUEUE_MAX {
            return bad("queue", queue.to_string(), "write a number from 1 to 100 million");
        }
        if !(curve.highest() > 0.0 && curve.highest() <= RATE_MAX) {
            let wanted = "at its highest it is above 0 and at most 5 million requests per second";
            return bad("rate", curve.highest().to_string(), wanted);
        }
        Ok(Self::Open(OpenLoop { curve, arrivals: settings.arrivals, queue }))
    }

    /// The mean rate at which requests become due in the `length_s` seconds after `from_s`; `None` in a closed loop, and
    /// for no time at all.
    pub fn offered_rate(&self, from_s: f64, length_s: f64) -> Option<f64> {
        let Self::Open(open) = self else { return None };
        let due = open.curve.arrivals_by(from_s + length_s) - open.curve.arrivals_by(from_s);
        (length_s > 0.0).then(|| due / length_s)
    }

    /// `closed`, `closed with think time` or `open`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Think(_) => "closed with think time",
            Self::Open(_) => "open",
        }
    }
}

/// When a thread's next request is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DueTime {
    /// When it is sent.
    Now,
    /// At this moment, which may have passed.
    At(u64),
}

/// The pacing of one thread.
#[derive(Debug)]
pub(super) enum Pace<'a> {
    /// No wait.
    Closed,
    /// A think time after each answer.
    Think {
        /// How long.
        think_ns: u64,
        /// Until when now; 0 before the first request.
        until_ns: u64,
    },
    /// The next arrival.
    Open(&'a Arrivals),
    /// The limit of db_bench's background writer.
    Throttled(Throttle),
}

impl<'a> Pace<'a> {
    /// A thread's part in `plan`.
    pub(super) fn new(plan: &PacePlan, arrivals: &'a Arrivals) -> Self {
        match plan {
            PacePlan::Closed => Self::Closed,
            PacePlan::Think(think_ns) => Self::Think { think_ns: *think_ns, until_ns: 0 },
            PacePlan::Open(_) => Self::Open(arrivals),
        }
    }

    /// Waits until the next request is due; nothing when the thread must poll the gate first, because the opening `turn`
    /// may be over.
    #[inline]
    pub(super) fn next(&mut self, clock: &impl Clock, gate: &Gate, turn: u32) -> Option<DueTime> {
        match self {
            Self::Closed => Some(DueTime::Now),
            Self::Think { until_ns, .. } => sleep_until(*until_ns, clock, gate, turn).then_some(DueTime::Now),
            Self::Open(arrivals) => await_arrival(clock, gate, turn, arrivals),
            Self::Throttled(throttle) => throttle.wait(clock).then_some(DueTime::Now),
        }
    }

    /// The pacing of a background thread with its own limit, if any.
    pub(super) fn of_background(per_second: Option<f64>) -> Self {
        per_second.map_or(Self::Closed, |per_second| Self::Throttled(Throttle::new(per_second)))
    }

    /// A request was answered just now.
    #[inline]
    pub(super) fn answered(&mut self, clock: &impl Clock) {
        if let Self::Think { think_ns, until_ns } = self {
            *until_ns = clock.now_ns().saturating_add(*think_ns);
        }
    }
}

fn await_arrival(clock: &impl Clock, gate: &Gate, turn: u32, arrivals: &Arrivals) -> Option<DueTime> {
    let Some(arrival) = arrivals.take(clock.now_ns()) else {
        // No arrival follows before a change, which the gate shows.
        clock.sleep(GATE_POLL_NS);
        return None;
    };
    if sleep_until(arrival.due_ns, clock, gate, turn) {
        return Some(DueTime::At(arrival.due_ns));
    }
    arrivals.put_back(arrival);
    None
}

/// Sleeps in pieces; false when the gate closed before `until_ns`.
fn sleep_until(until_ns: u64, clock: &impl Clock, gate: &Gate, turn: u32) -> bool {
    loop {
        let now_ns = clock.now_ns();
        if now_ns >= until_ns {
            return true;
        }
        if !gate.is_open(turn) {
            return false;
        }
        clock.sleep_until(until_ns.min(now_ns + GATE_POLL_NS));
    }
}

/// Requests timely wake-ups of this thread: by default the kernel may delay them by 50 µs to save power.
pub(crate) fn wake_precisely() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1)) {
        tracing::warn!("the kernel keeps its timer slack, so that requests may begin some 50 µs late: {error}");
    }
}

#[cfg(test)]
#[path = "pace_tests.rs"]
mod tests;
