//! Least frequently used: what was requested least often since it was admitted goes.

use super::prioritised::{Prioritised, Priority};
use super::{Kind, by_weight};
use crate::requests::Details;

pub(super) const KIND: Kind = Kind {
    name: "lfu",
    about: "evicts what was requested least often since it was admitted",
    source: "Aho, Denning and Ullman, Journal of the ACM 1971",
    parameters: &[],
    details: Details::NONE,
    make: by_weight!(Lfu),
};

type Lfu<W> = Prioritised<W, Frequency>;

struct Frequency;

impl Priority for Frequency {
    fn of(_: f64, requests: u32, _: u64) -> f64 {
        f64::from(requests)
    }
}
