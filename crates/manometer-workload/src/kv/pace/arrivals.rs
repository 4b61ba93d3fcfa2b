//! Arrivals: requests that come at their own times, whether or not the engine keeps up.
//!
//! All threads share one queue, first come, first served. Arrivals are generated on each access, up to the present. That
//! drops exactly the arrivals that a queue filled in real time would have dropped: while no thread takes one, none leaves. A thread that finds nothing waiting takes the arrival that is next and
//! sleeps until it, so that each arrival wakes one thread.
//!
//! Arrivals have their own time, which stops during a pause; see `docs/pacing.md`.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rand_xoshiro::rand_core::Rng as _;

use super::{OpenLoop, PacePlan};
use crate::kv::distribution::{Random, stream};
use crate::kv::rate::RateCurve;
use crate::kv::settings::ArrivalKind;

/// Separates the seed of arrivals from that of the clients' choices.
const SEED: u64 = 0x6172_7269_7661_6c73;

/// The times at which requests come, in order, in nanoseconds since the process began.
#[derive(Debug)]
pub(super) struct ArrivalProcess {
    curve: RateCurve,
    kind: ArrivalKind,
    random: Random,
    /// Where the next arrival lies on Λ.
    at: f64,
}

impl ArrivalProcess {
    /// Constant arrivals begin at `first`.
    pub(super) fn new(curve: RateCurve, kind: ArrivalKind, first: f64, seed: u64) -> Self {
        let mut process = Self { curve, kind, random: stream(seed ^ SEED, 0), at: first };
        if kind == ArrivalKind::Poisson {
            process.at = process.gap();
        }
        process
    }

    /// Whether it is the process of `open`.
    fn matches(&self, open: &OpenLoop) -> bool {
        (&self.curve, self.kind) == (&open.curve, open.arrivals)
    }

    /// How far the next arrival on Λ is from the one before it.
    fn gap(&mut self) -> f64 {
        match self.kind {
            ArrivalKind::Constant => 1.0,
            // 53 random bits and a half: never 0, whose logarithm is none.
            ArrivalKind::Poisson => -(((self.random.next_u64() >> 11) as f64 + 0.5) * 2_f64.powi(-53)).ln(),
        }
    }

    /// The next arrival; the end of time once there is none.
    pub(super) fn next_ns(&mut self) -> u64 {
        let next_ns = self.curve.time_of(self.at).map_or(u64::MAX, |t_s| (t_s * 1e9).round() as u64);
        self.at += self.gap();
        next_ns
    }
}

/// One arrival, taken by a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arrival {
    /// When it is due, on the clock.
    pub(super) due_ns: u64,
    /// The same on the arrivals' own time.
    own_ns: u64,
    /// The number of its process.
    process: u32,
}

/// The arrivals of all threads.
#[derive(Debug, Default)]
pub(in crate::kv) struct Arrivals {
    /// Where the first of constant arrivals lies on Λ.
    first: f64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    process: Option<ArrivalProcess>,
    /// The number of the current process.
    number: u32,
    /// When the process began, on the arrivals' own time, and its next arrival on the same.
    began_ns: u64,
    next_ns: u64,
    /// In order. At most `limit` that are due, and in a pause those that sleeping threads gave back.
    waiting: VecDeque<u64>,
    limit: usize,
    dropped: u64,
    clock: ArrivalClock,
}

/// How the arrivals' own time follows from the clock's.
#[derive(Debug)]
enum ArrivalClock {
    /// It is stopped at this time.
    Stopped(u64),
    /// It runs, and was 0 at this time of the clock.
    Running(u64),
}

impl Default for ArrivalClock {
    fn default() -> Self {
        Self::Stopped(0)
    }
}

impl Arrivals {
    /// Arrivals of which the first of constant ones lies at `first` on Λ.
    pub(in crate::kv) fn starting_at(first: f64) -> Self {
        Self { first, state: Mutex::default() }
    }

    /// Puts `plan` into force at `now_ns`. Waiting arrivals keep waiting; future arrivals of the old plan are discarded,
    /// unless only the queue changes. Where the open loop ends, waiting arrivals are dropped.
    pub(in crate::kv) fn change(&self, plan: &PacePlan, seed: u64, now_ns: u64) {
        let mut state = self.lock();
        let own_ns = state.advance(now_ns);
        if let (PacePlan::Open(new), Some(process)) = (plan, &state.process)
            && process.matches(new)
        {
            state.limit = new.queue as usize;
            return;
        }
        state.number = state.number.wrapping_add(1);
        let due = state.waiting.partition_point(|arrival_ns| *arrival_ns <= own_ns);
        state.waiting.truncate(due);
        match plan {
            PacePlan::Open(OpenLoop { curve, arrivals, queue }) => {
                let mut process = ArrivalProcess::new(curve.clone(), *arrivals, self.first, seed);
                state.limit = *queue as usize;
                state.began_ns = own_ns;
                state.next_ns = own_ns.saturating_add(process.next_ns());
                state.process = Some(process);
            }
            PacePlan::Closed | PacePlan::Think(_) => {
                state.dropped += state.waiting.len() as u64;
                state.waiting.clear();
                state.process = None;
            }
        }
    }

    /// Starts the arrivals' own time at `now_ns`.
    pub(in crate::kv) fn resume(&self, now_ns: u64) {
        let mut state = self.lock();
        if let ArrivalClock::Stopped(own_ns) = state.clock {
            // The clock cannot show less than the elapsed time: it would have run backwards.
            state.clock = ArrivalClock::Running(now_ns.saturating_sub(own_ns));
        }
    }

    /// Stops the arrivals' own time at `now_ns`.
    pub(in crate::kv) fn pause(&self, now_ns: u64) {
        let mut state = self.lock();
        let own_ns = state.advance(now_ns);
        state.clock = ArrivalClock::Stopped(own_ns);
    }

    /// How many arrivals found the queue full by `now_ns`.
    pub(in crate::kv) fn dropped_by(&self, now_ns: u64) -> u64 {
        let mut state = self.lock();
        state.advance(now_ns);
        state.dropped
    }

    /// The next arrival, due or in the future; nothing where none follows or time is stopped.
    pub(super) fn take(&self, now_ns: u64) -> Option<Arrival> {
        let mut state = self.lock();
        state.advance(now_ns);
        let ArrivalClock::Running(zero_ns) = state.clock else { return None };
        let own_ns = state.waiting.pop_front().or_else(|| state.next())?;
        Some(Arrival { due_ns: zero_ns.saturating_add(own_ns), own_ns, process: state.number })
    }

    /// Puts back an arrival that was not due when the gate closed.
    pub(super) fn put_back(&self, arrival: Arrival) {
        let mut state = self.lock();
        if arrival.process == state.number {
            let place = state.waiting.partition_point(|other_ns| *other_ns <= arrival.own_ns);
            state.waiting.insert(place, arrival.own_ns);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Generates the arrivals up to `now_ns`, into the queue while it has room. Returns the arrivals' own time.
    fn advance(&mut self, now_ns: u64) -> u64 {
        let own_ns = match self.clock {
            ArrivalClock::Stopped(own_ns) => return own_ns,
            ArrivalClock::Running(zero_ns) => now_ns.saturating_sub(zero_ns),
        };
        while self.process.is_some() && self.next_ns <= own_ns {
            let Some(arrival_ns) = self.next() else { break };
            if self.waiting.len() < self.limit {
                self.waiting.push_back(arrival_ns);
            } else {
                self.dropped += 1;
            }
        }
        own_ns
    }

    /// The next arrival that is not in the queue.
    fn next(&mut self) -> Option<u64> {
        let began_ns = self.began_ns;
        let process = self.process.as_mut().filter(|_| self.next_ns < u64::MAX)?;
        let following_ns = began_ns.saturating_add(process.next_ns());
        Some(std::mem::replace(&mut self.next_ns, following_ns))
    }
}

#[cfg(test)]
#[path = "arrivals_tests.rs"]
mod tests;
