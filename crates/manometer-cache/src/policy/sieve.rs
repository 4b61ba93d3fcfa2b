//! SIEVE: a hand walks from the oldest to the newest object, spares what was requested since it passed, and evicts
//! what was not. Nothing is ever moved.

use super::queue::{Order, Queue, Row};
use super::{Kind, Setting, by_weight};
use crate::arena::Slot;
use crate::requests::Details;
use crate::weight::Weight;

pub(super) const KIND: Kind = Kind {
    name: "sieve",
    about: "a hand walks from old to new and evicts what was not requested since it passed",
    source: "Zhang et al., NSDI 2024",
    parameters: &[],
    details: Details::NONE,
    make: by_weight!(Sieve),
};

type Sieve<W> = Queue<W, Hand>;

/// Which object the hand comes to next: the oldest where none is named.
struct Hand(Option<Slot>);

impl Order for Hand {
    /// Whether the object was requested since the hand passed.
    type Mark = bool;

    fn new(_: &Setting<'_>) -> Self {
        Self(None)
    }

    fn hit<W: Weight>(&mut self, row: &mut Row<bool, W>, slot: Slot) {
        *row.mark_mut(slot) = true;
    }

    fn victim<W: Weight>(&mut self, row: &mut Row<bool, W>) -> Option<Slot> {
        loop {
            let slot = self.0.or(row.oldest())?;
            self.0 = row.newer(slot);
            if !std::mem::replace(row.mark_mut(slot), false) {
                return Some(slot);
            }
        }
    }

    fn leave<W: Weight>(&mut self, row: &Row<bool, W>, slot: Slot) {
        if self.0 == Some(slot) {
            self.0 = row.newer(slot);
        }
    }
}
