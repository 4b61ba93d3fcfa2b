//! What a publication is made of. A test that tries out the order of threads puts its own in their place.

pub(super) use std::sync::atomic::{AtomicU64, Ordering};

pub(super) use arc_swap::{ArcSwap, Guard};
