//! Go, wait, stop: what every client thread looks at before each request.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

const WAIT: u8 = 0;
const GO: u8 = 1;
const STOP: u8 = 2;

/// Lets threads pass, holds them, or sends them home.
#[derive(Debug, Default)]
pub(super) struct Gate {
    state: AtomicU8,
    changed: Condvar,
    lock: Mutex<()>,
}

impl Gate {
    /// Lets every thread pass.
    pub(super) fn open(&self) {
        self.change(GO);
    }

    /// Holds every thread before its next request.
    pub(super) fn close(&self) {
        self.change(WAIT);
    }

    /// Sends every thread home, for good.
    pub(super) fn stop(&self) {
        self.change(STOP);
    }

    /// Waits while the gate is closed; false when it is time to go home.
    #[inline]
    pub(super) fn pass(&self) -> bool {
        self.state.load(Ordering::Relaxed) == GO || self.wait()
    }

    #[cold]
    fn wait(&self) -> bool {
        let mut held = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        while self.state.load(Ordering::Acquire) == WAIT {
            held = self.changed.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
        self.state.load(Ordering::Acquire) == GO
    }

    fn change(&self, state: u8) {
        let held = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        if self.state.load(Ordering::Acquire) != STOP {
            self.state.store(state, Ordering::Release);
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
        assert!(gate.pass());
        gate.stop();
        gate.open();
        assert!(!gate.pass());
    }

    #[test]
    fn who_waits_goes_on_when_the_gate_opens() {
        let gate = Gate::default();
        std::thread::scope(|threads| {
            let waiting = threads.spawn(|| gate.pass());
            gate.open();
            assert!(waiting.join().unwrap());
        });
    }
}
