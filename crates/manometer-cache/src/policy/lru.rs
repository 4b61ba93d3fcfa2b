//! Least recently used: what was not requested for longest goes.

use super::queue::{Order, Queue, Row};
use super::{Kind, Setting, by_weight};
use crate::arena::Slot;
use crate::requests::Details;
use crate::weight::Weight;

pub(super) const KIND: Kind = Kind {
    name: "lru",
    about: "evicts what was not requested for longest",
    source: "Mattson et al., IBM Systems Journal 1970; cache thesis 3.2",
    parameters: &[],
    details: Details::NONE,
    make: by_weight!(Lru),
};

type Lru<W> = Queue<W, Recency>;

struct Recency;

impl Order for Recency {
    type Mark = ();

    fn new(_: &Setting<'_>) -> Self {
        Self
    }

    fn hit<W: Weight>(&mut self, row: &mut Row<(), W>, slot: Slot) {
        row.renew(slot);
    }
}
