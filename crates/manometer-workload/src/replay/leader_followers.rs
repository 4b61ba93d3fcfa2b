//! The leader/followers pattern for an open replay in which any thread may send the next request. One thread leads and
//! waits until the next request is due, one stands by, and the rest sleep.
//!
//! The leader sends the request itself, so that no request pays for a hand-over, and releases the lead just before. If
//! it returns before the next request is due, it leads again and no thread was woken in vain. If the engine delays it,
//! the stand-by thread, which wakes shortly before the next request is due, takes the lead and wakes another thread to
//! stand by.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};

use manometer_measure::{Clock, Dispatch};

use super::lane::Lane;
use super::request::ReplayRequest;
use super::schedule::Schedule;
use crate::kv::gate::Gate;

/// The longest sleep of the stand-by thread, which must look at the gate and at the end.
const GATE_POLL_NS: u64 = 10_000_000;

/// What the leader owns.
pub(super) struct LeaderState<'a> {
    pub(super) lane: Lane<'a, ReplayRequest>,
    pub(super) dispatch: Dispatch,
}

/// The lead and the threads that wait for it.
pub(super) struct LeaderFollowers<'a> {
    lead: Mutex<LeaderState<'a>>,
    standby: Mutex<()>,
    resting: Mutex<u32>,
    called: Condvar,
    /// When the next request that no thread has taken is due, since the schedule's zero; the maximum if unknown.
    next_due_ns: AtomicU64,
    over: AtomicBool,
}

impl<'a> LeaderFollowers<'a> {
    pub(super) fn new(lead: LeaderState<'a>) -> Self {
        Self {
            lead: Mutex::new(lead),
            standby: Mutex::new(()),
            resting: Mutex::new(0),
            called: Condvar::new(),
            next_due_ns: AtomicU64::new(0),
            over: AtomicBool::new(false),
        }
    }

    /// Waits for the lead. Returns `None` at the end.
    #[inline]
    pub(super) fn lead<C: Clock>(
        &self,
        clock: &C,
        gate: &Gate,
        turn: &mut u32,
        schedule: &Schedule,
    ) -> Option<MutexGuard<'_, LeaderState<'a>>> {
        loop {
            if self.over.load(Ordering::Acquire) {
                return None;
            }
            if let Some(lead) = free(&self.lead) {
                return Some(lead);
            }
            if let Some(standby) = free(&self.standby) {
                let lead = self.stand_by(clock, gate, turn, schedule);
                drop(standby);
                if lead.is_some() {
                    self.wake_one();
                }
                return lead;
            }
            self.rest();
        }
    }

    /// Publishes when the next request is due, so that the stand-by thread wakes in time.
    #[inline]
    pub(super) fn set_next_due(&self, lane: &Lane<'_, ReplayRequest>) {
        let due_ns = lane.peek().map_or(u64::MAX, |next| next.due_ns);
        self.next_due_ns.store(due_ns, Ordering::Relaxed);
    }

    /// The dispatch delays of all leaders together.
    pub(super) fn dispatch(self) -> Dispatch {
        self.lead.into_inner().unwrap_or_else(PoisonError::into_inner).dispatch
    }

    /// Ends all threads: no request is left, or the gate is stopped.
    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Release);
        let _resting = self.resting();
        self.called.notify_all();
    }

    /// Checks whenever a request is nearly due, and no more often than a thread can be woken, whether the lead is free.
    #[cold]
    fn stand_by<C: Clock>(
        &self,
        clock: &C,
        gate: &Gate,
        turn: &mut u32,
        schedule: &Schedule,
    ) -> Option<MutexGuard<'_, LeaderState<'a>>> {
        while !self.over.load(Ordering::Acquire) {
            if let Some(lead) = free(&self.lead) {
                return Some(lead);
            }
            if !gate.pass(turn) {
                return None;
            }
            let due_ns = schedule.zero_ns().saturating_add(self.next_due_ns.load(Ordering::Relaxed));
            let (now_ns, margin_ns) = (clock.now_ns(), schedule.margin_ns());
            clock.sleep_until(due_ns.saturating_sub(margin_ns).clamp(now_ns + margin_ns, now_ns + GATE_POLL_NS));
        }
        None
    }

    /// Sleeps until woken.
    #[cold]
    fn rest(&self) {
        let mut resting = self.resting();
        if self.over.load(Ordering::Acquire) || free(&self.standby).is_some() {
            return;
        }
        *resting += 1;
        drop(self.called.wait(resting).unwrap_or_else(PoisonError::into_inner));
    }

    /// Wakes one sleeping thread to stand by.
    #[cold]
    fn wake_one(&self) {
        let mut resting = self.resting();
        if *resting > 0 {
            *resting -= 1;
            self.called.notify_one();
        }
    }

    fn resting(&self) -> MutexGuard<'_, u32> {
        self.resting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Locks `held` if it is free.
#[inline]
fn free<T>(held: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match held.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

#[cfg(test)]
mod tests {
    use manometer_measure::MonotonicClock;
    use manometer_measure::dispatch::DispatchResolution;

    use super::*;
    use crate::kv::request::KvOperation;
    use crate::replay::lane::{LaneAssignment, enqueue, lanes};

    #[test]
    fn every_request_is_taken_once_whoever_leads() {
        const REQUESTS: u64 = 5_000;
        let (mut senders, receivers) = lanes(LaneAssignment::Single);
        for number in 0..REQUESTS {
            let request = ReplayRequest { number, ..ReplayRequest::of(KvOperation::Read, 0) };
            enqueue(&mut senders, 0, request).unwrap();
        }
        crate::replay::lane::flush(&mut senders).unwrap();
        drop(senders);
        let lead =
            LeaderState { lane: Lane::new(&receivers[0]), dispatch: Dispatch::new(DispatchResolution::new(1, 1)) };
        let (leader_followers, gate, schedule) =
            (LeaderFollowers::new(lead), Gate::default(), Schedule::new(20_000, 1));
        schedule.begin_at(0);
        gate.open();
        let taken = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..5 {
                scope.spawn(|| {
                    let mut turn = 0;
                    gate.pass(&mut turn);
                    while let Some(mut lead) = leader_followers.lead(&MonotonicClock, &gate, &mut turn, &schedule) {
                        let Some(request) = lead.lane.next() else {
                            drop(lead);
                            leader_followers.end();
                            return;
                        };
                        leader_followers.set_next_due(&lead.lane);
                        drop(lead);
                        taken.lock().unwrap().push(request.number);
                    }
                });
            }
        });
        let mut taken = taken.into_inner().unwrap();
        taken.sort_unstable();
        assert_eq!(taken, (0..REQUESTS).collect::<Vec<_>>());
    }
}
