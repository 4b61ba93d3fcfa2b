//! Most recently used: what was requested just before goes, which suits loops longer than the cache.

use super::queue::{Order, Queue, Row};
use super::{Kind, Setting, by_weight};
use crate::arena::Slot;
use crate::requests::Details;
use crate::weight::Weight;

pub(super) const KIND: Kind = Kind {
    name: "mru",
    about: "evicts what was requested last",
    source: "Chou and DeWitt, VLDB 1985",
    parameters: &[],
    details: Details::NONE,
    make: by_weight!(Mru),
};

type Mru<W> = Queue<W, ReverseRecency>;

struct ReverseRecency;

impl Order for ReverseRecency {
    type Mark = ();

    fn new(_: &Setting<'_>) -> Self {
        Self
    }

    fn hit<W: Weight>(&mut self, row: &mut Row<(), W>, slot: Slot) {
        row.renew(slot);
    }

    fn victim<W: Weight>(&mut self, row: &mut Row<(), W>) -> Option<Slot> {
        row.newest()
    }
}
