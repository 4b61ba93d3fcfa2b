//! What a recording means: steady state, confidence intervals, pressure, the pressure scale, findings.
//!
//! [`summarise`](summarise::summarise()) computes everything from a recording and nothing else. The formulas are in
//! [`statistics`]; `docs/analysis.md` gives their sources. `manometer-report` presents the results.

pub mod compare;
pub mod criterion;
mod criterion_series;
mod estimate;
mod fairness;
pub mod fidelity;
pub mod findings;
pub mod interleaved;
mod latencies;
pub mod lsm_levels;
mod measured_time;
pub mod needed_length;
mod phase_outcome;
mod phase_result;
pub mod pressure;
pub mod real_vs_synthetic;
mod recording_data;
mod rounds_result;
pub mod rules;
pub mod scale;
pub mod statistics;
pub mod steady_state;
pub mod summarise;
pub mod summary;
pub mod time_series;
pub mod verdict;

pub use summarise::summarise;
