//! The clock of policies that work by the second: the times of the trace, or else a fixed number of requests per
//! second.

use super::PolicyParameter;
use crate::request::CacheRequest;
use crate::requests::RequestSequence;

pub(crate) const REQUESTS_PER_SECOND: PolicyParameter = PolicyParameter {
    name: "rate",
    meaning: "requests per second, if the requests have no times",
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
    /// The number of requests: this many are a second.
    RequestRate(u64),
}

impl TimeSource {
    pub(crate) fn new(requests: &RequestSequence, requests_per_second: f64) -> Self {
        if requests.are_timed() { Self::Trace } else { Self::RequestRate(requests_per_second as u64) }
    }

    /// The second of a request.
    #[inline]
    pub(super) fn of(self, request: &CacheRequest) -> u32 {
        let second = match self {
            Self::Trace => request.time_ns / SECOND_NS,
            Self::RequestRate(per_second) => u64::from(request.position) / per_second,
        };
        second as u32
    }
}
