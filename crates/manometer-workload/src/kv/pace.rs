//! When a request is sent.

use manometer_measure::Clock;

/// When a thread's next request is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// As soon as the one before it was answered.
    Now,
}

/// What makes a thread wait before its next request.
#[derive(Debug)]
pub(super) enum Pace {
    /// Nothing: a closed loop, as YCSB's.
    Closed,
}

impl Pace {
    /// Waits until the next request is due; nothing when the thread is to look at the gate first.
    #[inline]
    pub(super) fn next(&mut self, _clock: &impl Clock) -> Option<Due> {
        match self {
            Self::Closed => Some(Due::Now),
        }
    }
}
