//! LFU with dynamic ageing: what was popular once and is requested no longer is overtaken in the end.

use super::PolicyKind;
use super::priority::{PriorityFunction, PriorityPolicy};
use crate::request::RequestFields;

pub(super) const KIND: PolicyKind = PolicyKind {
    name: "lfu-da",
    about: "LFU with ageing: what is admitted or requested starts from the count of what was evicted last",
    source: "Arlitt et al., Performance Evaluation Review 2000",
    parameters: &[],
    details: RequestFields::NONE,
    create: by_weight!(LfuDa),
};

type LfuDa<W> = PriorityPolicy<W, AgedFrequency>;

struct AgedFrequency;

impl PriorityFunction for AgedFrequency {
    fn of(age: f64, requests: u32, _: u64) -> f64 {
        age + f64::from(requests)
    }
}
