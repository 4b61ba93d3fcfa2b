//! Marks the end of a thread.

use std::sync::atomic::{AtomicU32, Ordering};

use super::lane::LaneReceiver;
use super::request::ReplayRequest;

/// Marks the end of a thread, also by a panic, and closes its own lane, so that the reader does not wait for it.
pub(super) struct ThreadGuard<'a> {
    /// The threads that have not ended.
    pub(super) at_work: &'a AtomicU32,
    /// The lane that only this thread consumes.
    pub(super) own: Option<&'a LaneReceiver<ReplayRequest>>,
}

impl Drop for ThreadGuard<'_> {
    fn drop(&mut self) {
        self.own.into_iter().for_each(LaneReceiver::close);
        self.at_work.fetch_sub(1, Ordering::Release);
    }
}
