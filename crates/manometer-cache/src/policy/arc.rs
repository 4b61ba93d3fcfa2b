//! ARC: two lists, of objects requested once and more often; requests for their ghosts decide how room is divided.

use super::adaptive::{AdaptivePolicy, AdaptiveRule, B1, B2, T1, T2};
use super::{Policy, PolicyKind};
use crate::arena::Slot;
use crate::key_id::KeyId;
use crate::request::RequestFields;
use crate::weight::Weight;

pub(super) const KIND: PolicyKind = PolicyKind {
    name: "arc",
    about: "balances recency and frequency: adapts the sizes of a list of objects requested once and one of objects requested again",
    source: "Megiddo and Modha, FAST 2003; cache thesis 3.4",
    parameters: &[],
    details: RequestFields::NONE,
    create: by_weight!(Arc),
};

type Arc<W> = AdaptivePolicy<W, LruReplacement>;

struct LruReplacement;

impl<W: Weight> Arc<W> {
    /// Turns the oldest objects into ghosts until the weight is at most `limit`.
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
        self.adapt_target(slot, weight);
        self.replace_above(self.capacity - weight.get(), in_second);
        self.lists.reweigh(slot, weight);
        self.lists.move_to(slot, T2);
    }

    fn admit(&mut self, id: KeyId, weight: W) {
        let (capacity, size) = (self.capacity, weight.get());
        let first = self.lists.weight(T1) + self.lists.weight(B1);
        if first > capacity - size {
            let limit = (capacity - size).saturating_sub(self.lists.weight(T1));
            self.lists.trim(B1, limit);
            self.drop_above(capacity - size);
        } else {
            let others = first + self.lists.weight(T2) + size;
            self.lists.trim(B2, capacity.saturating_mul(2).saturating_sub(others));
        }
        self.replace_above(capacity - size, false);
        self.lists.insert(T1, id, (), weight);
    }
}

impl AdaptiveRule for LruReplacement {
    type Mark = ();

    fn on_hit<W: Weight>(cache: &mut Arc<W>, slot: Slot, weight: W) {
        let has_grown = cache.lists.reweigh(slot, weight);
        cache.lists.move_to(slot, T2);
        if has_grown {
            cache.replace_above(cache.capacity, false);
        }
    }

    fn on_miss<W: Weight>(cache: &mut Arc<W>, id: KeyId, ghost: Option<Slot>, weight: W) {
        match ghost {
            Some(ghost) => cache.ghost_hit(ghost, weight),
            None => cache.admit(id, weight),
        }
    }
}
