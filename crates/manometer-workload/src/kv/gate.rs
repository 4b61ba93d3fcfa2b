//! The gate of client threads, which each polls before every request: open, closed or stopped.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

const WAIT: u32 = 0;
const STOP: u32 = 1;
/// Open, from this number on. Each opening has its own number, so that a thread that missed a pause still detects it.
const FIRST_TURN: u32 = 2;

/// Lets threads pass, holds them, or stops them.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    state: AtomicU32,
    changed: Condvar,
    held: Mutex<GateState>,
}

#[derive(Debug, Default)]
struct GateState {
    /// The number of the next opening, counted from [`FIRST_TURN`].
    openings: u32,
    /// How many threads wait.
    parked: u32,
}

impl Gate {
    /// Lets every thread pass.
    pub(crate) fn open(&self) {
        self.change(|GateState { openings, .. }| {
            *openings = openings.wrapping_add(1) % (u32::MAX - FIRST_TURN);
            FIRST_TURN + *openings
        });
    }

    /// Holds every thread before its next request.
    pub(crate) fn close(&self) {
        self.change(|_| WAIT);
    }

    /// Stops every thread, for good.
    pub(crate) fn stop(&self) {
        self.change(|_| STOP);
    }

    /// Waits while the gate is closed; false once it is stopped. `turn` is the caller's number of the opening, 0 at first.
    #[inline]
    pub(crate) fn pass(&self, turn: &mut u32) -> bool {
        self.is_open(*turn) || self.wait(turn)
    }

    /// Whether the opening `turn` still lasts.
    #[inline]
    pub(crate) fn is_open(&self, turn: u32) -> bool {
        let state = self.state.load(Ordering::Relaxed);
        state == turn && state >= FIRST_TURN
    }

    /// How many wait at the closed gate.
    pub(crate) fn parked(&self) -> u32 {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).parked
    }

    #[cold]
    fn wait(&self, turn: &mut u32) -> bool {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.parked += 1;
        while self.state.load(Ordering::Acquire) == WAIT {
            held = self.changed.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
        held.parked -= 1;
        *turn = self.state.load(Ordering::Acquire);
        *turn != STOP
    }

    fn change(&self, state: impl FnOnce(&mut GateState) -> u32) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if self.state.load(Ordering::Acquire) != STOP {
            self.state.store(state(&mut held), Ordering::Release);
        }
        drop(held);
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stopped_gate_stays_stopped() {
        let gate = Gate::default();
        gate.open();
        assert!(gate.pass(&mut 0));
        gate.stop();
        gate.open();
        assert!(!gate.pass(&mut 0));
    }

    #[test]
    fn a_waiting_thread_continues_when_the_gate_opens() {
        let gate = Gate::default();
        std::thread::scope(|threads| {
            let waiting = threads.spawn(|| gate.pass(&mut 0));
            while gate.parked() == 0 {
                std::thread::yield_now();
            }
            gate.open();
            assert!(waiting.join().unwrap());
            assert_eq!(gate.parked(), 0);
        });
    }

    #[test]
    fn a_missed_pause_is_detected() {
        let gate = Gate::default();
        gate.open();
        let mut turn = 0;
        assert!(gate.pass(&mut turn) && gate.is_open(turn));
        gate.close();
        gate.open();
        assert!(!gate.is_open(turn));
        let before = turn;
        assert!(gate.pass(&mut turn) && turn != before);
    }
}
