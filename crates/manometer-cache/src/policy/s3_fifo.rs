//! S3-FIFO: a small queue filters what is requested once before it reaches the main one; ghosts of the small queue
//! go into the main one at once.
//!
//! Two things that its paper leaves open are as in its authors' program: until something is evicted the main queue
//! takes what the small one has no room for, and a ghost is recalled before something else is evicted and remembered.

use super::{Evicted, Kind, Parameter, Policy, Request, Setting, by_weight, share};
use crate::number::Id;
use crate::policy::lists::Lists;
use crate::requests::Details;
use crate::weight::Weight;

pub(super) const KIND: Kind = Kind {
    name: "s3-fifo",
    about: "a small queue filters what is requested once; a large one renews what was requested meanwhile",
    source: "Yang et al., SOSP 2023",
    parameters: &[
        Parameter {
            name: "small",
            meaning: "share of the capacity for the small queue",
            default: 0.1,
            min: 0.0,
            max: 1.0,
            is_whole: false,
        },
        Parameter {
            name: "ghost",
            meaning: "how many times the capacity is remembered after eviction from the small queue",
            default: 0.9,
            min: 0.0,
            max: 1000.0,
            is_whole: false,
        },
        Parameter {
            name: "threshold",
            meaning: "how many hits in the small queue make an object move to the main one",
            default: 2.0,
            min: 1.0,
            max: 3.0,
            is_whole: true,
        },
    ],
    details: Details::NONE,
    make: by_weight!(S3Fifo),
};

const SMALL: usize = 0;
const MAIN: usize = 1;
const GHOST: usize = 2;

/// Hits are counted up to this.
const HITS_MAX: u8 = 3;

struct S3Fifo<W> {
    capacity: u64,
    small: u64,
    ghost: u64,
    threshold: u8,
    has_evicted: bool,
    lists: Lists<u8, W, 3>,
    evicted: Evicted,
}

impl<W: Weight> S3Fifo<W> {
    fn new(setting: &Setting<'_>) -> Self {
        let [small, ghost, threshold] = [0, 1, 2].map(|at| setting.parameters[at]);
        Self {
            capacity: setting.capacity,
            small: share(setting.capacity, small),
            ghost: share(setting.capacity, ghost),
            threshold: threshold as u8,
            has_evicted: false,
            lists: Lists::new(setting.requests.keys()),
            evicted: Evicted::default(),
        }
    }

    fn evict_above(&mut self, limit: u64) {
        while self.used() > limit {
            self.has_evicted = true;
            let from_small = self.lists.weight(SMALL) >= self.small || self.lists.is_empty(MAIN);
            if from_small && !self.lists.is_empty(SMALL) { self.evict_small() } else { self.evict_main() }
        }
    }

    /// Evicts the first of the small queue that was not requested often enough for the main one.
    fn evict_small(&mut self) {
        while let Some(slot) = self.lists.oldest(SMALL) {
            let stays = self.lists.value(slot) >= self.threshold;
            *self.lists.value_mut(slot) = 0;
            if !stays {
                self.evicted.note(self.lists.id(slot));
                self.lists.renew(slot, GHOST);
                return self.lists.forget_above(GHOST, self.ghost);
            }
            self.lists.renew(slot, MAIN);
        }
    }

    /// Evicts the first of the main queue that was not requested; all before it are renewed.
    fn evict_main(&mut self) {
        while let Some(slot) = self.lists.oldest(MAIN) {
            if self.lists.value(slot) == 0 {
                self.evicted.note(self.lists.id(slot));
                return self.lists.forget(slot);
            }
            *self.lists.value_mut(slot) -= 1;
            self.lists.renew(slot, MAIN);
        }
    }
}

impl<W: Weight> Policy for S3Fifo<W> {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn used(&self) -> u64 {
        self.lists.weight(SMALL) + self.lists.weight(MAIN)
    }

    fn holds(&self, id: Id) -> bool {
        self.lists.find(id).is_some_and(|slot| self.lists.list(slot) != GHOST)
    }

    fn evicted(&mut self) -> &mut Evicted {
        &mut self.evicted
    }

    fn remove(&mut self, id: Id) {
        if let Some(slot) = self.lists.find(id).filter(|slot| self.lists.list(*slot) != GHOST) {
            self.lists.forget(slot);
        }
    }

    #[inline]
    fn request(&mut self, request: &Request) -> bool {
        let weight = W::of(request.size);
        if let Some(slot) = self.lists.find(request.id)
            && self.lists.list(slot) != GHOST
        {
            let hits = self.lists.value_mut(slot);
            *hits = (*hits + 1).min(HITS_MAX);
            if self.lists.reweigh(slot, weight) {
                self.evict_above(self.capacity);
            }
            return true;
        }
        let ghost = self.lists.find(request.id);
        if let Some(ghost) = ghost {
            self.lists.forget(ghost);
        }
        self.evict_above(self.capacity - weight.get());
        let fills_up = !self.has_evicted && self.lists.weight(SMALL) >= self.small;
        self.lists.insert(if ghost.is_some() || fills_up { MAIN } else { SMALL }, request.id, 0, weight);
        false
    }
}
