//! An arena of cached objects, by key ID, linked in lists.

use crate::huge_pages::filled_table;
use crate::key_id::KeyId;

/// The index of an object in its arena.
pub type Slot = u32;

/// No slot.
pub const NONE: Slot = Slot::MAX;

#[derive(Debug, Clone, Copy)]
struct Node<T> {
    newer: Slot,
    older: Slot,
    id: KeyId,
    value: T,
}

/// Objects with a value each: found by key ID, each in at most one [`List`].
#[derive(Debug)]
pub struct Arena<T> {
    nodes: Vec<Node<T>>,
    free: Slot,
    slots: Vec<Slot>,
}

/// A linked list of an arena's objects, newest to oldest.
#[derive(Debug, Clone, Copy)]
pub struct List {
    newest: Slot,
    oldest: Slot,
    len: u32,
}

impl<T: Copy> Arena<T> {
    /// For key IDs below `keys`; others are stored too, but cannot be found by ID.
    pub fn new(keys: usize) -> Self {
        Self { nodes: Vec::new(), free: NONE, slots: filled_table(NONE, keys) }
    }

    /// The slot of an object.
    #[inline]
    pub fn find(&self, id: KeyId) -> Option<Slot> {
        let slot = self.slots[id as usize];
        (slot != NONE).then_some(slot)
    }

    /// Adds an object that does not exist; it is in no list.
    #[inline]
    pub fn insert(&mut self, id: KeyId, value: T) -> Slot {
        let node = Node { newer: NONE, older: NONE, id, value };
        let slot = if self.free == NONE {
            self.nodes.push(node);
            (self.nodes.len() - 1) as Slot
        } else {
            let slot = self.free;
            self.free = self.nodes[slot as usize].older;
            self.nodes[slot as usize] = node;
            slot
        };
        self.index(id, slot);
        slot
    }

    #[inline]
    fn index(&mut self, id: KeyId, slot: Slot) {
        if let Some(indexed) = self.slots.get_mut(id as usize) {
            *indexed = slot;
        }
    }

    /// Removes an object that is in no list.
    #[inline]
    pub fn remove(&mut self, slot: Slot) {
        let node = &mut self.nodes[slot as usize];
        node.older = std::mem::replace(&mut self.free, slot);
        let id = node.id;
        self.index(id, NONE);
    }

    /// The key ID of an object.
    #[inline]
    pub fn id(&self, slot: Slot) -> KeyId {
        self.nodes[slot as usize].id
    }

    /// The value of an object.
    #[inline]
    pub fn value(&self, slot: Slot) -> T {
        self.nodes[slot as usize].value
    }

    /// The value of an object, mutable.
    #[inline]
    pub fn value_mut(&mut self, slot: Slot) -> &mut T {
        &mut self.nodes[slot as usize].value
    }

    /// The next older object of the list.
    #[cfg(test)]
    pub fn older(&self, slot: Slot) -> Option<Slot> {
        let slot = self.nodes[slot as usize].older;
        (slot != NONE).then_some(slot)
    }

    /// The next newer object of the list.
    #[inline]
    pub fn newer(&self, slot: Slot) -> Option<Slot> {
        let slot = self.nodes[slot as usize].newer;
        (slot != NONE).then_some(slot)
    }
}

impl Default for List {
    fn default() -> Self {
        Self { newest: NONE, oldest: NONE, len: 0 }
    }
}

impl List {
    /// The number of objects.
    #[inline]
    pub fn len(&self) -> u64 {
        u64::from(self.len)
    }

    /// Whether the list is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The newest object.
    #[inline]
    pub fn newest(&self) -> Option<Slot> {
        (self.newest != NONE).then_some(self.newest)
    }

    /// The oldest object.
    #[inline]
    pub fn oldest(&self) -> Option<Slot> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    /// Adds an object that is in no list as the newest.
    #[inline]
    pub fn push<T: Copy>(&mut self, arena: &mut Arena<T>, slot: Slot) {
        let node = &mut arena.nodes[slot as usize];
        node.newer = NONE;
        node.older = self.newest;
        if self.newest == NONE {
            self.oldest = slot;
        } else {
            arena.nodes[self.newest as usize].newer = slot;
        }
        self.newest = slot;
        self.len += 1;
    }

    /// Removes an object from the list.
    #[inline]
    pub fn unlink<T: Copy>(&mut self, arena: &mut Arena<T>, slot: Slot) {
        let Node { newer, older, .. } = arena.nodes[slot as usize];
        match newer {
            NONE => self.newest = older,
            _ => arena.nodes[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            _ => arena.nodes[older as usize].newer = newer,
        }
        self.len -= 1;
    }

    /// Makes an object the newest.
    #[inline]
    pub fn move_to_newest<T: Copy>(&mut self, arena: &mut Arena<T>, slot: Slot) {
        if self.newest != slot {
            self.unlink(arena, slot);
            self.push(arena, slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use proptest::prelude::*;

    fn listed(arena: &Arena<u8>, list: &List) -> VecDeque<KeyId> {
        let mut ids = VecDeque::new();
        let mut next = list.newest();
        while let Some(slot) = next {
            ids.push_back(arena.id(slot));
            next = arena.older(slot);
        }
        ids
    }

    proptest! {
        #[test]
        fn a_list_keeps_its_order(steps in prop::collection::vec((0_u8..3, 0_u32..8), 0..200)) {
            let (mut arena, mut list, mut plain) = (Arena::new(8), List::default(), VecDeque::new());
            for (step, id) in steps {
                match (step, arena.find(id)) {
                    (0, None) => {
                        let slot = arena.insert(id, 0_u8);
                        list.push(&mut arena, slot);
                        plain.push_front(id);
                    }
                    (1, Some(slot)) => {
                        list.unlink(&mut arena, slot);
                        arena.remove(slot);
                        plain.retain(|other| *other != id);
                    }
                    (2, Some(slot)) => {
                        list.move_to_newest(&mut arena, slot);
                        plain.retain(|other| *other != id);
                        plain.push_front(id);
                    }
                    _ => {}
                }
                prop_assert_eq!(&listed(&arena, &list), &plain);
                prop_assert_eq!(list.len(), plain.len() as u64);
                prop_assert_eq!(list.oldest().map(|slot| arena.id(slot)), plain.back().copied());
            }
        }
    }
}
