//! The atomic word and the waiting of a page. The shuttle tests replace them.

pub(super) use std::hint::spin_loop as spin;
pub(super) use std::sync::atomic::{AtomicU64, Ordering};

use crate::system::{futex_wait, futex_wake_all};

/// Sleeps while the low half of `word` is `low`. May return early.
pub(super) fn wait(word: &AtomicU64, low: u32) {
    futex_wait(word, low);
}

/// Wakes all threads that wait for `word`.
pub(super) fn wake_all(word: &AtomicU64) {
    futex_wake_all(word);
}
