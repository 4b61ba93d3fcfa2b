//! Most recently used: what was requested just before goes, which suits loops longer than the cache.

use super::queue::{Order, Queue};
use super::{Kind, by_weight};
use crate::requests::Details;

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
    const RENEWS: bool = true;
    const EVICTS_NEWEST: bool = true;
}
