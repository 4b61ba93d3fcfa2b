//! The page cache: the pages of files in memory, the least recently used of which go, and those that were changed and
//! are not written back yet.

use super::events::Ns;
use crate::arena::{Arena, List};
use crate::number::Id;

/// The bytes of a page.
pub const PAGE: u64 = 4096;

/// Whether a page was changed, and when first.
type Dirtied = Option<std::num::NonZeroU64>;

/// Pages in memory.
#[derive(Debug)]
pub struct Pages {
    capacity: u64,
    arena: Arena<Dirtied>,
    clean: List,
    /// In the order in which they were first changed.
    dirty: List,
}

impl Pages {
    /// Memory for `capacity` of the pages with numbers below `pages`.
    pub fn new(pages: usize, capacity: u64) -> Self {
        Self { capacity, arena: Arena::new(pages), clean: List::default(), dirty: List::default() }
    }

    /// How many changed pages there are.
    pub fn dirty(&self) -> u64 {
        self.dirty.len()
    }

    /// Uses a page: whether it was there.
    pub fn touch(&mut self, page: Id) -> bool {
        let Some(slot) = self.arena.find(page) else { return false };
        if self.arena.value(slot).is_none() {
            self.clean.renew(&mut self.arena, slot);
        }
        true
    }

    /// Whether a page is there.
    pub fn has(&self, page: Id) -> bool {
        self.arena.find(page).is_some()
    }

    /// Takes in a page that was read.
    pub fn insert(&mut self, page: Id) {
        if self.touch(page) {
            return;
        }
        self.evict();
        if self.clean.len() + self.dirty.len() < self.capacity {
            let slot = self.arena.insert(page, None);
            self.clean.push(&mut self.arena, slot);
        }
    }

    /// Changes a page, in memory.
    pub fn change(&mut self, page: Id, now: Ns) {
        let dirtied = std::num::NonZeroU64::new(now.max(1));
        match self.arena.find(page) {
            Some(slot) if self.arena.value(slot).is_some() => {}
            Some(slot) => {
                self.clean.unlink(&mut self.arena, slot);
                *self.arena.value_mut(slot) = dirtied;
                self.dirty.push(&mut self.arena, slot);
            }
            None => {
                self.evict();
                let slot = self.arena.insert(page, dirtied);
                self.dirty.push(&mut self.arena, slot);
            }
        }
    }

    /// The page that was changed first of those not written back, and when.
    pub fn oldest_dirty(&self) -> Option<(Id, Ns)> {
        let slot = self.dirty.oldest()?;
        Some((self.arena.id(slot), self.arena.value(slot).map_or(0, std::num::NonZeroU64::get)))
    }

    /// Whether a page is changed.
    pub fn is_dirty(&self, page: Id) -> bool {
        self.arena.find(page).is_some_and(|slot| self.arena.value(slot).is_some())
    }

    /// A changed page is being written back.
    pub fn clean(&mut self, page: Id) {
        if let Some(slot) = self.arena.find(page).filter(|slot| self.arena.value(*slot).is_some()) {
            self.dirty.unlink(&mut self.arena, slot);
            *self.arena.value_mut(slot) = None;
            self.clean.push(&mut self.arena, slot);
        }
    }

    /// Forgets a page, changed or not.
    pub fn forget(&mut self, page: Id) {
        if let Some(slot) = self.arena.find(page) {
            let list = if self.arena.value(slot).is_some() { &mut self.dirty } else { &mut self.clean };
            list.unlink(&mut self.arena, slot);
            self.arena.remove(slot);
        }
    }

    /// Makes room for a page, as far as unchanged pages can go.
    fn evict(&mut self) {
        while self.clean.len() + self.dirty.len() >= self.capacity {
            let Some(slot) = self.clean.pop(&mut self.arena) else { break };
            self.arena.remove(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_pages_stay_until_they_are_written_back() {
        let mut pages = Pages::new(10, 2);
        pages.change(0, 5);
        pages.insert(1);
        pages.insert(2);
        assert!(pages.touch(0) && !pages.touch(1) && pages.touch(2));
        pages.change(3, 6);
        assert!(!pages.touch(2), "the only one that could go");
        assert_eq!((pages.oldest_dirty(), pages.dirty()), (Some((0, 5)), 2));
        pages.insert(4);
        assert!(!pages.touch(4), "no room");
        pages.change(0, 9);
        assert_eq!(pages.oldest_dirty(), Some((0, 5)), "from when it was changed first");
        pages.clean(0);
        assert!(pages.has(0) && !pages.is_dirty(0) && pages.is_dirty(3));
        pages.forget(3);
        assert_eq!((pages.dirty(), pages.oldest_dirty()), (0, None));
    }
}
