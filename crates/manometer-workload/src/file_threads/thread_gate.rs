//! The gate of all threads, which each polls before a loop and before an operation.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// Holds threads, lets the first `active` of them work, or stops all.
#[derive(Debug)]
pub(crate) struct ThreadGate {
    going: AtomicBool,
    stopped: AtomicBool,
    /// How many threads may work.
    active: AtomicU32,
    lock: Mutex<()>,
    changed: Condvar,
}

impl ThreadGate {
    /// A closed gate for `active` threads.
    pub(crate) fn new(active: u32) -> Self {
        Self {
            going: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            active: AtomicU32::new(active),
            lock: Mutex::new(()),
            changed: Condvar::new(),
        }
    }

    pub(crate) fn set_going(&self, going: bool) {
        self.change(|| self.going.store(going, Ordering::Release));
    }

    /// Lets the first `active` threads work. The others complete their loop.
    pub(crate) fn set_active(&self, active: u32) {
        self.change(|| self.active.store(active, Ordering::Release));
    }

    /// Stops all threads, for good.
    pub(crate) fn stop(&self) {
        self.change(|| self.stopped.store(true, Ordering::Release));
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Waits until the thread `index` may start a loop; false once stopped.
    pub(crate) fn await_start(&self, index: u32) -> bool {
        self.wait(|| self.going.load(Ordering::Acquire) && index < self.active.load(Ordering::Acquire))
    }

    /// Waits until a thread may continue its loop; false once stopped. A thread thus returns its file even where the number of
    /// threads falls.
    pub(crate) fn await_go(&self) -> bool {
        self.wait(|| self.going.load(Ordering::Acquire))
    }

    fn wait(&self, may: impl Fn() -> bool) -> bool {
        if may() && !self.is_stopped() {
            return true;
        }
        let mut held = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        while !may() && !self.is_stopped() {
            held = self.changed.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
        !self.is_stopped()
    }

    fn change(&self, change: impl FnOnce()) {
        let held = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        change();
        drop(held);
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_beyond_the_active_wait_until_they_may_work_or_all_stop() {
        let gate = ThreadGate::new(1);
        gate.set_going(true);
        assert!(gate.await_start(0) && gate.await_go());
        std::thread::scope(|threads| {
            let second = threads.spawn(|| gate.await_start(1));
            let third = threads.spawn(|| gate.await_start(2));
            gate.set_active(2);
            assert!(second.join().unwrap());
            gate.stop();
            assert!(!third.join().unwrap());
        });
        assert!(!gate.await_start(0) && !gate.await_go());
    }

    #[test]
    fn a_pause_holds_everyone_and_ends() {
        let gate = ThreadGate::new(1);
        std::thread::scope(|threads| {
            let waiting = [threads.spawn(|| gate.await_start(0)), threads.spawn(|| gate.await_go())];
            gate.set_going(true);
            assert!(waiting.into_iter().all(|thread| thread.join().unwrap()));
        });
    }
}
