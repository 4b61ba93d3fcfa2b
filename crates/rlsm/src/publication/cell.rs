//! A view that is exchanged as a whole, and the last write that readers may see in it.

use std::sync::Arc;

use super::sync::{ArcSwap, AtomicU64, Guard, Ordering};
use crate::Sequence;

/// A view, and how much of it is to be seen.
pub(crate) struct Publication<View> {
    view: ArcSwap<View>,
    visible: AtomicU64,
}

impl<View> Publication<View> {
    pub fn new(view: View, visible: Sequence) -> Self {
        Self { view: ArcSwap::from_pointee(view), visible: AtomicU64::new(visible) }
    }

    /// What readers see now.
    pub fn view(&self) -> Guard<Arc<View>> {
        self.view.load()
    }

    /// As [`Publication::view`], to be held for long.
    pub fn view_to_keep(&self) -> Arc<View> {
        self.view.load_full()
    }

    /// The last write that readers may see. To be asked after [`Publication::view`]: what it sees is in that view then,
    /// but for writes that came in between.
    pub fn visible(&self) -> Sequence {
        self.visible.load(Ordering::Acquire)
    }

    /// Lets readers see all writes up to `last`, which are in the view.
    pub fn show(&self, last: Sequence) {
        self.visible.store(last, Ordering::Release);
    }

    /// Puts what `next` makes of the view in its place. It is asked again if another change came in between.
    pub fn change(&self, next: impl Fn(&View) -> View) {
        self.view.rcu(|view| next(view));
    }
}
