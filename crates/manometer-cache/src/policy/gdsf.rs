//! Greedy dual size frequency: an object is worth its requests by its size. For equal sizes the same as LFU with ageing.

use super::PolicyKind;
use super::priority::{PriorityFunction, PriorityPolicy};
use crate::request::RequestFields;

pub(super) const KIND: PolicyKind = PolicyKind {
    name: "gdsf",
    about: "evicts what saves least for its bytes: requests by size, with ageing",
    source: "Cherkasova, HP Laboratories 1998",
    parameters: &[],
    details: RequestFields::NONE,
    create: by_weight!(Gdsf),
};

type Gdsf<W> = PriorityPolicy<W, RequestsPerByte>;

struct RequestsPerByte;

impl PriorityFunction for RequestsPerByte {
    fn of(age: f64, requests: u32, weight: u64) -> f64 {
        age + f64::from(requests) / weight as f64
    }
}
