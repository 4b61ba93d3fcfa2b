//! Whether requests are sent in the order of the trace.
//!
//! Which order matters follows from the model: that of all requests, that of a thread's (each client has one thread),
//! or, where threads take requests from one another, that of each key's.

use std::sync::atomic::{AtomicU64, Ordering};

use super::survey::hash_id;

/// Keys that are watched at a time; one that falls on another's place takes it.
const PLACES: usize = 1 << 18;
/// The part of a place that tells keys apart, and the part that counts.
const TAG_SHIFT: u32 = 48;
const NUMBERS: u64 = (1 << TAG_SHIFT) - 1;

/// The order of each key's requests, as several threads send them.
#[derive(Debug)]
pub(super) struct KeyOrder(Box<[AtomicU64]>);

impl KeyOrder {
    pub(super) fn new() -> Self {
        Self((0..PLACES).map(|_| AtomicU64::new(0)).collect())
    }

    /// The request `number` for `key` is sent now: was one of the same key sent that the trace has behind it?
    #[inline]
    fn breaks(&self, key: u64, number: u64) -> bool {
        let hash = hash_id(key);
        let place = &self.0[hash as usize % PLACES];
        let tagged = hash >> TAG_SHIFT << TAG_SHIFT | (number + 1) & NUMBERS;
        let before = place.swap(tagged, Ordering::AcqRel);
        let broken = before >> TAG_SHIFT == tagged >> TAG_SHIFT && before & NUMBERS > tagged & NUMBERS;
        if broken {
            place.store(before, Ordering::Release);
        }
        broken
    }
}

/// What one thread sees of the order.
#[derive(Debug)]
pub(super) enum Order<'a> {
    /// It sends all requests that it has to keep in order: this many were sent, up to the last one's number.
    Own(u64),
    /// Others send requests for the same keys.
    Shared(&'a KeyOrder),
}

impl Order<'_> {
    /// Whether sending the request `number` for `key` now breaks the order.
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
