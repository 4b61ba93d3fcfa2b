//! The whole comparison.

use manometer_measure::Grade;
use manometer_measure::event::Finding;
use serde::Serialize;

use super::cluster::HotSpots;
use super::curves::{EngineResult, EngineSpread};
use super::decomposition::Decomposition;
use super::misses::SimulatedCache;
use super::replays::{CacheReplay, ComparedLoad};
use super::slabs::SlabComparison;
use super::throughput::Throughput;
use super::zipf_fit::ZipfFits;

/// The comparison of a trace with synthetic loads: what `--format json` prints.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoadComparison {
    /// The version of Manometer.
    pub manometer: &'static str,
    /// The experiment's name.
    pub experiment: String,
    /// `complete`, `interrupted` or `failed`.
    pub status: &'static str,
    /// The main result in a sentence.
    pub headline: String,
    /// What the headline may be used for.
    pub grade: Grade,
    /// The fits of Zipf's law to the trace.
    pub zipf: ZipfFits,
    /// The loads.
    pub loads: Vec<ComparedLoad>,
    /// Every load on exactly simulated LRU caches.
    pub simulated: Vec<SimulatedCache>,
    /// Why the Zipf load differs from the trace.
    pub decompositions: Vec<Decomposition>,
    /// The results on each engine.
    pub engines: Vec<EngineResult>,
    /// The spread between the engines under each load.
    #[serde(rename = "between_engines")]
    pub engine_spreads: Vec<EngineSpread>,
    /// The hot spots of a cluster.
    pub hot_spots: Option<HotSpots>,
    /// Values of many sizes against values of one size.
    pub slabs: Option<SlabComparison>,
    /// Throughput next to that of a stationary load.
    pub throughput: Option<Throughput>,
    /// What a reader must know.
    pub findings: Vec<Finding>,
    /// Every replay.
    pub replays: Vec<CacheReplay>,
}
