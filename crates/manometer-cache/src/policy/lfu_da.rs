//! LFU with dynamic ageing: what was popular once and is requested no longer is overtaken in the end.

use super::prioritised::{Prioritised, Priority};
use super::{Kind, by_weight};
use crate::requests::Details;

pub(super) const KIND: Kind = Kind {
    name: "lfu-da",
    about: "LFU with ageing: what is admitted or requested starts from the count of what was evicted last",
    source: "Arlitt et al., Performance Evaluation Review 2000",
    parameters: &[],
    details: Details::NONE,
    make: by_weight!(LfuDa),
};

type LfuDa<W> = Prioritised<W, AgedFrequency>;

struct AgedFrequency;

impl Priority for AgedFrequency {
    fn of(age: f64, requests: u32, _: u64) -> f64 {
        age + f64::from(requests)
    }
}
