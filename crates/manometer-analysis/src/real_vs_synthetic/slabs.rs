//! memcached under values of many sizes and of one size.

use serde::Serialize;

use super::estimate::Estimate;
use super::replays::CacheReplay;

/// The name of the load with values spread over the slab classes.
pub const SPREAD_SIZES: &str = "spread sizes";
/// The name of the load with all values of the same mean size.
pub const ONE_SIZE: &str = "one size";

/// memcached under one distribution of value sizes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SlabResult {
    /// The distribution of sizes.
    pub sizes: String,
    /// The mean latency of puts.
    pub write_us: Estimate,
    /// The share of the reads that missed.
    pub miss_ratio: Estimate,
    /// Requests per second.
    pub ops_per_s: Estimate,
}

/// The comparison of values of many sizes with values of one size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SlabComparison {
    /// The number of slab classes over which sizes are spread.
    pub classes: u32,
    /// The mean size of a value, which is also the one size.
    pub value_bytes_mean: u64,
    /// The memory of the cache.
    pub cache_bytes: u64,
    /// The results of both.
    pub loads: Vec<SlabResult>,
}

/// The results of the replays of [`SPREAD_SIZES`] and [`ONE_SIZE`].
pub fn slab_results(replays: &[CacheReplay]) -> Vec<SlabResult> {
    let result = |name: &str| {
        let mean = |value: fn(&CacheReplay) -> Option<f64>| {
            Estimate::of(&replays.iter().filter(|replay| replay.load == name).filter_map(value).collect::<Vec<_>>())
        };
        SlabResult {
            sizes: name.to_owned(),
            write_us: mean(|replay| replay.write_us),
            miss_ratio: mean(CacheReplay::miss_ratio),
            ops_per_s: mean(|replay| replay.ops_per_s),
        }
    };
    [SPREAD_SIZES, ONE_SIZE].map(result).into()
}
