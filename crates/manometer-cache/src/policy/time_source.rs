//! The clock of policies that work by the second: the trace's own times where it has them, else so many requests a
//! second.

use super::PolicyParameter;
use crate::request::Request;
use crate::requests::Requests;

pub(crate) const REQUESTS_PER_SECOND: PolicyParameter = PolicyParameter {
    name: "rate",
    meaning: "how many requests make a second, where the requests have no times",
    default: 1000.0,
    min: 1.0,
    max: 1e9,
    is_whole: true,
};

const SECOND_NS: u64 = 1_000_000_000;

/// The source of seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeSource {
    /// The times of the requests.
    Trace,
    /// Their number: so many make a second.
    RequestRate(u64),
}

impl TimeSource {
    pub(crate) fn new(requests: &Requests, requests_per_second: f64) -> Self {
        if requests.are_timed() { Self::Trace } else { Self::RequestRate(requests_per_second as u64) }
    }

    /// In which second a request comes.
    #[inline]
    pub(super) fn of(self, request: &Request) -> u32 {
        let second = match self {
            Self::Trace => request.time_ns / SECOND_NS,
            Self::RequestRate(per_second) => u64::from(request.position) / per_second,
        };
        second as u32
    }
}
