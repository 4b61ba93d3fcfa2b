//! Real against synthetic load: a trace and synthetic loads of its keys on the same caches.
//!
//! Everything is computed from [`CacheReplay`]s and [`SimulatedCache`]s; nothing is measured here. `docs/real-vs-synthetic.md` describes each field.

mod cluster;
mod comparison;
mod curves;
mod decomposition;
mod estimate;
pub mod findings;
mod headline;
mod load_names;
mod misses;
mod replays;
mod slabs;
mod throughput;
mod zipf_fit;

pub use cluster::{Arrivals, BoxPlot, HotSpots, MeasuredNodes, NodeLoad, hot_spot_decomposition, node_seconds};
pub use comparison::LoadComparison;
pub use curves::{
    CacheSizeCurve, CacheSizePoint, CurveDifference, EngineResult, EngineSpread, engine_result, engine_spreads,
};
pub use decomposition::{
    ComparedResult, Decomposition, EXACT, Property, PropertyEffect, engine_decompositions, simulated_decompositions,
    slab_decompositions, steps_to_zipf,
};
pub use estimate::Estimate;
pub use headline::{GradedSentence, headline, signed_points};
pub use load_names::{
    LATEST, SHUFFLED, SHUFFLED_OPERATIONS, TRACE, UNIFORM, ZIPF, ZIPF_CURVE, is_shuffled_within, one_size,
    shuffled_within,
};
pub use misses::{BinnedMisses, SimulatedCache, miss_difference};
pub use replays::{CacheReplay, ComparedLoad};
pub use slabs::{ONE_SIZE, SPREAD_SIZES, SlabComparison, SlabResult, slab_results};
pub use throughput::{STATIONARY, Throughput, ThroughputResult, ThroughputRun, throughput_results};
pub use zipf_fit::ZipfFits;

#[cfg(test)]
mod tests;
