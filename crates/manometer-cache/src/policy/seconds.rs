//! The clock of policies that work by the second: the trace's own times where it has them, else so many requests a
//! second.

use super::{Parameter, Request};
use crate::requests::Requests;

pub(super) const REQUESTS_PER_SECOND: Parameter = Parameter {
    name: "rate",
    meaning: "how many requests make a second, where the requests have no times",
    default: 1000.0,
    min: 1.0,
    max: 1e9,
    is_whole: true,
};

const SECOND_NS: u64 = 1_000_000_000;

/// What tells seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seconds {
    /// The times of the requests.
    Times,
    /// Their number: so many make a second.
    Requests(u64),
}

impl Seconds {
    pub(super) fn new(requests: &Requests, requests_per_second: f64) -> Self {
        if requests.are_timed() { Self::Times } else { Self::Requests(requests_per_second as u64) }
    }

    /// In which second a request comes.
    #[inline]
    pub(super) fn of(self, request: &Request) -> u32 {
        let second = match self {
            Self::Times => request.time_ns / SECOND_NS,
            Self::Requests(per_second) => u64::from(request.position) / per_second,
        };
        second as u32
    }
}
