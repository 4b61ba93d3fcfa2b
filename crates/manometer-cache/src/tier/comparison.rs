//! The comparison of a cache with more devices of its origin.

use super::settings::EqualDevices;
use super::simulation::{TierLoad, TierResult};
use crate::CacheError;
use crate::raid_level::RaidLevel;

/// The comparison of a cache with more devices of its origin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OriginComparison {
    /// The devices that are compared with.
    pub equal: EqualDevices,
    /// The metric.
    pub by: ComparisonMetric,
    /// The smallest number of devices that is as fast; `None` if no number is.
    pub count: Option<u64>,
}

/// The metric of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComparisonMetric {
    /// Throughput.
    Throughput,
    /// Mean latency.
    Latency,
}

impl ComparisonMetric {
    /// Latency for a trace at its own times, whose throughput is given; otherwise throughput.
    pub fn of(load: &TierLoad) -> Self {
        match load {
            TierLoad::Trace(_, settings) if settings.is_open() => Self::Latency,
            _ => Self::Throughput,
        }
    }

    /// Whether `one` is as good as `other`, or better.
    pub fn is_as_good(self, one: &TierResult, other: &TierResult) -> bool {
        match self {
            Self::Throughput => one.mb_per_s >= other.mb_per_s,
            Self::Latency => one.latency_mean_us <= other.latency_mean_us,
        }
    }

    /// Its field in the results.
    pub fn field(self) -> &'static str {
        match self {
            Self::Throughput => "mb_per_s",
            Self::Latency => "latency_mean_us",
        }
    }
}

/// For each of `results`, the smallest number of devices whose result is as good; `None` if no number is. `simulate`
/// returns `None` for a number that cannot hold the data.
pub(super) fn smallest_counts<R>(
    equal: EqualDevices,
    results: &[R],
    is_as_good: impl Fn(&R, &R) -> bool,
    mut simulate: impl FnMut(u64, RaidLevel) -> Result<Option<R>, CacheError>,
) -> Result<Vec<Option<u64>>, CacheError> {
    let mut found = vec![None; results.len()];
    for (count, raid) in equal.counts() {
        if found.iter().all(Option::is_some) {
            break;
        }
        let Some(alone) = simulate(count, raid)? else { continue };
        for (found, result) in found.iter_mut().zip(results).filter(|(found, _)| found.is_none()) {
            *found = is_as_good(&alone, result).then_some(count);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EQUAL: EqualDevices = EqualDevices { raid: RaidLevel::Raid0, count_max: 6 };

    #[test]
    fn the_smallest_number_that_is_as_good_is_found_for_each_result() {
        let mut simulated = Vec::new();
        let counts = smallest_counts(
            EQUAL,
            &[15, 30, 1],
            |one, other| one >= other,
            |count, _| {
                simulated.push(count);
                Ok((count > 1).then_some(10 * count))
            },
        );
        assert_eq!(counts.unwrap(), [Some(2), Some(3), Some(2)], "a single device is too small");
        assert_eq!(simulated, [1, 2, 3], "the search ends with the last result");
    }

    #[test]
    fn a_result_that_no_number_reaches_has_none() {
        let counts = smallest_counts(EQUAL, &[1000], |one, other| one >= other, |count, _| Ok(Some(count)));
        assert_eq!(counts.unwrap(), [None]);
    }

    #[test]
    fn a_failed_simulation_ends_the_search() {
        let failed = |_, _| Err(CacheError::Invalid("no".to_owned()));
        assert!(smallest_counts(EQUAL, &[1], |one, other| one >= other, failed).is_err());
    }
}
