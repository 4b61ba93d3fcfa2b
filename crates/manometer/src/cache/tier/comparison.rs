//! The comparison of a cache with more devices of its origin.

use manometer_cache::tier::{EqualDevices, TierResult};

/// The comparison of a cache with more devices of its origin.
#[derive(Debug, Clone)]
pub(super) struct OriginComparison {
    pub(super) equal: EqualDevices,
    pub(super) by: ComparisonMetric,
    /// The number of devices that is as fast, if any number is.
    pub(super) count: Option<u64>,
}

/// The metric of the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ComparisonMetric {
    /// Throughput.
    Throughput,
    /// Mean latency.
    Latency,
}

impl ComparisonMetric {
    pub(super) fn is_as_good(self, one: &TierResult, as_other: &TierResult) -> bool {
        match self {
            Self::Throughput => one.mb_per_s >= as_other.mb_per_s,
            Self::Latency => one.latency_mean_us <= as_other.latency_mean_us,
        }
    }

    /// Its field in the results.
    pub(super) fn field(self) -> &'static str {
        match self {
            Self::Throughput => "mb_per_s",
            Self::Latency => "latency_mean_us",
        }
    }
}
