//! The distance between two traces.

use serde::{Deserialize, Serialize};

use crate::character::Character;

/// The number of key shares at which popularities are compared.
const STEPS: u32 = 1000;

/// The distance of a generated trace from the trace that its model was fitted to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FitError {
    /// The largest difference between LRU miss ratios, over all cache sizes.
    pub miss_ratio_max: f64,
    /// The mean difference between LRU miss ratios, over cache sizes spaced logarithmically.
    pub miss_ratio_mean: f64,
    /// The largest difference between the shares of requests for the most popular keys, over all shares of keys.
    pub popularity: f64,
    /// The number of different keys divided by that of the trace.
    pub keys_ratio: f64,
    /// The Kolmogorov-Smirnov distance of inter-arrival times.
    pub inter_arrival: Option<f64>,
    /// The index of dispersion in windows of one second divided by that of the trace.
    pub dispersion_ratio: Option<f64>,
    /// The Hurst exponent by detrended fluctuation analysis minus that of the trace.
    pub hurst_difference: Option<f64>,
}

/// The distance of `made` from `trace`.
pub fn error(trace: &Character, made: &Character) -> FitError {
    let misses: Vec<f64> =
        trace.miss_ratios().iter().zip(made.miss_ratios()).map(|(one, other)| f64::abs(one - other)).collect();
    let (one, other) = (trace.report(), made.report());
    let dispersion = |report: &crate::character::Report| report.burstiness.dispersion.first().map(|of| of.index);
    let hurst = |report: &crate::character::Report| report.burstiness.hurst_dfa.map(|hurst| hurst.value);
    FitError {
        miss_ratio_max: misses.iter().copied().fold(0.0, f64::max),
        miss_ratio_mean: misses.iter().sum::<f64>() / misses.len().max(1) as f64,
        popularity: popularity(trace, made),
        keys_ratio: other.keys / one.keys,
        inter_arrival: trace.gap_distance(made),
        dispersion_ratio: dispersion(&one)
            .zip(dispersion(&other))
            .filter(|(one, _)| *one > 0.0)
            .map(|(one, other)| other / one),
        hurst_difference: hurst(&one).zip(hurst(&other)).map(|(one, other)| other - one),
    }
}

/// The largest difference between the shares of requests for the same share of most popular keys.
fn popularity(one: &Character, other: &Character) -> f64 {
    let keys_shares: Vec<f64> = (1..=STEPS).map(|step| f64::from(step) / f64::from(STEPS)).collect();
    let (one, other) = (one.top_shares(&keys_shares), other.top_shares(&keys_shares));
    let differences = one.iter().zip(&other).map(|(one, other)| (one - other).abs());
    if one.is_empty() || other.is_empty() { 1.0 } else { differences.fold(0.0, f64::max) }
}
