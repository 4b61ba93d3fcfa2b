//! CAR: ARC with clocks instead of LRU lists, so that a hit only sets a reference bit.

use super::adaptive::{AdaptivePolicy, AdaptiveRule, B1, B2, T1, T2};
use super::{Policy, PolicyKind};
use crate::arena::Slot;
use crate::key_id::KeyId;
use crate::request::RequestFields;
use crate::weight::Weight;

pub(super) const KIND: PolicyKind = PolicyKind {
    name: "car",
    about: "ARC with clocks: a hit only sets a reference bit",
    source: "Bansal and Modha, FAST 2004",
    parameters: &[],
    details: RequestFields::NONE,
    create: by_weight!(Car),
};

type Car<W> = AdaptivePolicy<W, ClockReplacement>;

struct ClockReplacement;

impl<W: Weight> Car<W> {
    fn replace_above(&mut self, limit: u64) {
        while self.used() > limit {
            let from_first = self.lists.weight(T1) as f64 >= self.target.max(1.0);
            let from = if !self.lists.is_empty(T1) && from_first || self.lists.is_empty(T2) { T1 } else { T2 };
            let Some(slot) = self.lists.oldest(from) else { break };
            if std::mem::replace(self.lists.value_mut(slot), false) {
                self.lists.move_to(slot, T2);
            } else {
                self.evict(slot);
            }
        }
    }

    fn admit(&mut self, id: KeyId, weight: W) {
        let (capacity, size) = (self.capacity, weight.get());
        let first = self.lists.weight(T1) + self.lists.weight(B1) + size;
        if first > capacity {
            self.lists.trim(B1, (capacity - size).saturating_sub(self.lists.weight(T1)));
        } else {
            let others = first + self.lists.weight(T2);
            self.lists.trim(B2, capacity.saturating_mul(2).saturating_sub(others));
        }
        self.lists.insert(T1, id, false, weight);
    }
}

impl AdaptiveRule for ClockReplacement {
    /// The reference bit.
    type Mark = bool;

    fn on_hit<W: Weight>(cache: &mut Car<W>, slot: Slot, weight: W) {
        *cache.lists.value_mut(slot) = true;
        if cache.lists.reweigh(slot, weight) {
            cache.replace_above(cache.capacity);
        }
    }

    fn on_miss<W: Weight>(cache: &mut Car<W>, id: KeyId, ghost: Option<Slot>, weight: W) {
        cache.replace_above(cache.capacity - weight.get());
        match ghost {
            Some(ghost) => {
                cache.adapt_target(ghost, weight);
                cache.lists.reweigh(ghost, weight);
                cache.lists.move_to(ghost, T2);
            }
            None => cache.admit(id, weight),
        }
    }
}
