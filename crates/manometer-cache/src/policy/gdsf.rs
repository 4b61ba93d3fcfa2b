//! Greedy dual size frequency: an object is worth its requests by its size. For equal sizes the same as LFU with ageing.

use super::prioritised::{Prioritised, Priority};
use super::{Kind, by_weight};
use crate::requests::Details;

pub(super) const KIND: Kind = Kind {
    name: "gdsf",
    about: "evicts what saves least for its bytes: requests by size, with ageing",
    source: "Cherkasova, HP Laboratories 1998",
    parameters: &[],
    details: Details::NONE,
    make: by_weight!(Gdsf),
};

type Gdsf<W> = Prioritised<W, Density>;

struct Density;

impl Priority for Density {
    fn of(age: f64, requests: u32, weight: u64) -> f64 {
        age + f64::from(requests) / weight as f64
    }
}
