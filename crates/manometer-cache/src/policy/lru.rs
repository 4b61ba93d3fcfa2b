//! Least recently used: what was not requested for longest goes.

use super::queue::{Order, Queue};
use super::{Kind, by_weight};
use crate::requests::Details;

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
    const RENEWS: bool = true;
}
