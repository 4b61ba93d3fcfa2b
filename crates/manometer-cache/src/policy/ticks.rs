//! The clock of policies that work by the second: the trace's own times where it has them, else so many requests a
//! second.

use super::{Parameter, Request, Setting};

pub(super) const REQUESTS_PER_SECOND: Parameter = Parameter {
    name: "rate",
    meaning: "how many requests make a second, where the requests have no times",
    default: 1000.0,
    min: 1.0,
    max: 1e9,
    is_whole: true,
};

const SECOND_NS: u64 = 1_000_000_000;

/// Tells whole seconds.
pub(super) struct Ticks {
    has_times: bool,
    requests_per_second: u64,
}

impl Ticks {
    pub(super) fn new(setting: &Setting<'_>, requests_per_second: f64) -> Self {
        let has_times = setting.requests.are_timed();
        Self { has_times, requests_per_second: requests_per_second as u64 }
    }

    /// In which second a request comes.
    #[inline]
    pub(super) fn second(&self, request: &Request) -> u32 {
        let second = if self.has_times {
            request.time_ns / SECOND_NS
        } else {
            u64::from(request.position) / self.requests_per_second
        };
        second as u32
    }
}
