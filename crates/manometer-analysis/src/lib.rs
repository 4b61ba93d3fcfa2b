//! What a recording means: steady state, confidence intervals, pressure, the pressure scale, findings.
//!
//! [`summarise`](summarise::summarise()) computes everything from a recording and nothing else. The formulas are in
//! [`statistics`]; `docs/analysis.md` gives their sources. `manometer-report` presents the results.
//!
//! ```
//! use manometer_analysis::summarise;
//! use manometer_measure::Recording;
//! # use manometer_measure::event::{Event, RunStatus};
//! # use manometer_measure::{Plan, RecordingWriter, clock::WallAnchor};
//! # use serde_json::json;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path();
//! # let criterion = json!({ "metric": "throughput", "unit": "ops/s", "better": "higher" });
//! # let plan = json!({ "experiment": "example", "criterion": criterion, "interval_s": 1.0, "seed": 1, "workloads": [], "phases": [] });
//! # let plan: Plan = serde_json::from_value(plan)?;
//! # let start = WallAnchor { monotonic_ns: 1, unix_ns: 1_600_000_000_000_000_000 };
//! # RecordingWriter::create(folder, start, "", &plan, &json!({ "host": {} }))?.finish(2, RunStatus::Complete)?;
//! let summary = summarise(&Recording::open(folder)?);
//! println!("{}", summary.headline);
//! for phase in &summary.phases {
//!     println!("{}: {:?}", phase.label, phase.pressure);
//! }
//! # assert_eq!((summary.experiment.as_str(), summary.status.as_str()), ("example", "complete"));
//! # Ok(())
//! # }
//! ```

pub mod compare;
pub mod criterion;
mod criterion_series;
mod estimate;
mod fairness;
pub mod fidelity;
pub mod findings;
pub mod forecast;
pub mod interleaved;
mod latencies;
pub mod lsm_levels;
mod measured_time;
pub mod needed_length;
mod phase_outcome;
mod phase_result;
pub mod pressure;
mod prose;
pub mod real_vs_synthetic;
mod recording_data;
mod rounds_result;
pub mod rules;
pub mod runs_verdict;
pub mod scale;
pub mod statistics;
pub mod steady_state;
pub mod summarise;
pub mod summary;
pub mod time_series;
pub mod verdict;
mod workload_samples;

pub use summarise::summarise;
