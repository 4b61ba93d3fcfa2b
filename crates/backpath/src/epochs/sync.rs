//! The atomics and the lock of the epochs. The loom tests replace them.

pub(super) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

pub(super) use parking_lot::Mutex;
