//! A view that is exchanged as a whole, and the last sequence number that is visible in it.

use std::sync::Arc;

use super::sync::{ArcSwap, AtomicU64, Guard, Ordering};
use crate::SequenceNumber;

/// A view with the last sequence number that readers may see.
pub(crate) struct Publication<View> {
    view: ArcSwap<View>,
    visible: AtomicU64,
}

impl<View> Publication<View> {
    pub fn new(view: View, visible: SequenceNumber) -> Self {
        Self { view: ArcSwap::from_pointee(view), visible: AtomicU64::new(visible) }
    }

    /// The current view, for a short read.
    pub fn load(&self) -> Guard<Arc<View>> {
        self.view.load()
    }

    /// As [`Publication::load`], to be held for long.
    pub fn load_owned(&self) -> Arc<View> {
        self.view.load_full()
    }

    /// The last write that readers may see. Load it after [`Publication::load`]: that view then holds every write up to
    /// it, except for writes that came in between.
    pub fn last_visible(&self) -> SequenceNumber {
        self.visible.load(Ordering::Acquire)
    }

    /// Makes all writes up to `last` visible. They are in the view.
    pub fn set_last_visible(&self, last: SequenceNumber) {
        self.visible.store(last, Ordering::Release);
    }

    /// Replaces the view with `next` of it. `next` is called again if another update came in between.
    pub fn update(&self, next: impl Fn(&View) -> View) {
        self.view.rcu(|view| next(view));
    }
}
