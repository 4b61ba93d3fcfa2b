//! Real against synthetic load: a trace and synthetic loads of its keys on the same caches.
//!
//! Everything is computed from [`CacheReplay`]s; nothing is measured here. `docs/real-vs-synthetic.md` describes each field.

mod cluster;
mod comparison;
mod curves;
pub mod findings;
mod repeat_mean;
mod replays;
mod slabs;

pub use cluster::{BoxPlot, HotSpots, NodeLoad, node_load};
pub use comparison::{LoadComparison, headline};
pub use curves::{
    CacheSizeCurve, CacheSizePoint, CurveDifference, EngineResult, EngineSpread, engine_result, engine_spreads,
};
pub use repeat_mean::RepeatMean;
pub use replays::{CacheReplay, ComparedLoad, TRACE, ZIPF};
pub use slabs::{ONE_SIZE, SPREAD_SIZES, SlabComparison, SlabResult, slab_results};

#[cfg(test)]
mod tests;
