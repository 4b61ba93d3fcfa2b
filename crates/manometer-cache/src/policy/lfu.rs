//! Least frequently used: evicts the object with the fewest requests since it was admitted.

use super::PolicyKind;
use super::priority::{PriorityFunction, PriorityPolicy};
use crate::request::RequestFields;

pub(super) const KIND: PolicyKind = PolicyKind {
    name: "lfu",
    about: "evicts the object with the fewest requests since its admission",
    source: "Aho, Denning and Ullman, Journal of the ACM 1971",
    parameters: &[],
    details: RequestFields::NONE,
    create: by_weight!(Lfu),
};

type Lfu<W> = PriorityPolicy<W, Frequency>;

struct Frequency;

impl PriorityFunction for Frequency {
    fn of(_: f64, requests: u32, _: u64) -> f64 {
        f64::from(requests)
    }
}
