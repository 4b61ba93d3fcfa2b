//! The whole comparison, and its headline.

use manometer_measure::event::Finding;
use serde::Serialize;
use serde_json::Value;

use super::cluster::HotSpots;
use super::curves::{EngineResult, EngineSpread};
use super::replays::{CacheReplay, ComparedLoad, ZIPF};
use super::slabs::SlabComparison;

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
    /// The fit of Zipf's law to the trace's popularity, or null.
    pub zipf: Value,
    /// The loads.
    pub loads: Vec<ComparedLoad>,
    /// The results on each engine.
    pub engines: Vec<EngineResult>,
    /// The spread between the engines under each load.
    #[serde(rename = "between_engines")]
    pub engine_spreads: Vec<EngineSpread>,
    /// The hot spots of a cluster.
    pub hot_spots: Option<HotSpots>,
    /// Values of many sizes against values of one size.
    pub slabs: Option<SlabComparison>,
    /// What a reader must know.
    pub findings: Vec<Finding>,
    /// Every replay.
    pub replays: Vec<CacheReplay>,
}

/// The largest error of the load that is fitted to the trace, in a sentence.
pub fn headline(engines: &[EngineResult]) -> String {
    let error = |engine: &EngineResult| {
        let zipf = engine.differences.iter().find(|difference| difference.load == ZIPF)?;
        let speed_up = zipf.speed_up.mean.filter(|_| zipf.speed_up.is_significant()).map(|error| {
            let direction = if error < 0.0 { "low" } else { "high" };
            format!(" (speed-up {:.1} % too {direction})", 100.0 * error.abs())
        });
        let points = 100.0 * zipf.max_abs;
        Some(format!("{points:.1} points of miss ratio on {}{}", engine.engine, speed_up.unwrap_or_default()))
    };
    let errors: Vec<String> = engines.iter().filter_map(error).collect();
    if errors.is_empty() {
        return "Nothing can be compared: too little was measured.".to_owned();
    }
    format!("The best-fitting Zipf load is off by up to {}.", errors.join(", by up to "))
}
