//! ARC: two lists of what was requested once and more often, and what was evicted from each tells which deserves room.

use super::adaptive::{Adaptive, B1, B2, Replacement, T1, T2};
use super::{Kind, Policy, by_weight};
use crate::arena::Slot;
use crate::number::Id;
use crate::requests::Details;
use crate::weight::Weight;

pub(super) const KIND: Kind = Kind {
    name: "arc",
    about: "balances what was requested once against what was requested more often",
    source: "Megiddo and Modha, FAST 2003; cache thesis 3.4",
    parameters: &[],
    details: Details::NONE,
    make: by_weight!(Arc),
};

type Arc<W> = Adaptive<W, Recency>;

struct Recency;

impl<W: Weight> Arc<W> {
    /// Makes ghosts of the oldest objects until no more than `limit` is held.
    fn replace_above(&mut self, limit: u64, is_ghost_of_second: bool) {
        while self.used() > limit {
            let first = self.lists.weight(T1) as f64;
            let from_first = first > self.target || is_ghost_of_second && first == self.target;
            let from = if !self.lists.is_empty(T1) && from_first || self.lists.is_empty(T2) { T1 } else { T2 };
            let Some(slot) = self.lists.oldest(from) else { break };
            self.evict(slot);
        }
    }

    fn ghost_hit(&mut self, slot: Slot, weight: W) {
        let in_second = self.lists.list(slot) == B2;
        self.follow(slot, weight);
        self.replace_above(self.capacity - weight.get(), in_second);
        self.lists.reweigh(slot, weight);
        self.lists.renew(slot, T2);
    }

    fn admit(&mut self, id: Id, weight: W) {
        let (capacity, size) = (self.capacity, weight.get());
        let first = self.lists.weight(T1) + self.lists.weight(B1);
        if first > capacity - size {
            let limit = (capacity - size).saturating_sub(self.lists.weight(T1));
            self.lists.forget_above(B1, limit);
            self.drop_above(capacity - size);
        } else {
            let others = first + self.lists.weight(T2) + size;
            self.lists.forget_above(B2, capacity.saturating_mul(2).saturating_sub(others));
        }
        self.replace_above(capacity - size, false);
        self.lists.insert(T1, id, (), weight);
    }
}

impl Replacement for Recency {
    type Mark = ();

    fn hit<W: Weight>(cache: &mut Arc<W>, slot: Slot, weight: W) {
        let has_grown = cache.lists.reweigh(slot, weight);
        cache.lists.renew(slot, T2);
        if has_grown {
            cache.replace_above(cache.capacity, false);
        }
    }

    fn miss<W: Weight>(cache: &mut Arc<W>, id: Id, ghost: Option<Slot>, weight: W) {
        match ghost {
            Some(ghost) => cache.ghost_hit(ghost, weight),
            None => cache.admit(id, weight),
        }
    }
}
