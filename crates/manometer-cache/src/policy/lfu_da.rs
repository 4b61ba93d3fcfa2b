//! LFU with dynamic ageing: objects that are no longer requested are eventually overtaken.

use super::PolicyKind;
use super::priority::{PriorityFunction, PriorityPolicy};
use crate::request::RequestFields;

pub(super) const KIND: PolicyKind = PolicyKind {
    name: "lfu-da",
    about: "LFU with ageing: the count of an object starts at that of the last evicted one",
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
