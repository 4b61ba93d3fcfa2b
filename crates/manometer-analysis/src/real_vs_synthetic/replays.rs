//! What is replayed, and what one replay measured.

use serde::Serialize;

/// One replay of one load on one cache.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CacheReplay {
    /// The engine.
    pub engine: String,
    /// The load.
    pub load: String,
    /// The memory of the cache as a share of the footprint of all keys in this engine.
    pub cache: f64,
    /// The configured memory of the cache.
    pub cache_bytes: u64,
    /// The number of the repeat, from 1.
    pub repeat: u32,
    /// Requests sent.
    pub requests: u64,
    /// Requests that failed.
    pub errors: u64,
    /// Reads that were answered.
    pub reads: u64,
    /// Reads that missed.
    pub missing: u64,
    /// The mean time until a reader has its value: of the read, and after a miss of the put.
    pub read_us: Option<f64>,
    /// The mean latency of puts, those after misses included.
    pub write_us: Option<f64>,
    /// Answered requests per second, without the puts after misses.
    pub ops_per_s: Option<f64>,
    /// The first error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl CacheReplay {
    /// The share of the reads that missed.
    pub fn miss_ratio(&self) -> Option<f64> {
        (self.reads > 0).then(|| self.missing as f64 / self.reads as f64)
    }
}

/// A load: the trace or a synthetic one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedLoad {
    /// Its name.
    pub name: String,
    /// The number of requests.
    pub requests: u64,
    /// The number of distinct keys.
    pub keys: u64,
    /// Whether its values are all of one size.
    pub one_size: bool,
    /// The number of keys from which its requests are drawn; more than its distinct keys, because some are never drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drawn_from: Option<u64>,
    /// The exponent of its distribution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exponent: Option<f64>,
}
