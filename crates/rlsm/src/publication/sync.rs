//! The atomics of the publication. The shuttle tests replace them.

pub(super) use std::sync::atomic::{AtomicU64, Ordering};

pub(super) use arc_swap::{ArcSwap, Guard};
