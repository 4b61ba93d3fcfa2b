//! Detects requests sent out of the order of the trace.
//!
//! The model decides which order counts: that of all requests, that of each client (a client has one thread), or, where
//! threads share a lane, that of each key.

use std::sync::atomic::{AtomicU64, Ordering};

use super::survey::hash_id;

/// Slots of the table of keys. A key evicts the one before it in the same slot.
const SLOTS: usize = 1 << 18;
/// The bits of a slot that identify the key, and those that hold the request's number.
const TAG_SHIFT: u32 = 48;
const NUMBER_MASK: u64 = (1 << TAG_SHIFT) - 1;

/// The last request sent for each key, shared by several threads.
#[derive(Debug)]
pub(super) struct KeyOrder(Box<[AtomicU64]>);

impl KeyOrder {
    pub(super) fn new() -> Self {
        Self((0..SLOTS).map(|_| AtomicU64::new(0)).collect())
    }

    /// Records that the request `number` for `key` is sent now. Returns whether a later request for the same key was
    /// sent before.
    #[inline]
    fn breaks(&self, key: u64, number: u64) -> bool {
        let hash = hash_id(key);
        let slot = &self.0[hash as usize % SLOTS];
        let tagged = hash >> TAG_SHIFT << TAG_SHIFT | (number + 1) & NUMBER_MASK;
        let before = slot.swap(tagged, Ordering::AcqRel);
        let broken = before >> TAG_SHIFT == tagged >> TAG_SHIFT && before & NUMBER_MASK > tagged & NUMBER_MASK;
        if broken {
            slot.store(before, Ordering::Release);
        }
        broken
    }
}

/// The order as one thread sees it.
#[derive(Debug)]
pub(super) enum Order<'a> {
    /// The thread sends all requests whose order counts. Holds the number after the highest one sent.
    Own(u64),
    /// Other threads send requests for the same keys.
    Shared(&'a KeyOrder),
}

impl Order<'_> {
    /// Records that the request `number` for `key` is sent now. Returns whether it is out of order.
    #[inline]
    pub(super) fn breaks(&mut self, key: u64, number: u64) -> bool {
        match self {
            Self::Own(next) => {
                let broken = number < *next;
                *next = (*next).max(number + 1);
                broken
            }
            Self::Shared(keys) => keys.breaks(key, number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_of_its_own_counts_every_step_back() {
        let mut order = Order::Own(0);
        let broken: Vec<bool> = [0, 1, 5, 3, 6, 6].into_iter().map(|number| order.breaks(number, number)).collect();
        assert_eq!(broken, [false, false, false, true, false, true]);
    }

    #[test]
    fn threads_break_the_order_of_a_key_and_not_of_different_keys() {
        let keys = KeyOrder::new();
        let (mut one, mut other) = (Order::Shared(&keys), Order::Shared(&keys));
        assert!(!one.breaks(7, 0) && !other.breaks(7, 2) && !one.breaks(8, 1));
        assert!(one.breaks(7, 1), "the request behind it was sent");
        assert!(!one.breaks(7, 3));
    }
}
