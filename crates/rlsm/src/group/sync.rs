//! The locks that the queue is made of. A test that tries out the order of threads puts its own in their place.

pub(super) use parking_lot::{Condvar, Mutex};
