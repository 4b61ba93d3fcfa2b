//! Progress of a comparison.

use manometer_analysis::real_vs_synthetic::Arrivals;

/// Progress of a comparison, for a user interface.
#[derive(Debug)]
pub enum ComparisonProgress<'a> {
    /// The trace was read.
    TraceRead {
        /// The number of its requests.
        requests: usize,
        /// The number of its keys.
        keys: usize,
    },
    /// Zipf distributions were fitted.
    ZipfFitted {
        /// The exponent that fits the popularity of all keys.
        all_keys: f64,
        /// The exponent that fits the miss-ratio curve.
        curve: f64,
    },
    /// A load is simulated on all caches.
    Simulating {
        /// The load.
        load: &'a str,
    },
    /// The memory of all keys in an engine was measured.
    Footprint {
        /// The engine.
        engine: &'a str,
        /// The memory.
        bytes: u64,
    },
    /// A replay starts.
    ReplayStarted {
        /// Its number, from 1.
        number: u32,
        /// The number of all replays.
        total: u32,
        /// The engine.
        engine: &'a str,
        /// The load.
        load: &'a str,
        /// The memory limit of the cache.
        cache_bytes: u64,
        /// The number of the repeat.
        repeat: u32,
    },
    /// A load is replayed on the cluster.
    ClusterReplay {
        /// The load.
        load: &'a str,
        /// When its requests arrive.
        arrivals: Arrivals,
        /// How long it takes.
        seconds: u32,
    },
    /// A run for the comparison of throughput starts.
    ThroughputRun {
        /// The load.
        load: &'a str,
        /// Threads that send requests.
        threads: u32,
        /// The number of the repeat.
        repeat: u32,
    },
}
