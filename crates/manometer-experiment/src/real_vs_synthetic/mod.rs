//! The error of synthetic loads: a trace and synthetic loads of its keys, replayed on the same caches.
//!
//! A synthetic load is the trace with newly drawn keys, and nothing else differs: the same operations in the same order,
//! as many keys, of the same sizes, sent by the same replay. The results are computed by
//! [`manometer_analysis::real_vs_synthetic`].

mod cache;
mod error;
mod recorded_trace;
mod replaying;
mod run;
mod slabs;
mod synthetic;

pub use error::RealVsSyntheticError;
pub use run::{ComparisonProgress, planned_replays, run};
