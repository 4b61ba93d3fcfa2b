//! Greedy dual size frequency: ranks objects by requests per size. For equal sizes the same as LFU with dynamic ageing.

use super::PolicyKind;
use super::priority::{PriorityFunction, PriorityPolicy};
use crate::request::RequestFields;

pub(super) const KIND: PolicyKind = PolicyKind {
    name: "gdsf",
    about: "evicts the object with the fewest requests per byte, with ageing",
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
