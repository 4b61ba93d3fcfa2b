//! The locks of the queue. The shuttle tests replace them.

pub(super) use parking_lot::{Condvar, Mutex};
