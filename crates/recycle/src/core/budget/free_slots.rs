//! Slots without a page: one list, or one for each processor.

use parking_lot::Mutex;

use crate::system::{processor, processors};

/// A list on a cache line of its own.
#[repr(align(128))]
#[derive(Debug, Default)]
struct List(Mutex<Vec<u32>>);

/// The free slots of a budget.
#[derive(Debug)]
pub(super) struct FreeSlots {
    /// Slots that no processor claims.
    shared: List,
    /// A list for each processor; empty where all share one.
    private: Vec<List>,
}

impl FreeSlots {
    /// All of `slots` free.
    pub(super) fn new(slots: u32, has_private_lists: bool) -> Self {
        let lists = if has_private_lists { processors() } else { 0 };
        let private = (0..lists).map(|_| List::default()).collect();
        Self { shared: List(Mutex::new((0..slots).rev().collect())), private }
    }

    fn own(&self) -> Option<&List> {
        self.private.get(processor() % self.private.len().max(1))
    }

    /// A slot of this processor's list, or of the shared one.
    pub(super) fn take(&self) -> Option<u32> {
        let own = self.own().and_then(|list| list.0.lock().pop());
        own.or_else(|| self.shared.0.lock().pop())
    }

    /// A slot of any list.
    pub(super) fn take_any(&self) -> Option<u32> {
        self.take().or_else(|| self.private.iter().find_map(|list| list.0.lock().pop()))
    }

    /// Puts recycled slots into this processor's list, where it has one.
    pub(super) fn put(&self, slots: &[u32]) {
        self.own().unwrap_or(&self.shared).0.lock().extend_from_slice(slots);
    }

    /// Puts slots where every processor finds them.
    pub(super) fn put_shared(&self, slots: &[u32]) {
        self.shared.0.lock().extend_from_slice(slots);
    }

    #[cfg(test)]
    fn count(&self) -> usize {
        self.private.iter().chain([&self.shared]).map(|list| list.0.lock().len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_is_given_once() {
        for has_private_lists in [false, true] {
            let free = FreeSlots::new(8, has_private_lists);
            let mut taken: Vec<u32> = std::iter::from_fn(|| free.take()).collect();
            taken.sort_unstable();
            assert_eq!(taken, (0..8).collect::<Vec<_>>());
            free.put(&[3, 4]);
            assert_eq!(free.count(), 2);
            assert!(free.take_any().is_some() && free.take_any().is_some() && free.take_any().is_none());
        }
    }
}
