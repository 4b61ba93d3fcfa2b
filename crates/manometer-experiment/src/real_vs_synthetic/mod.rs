//! The error of synthetic loads: a trace and synthetic loads of its keys, on exactly simulated and on real caches.
//!
//! From the trace to a synthetic load one property after the other is taken away, and nothing else differs: the same
//! operations, as many keys, sent by the same replay. The results are computed by
//! [`manometer_analysis::real_vs_synthetic`].

mod cache;
mod cluster;
mod engine_trials;
mod error;
mod exact_cache;
mod hot_spots;
mod load;
mod progress;
mod recorded_trace;
mod replaying;
mod run;
mod slabs;
mod synthetic;
mod throughput;
mod zipf_fit;

pub use error::RealVsSyntheticError;
pub use progress::ComparisonProgress;
pub use run::{planned_replays_max, run};
