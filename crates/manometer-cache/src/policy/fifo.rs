//! First in, first out: what was admitted first goes, however often it is requested.

use super::queue::{Order, Queue};
use super::{Kind, Setting, by_weight};
use crate::requests::Details;

pub(super) const KIND: Kind = Kind {
    name: "fifo",
    about: "evicts what was admitted first",
    source: "Belady, IBM Systems Journal 1966; cache thesis 3.2",
    parameters: &[],
    details: Details::NONE,
    make: by_weight!(Fifo),
};

type Fifo<W> = Queue<W, Admission>;

struct Admission;

impl Order for Admission {
    type Mark = ();

    fn new(_: &Setting<'_>) -> Self {
        Self
    }
}
