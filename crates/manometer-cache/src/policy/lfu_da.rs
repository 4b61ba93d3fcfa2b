//! LFU with dynamic ageing: what was popular once and is requested no longer is overtaken in the end.

use super::ranked::{Order, Ranked};
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

type LfuDa<W> = Ranked<W, AgedFrequency>;

struct AgedFrequency;

impl Order for AgedFrequency {
    fn priority(age: f64, requests: u32, _: u64) -> f64 {
        age + f64::from(requests)
    }
}
