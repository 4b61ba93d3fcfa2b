//! Comparison of recordings: whether two differ, by how much and with what confidence, and where a series changed.
//!
//! `docs/compare.md` describes the method. What a single recording means is [`crate::summarise`]'s business.

mod conditions;
mod error;
mod gate;
mod initial_state;
mod judge;
mod pair;
mod reference;
mod result;
mod run_findings;
mod runs;
mod series;
mod verdict;

use manometer_measure::Recording;
use manometer_measure::event::Finding;

use crate::findings::Rule;

pub use conditions::{Conditions, condition_differences};
pub use error::CompareError;
pub use gate::GateResult;
pub use judge::judge_comparison;
pub use pair::{Comparison, PhaseComparison, PressureComparison, compare_pair};
pub use reference::{reference_drift, repeat_numbers};
pub use result::{ComparisonResult, compare};
pub use runs::{ComparedRun, ComparedRuns, RunGroup, RunPhase, recordings_in};
pub use series::{PerformanceChange, PhaseSeries, SeriesComparison, compare_series};
pub use verdict::{DEFAULT_BOUND, Direction, MeanOverRuns, PhaseVerdict};

/// The findings about several recordings together: conditions that differ, and a drift of the reference run.
pub fn common_findings(recordings: &[&Recording]) -> Vec<Finding> {
    let conditions: Vec<Conditions> = recordings.iter().map(|one| Conditions::of(one)).collect();
    let mut findings = condition_differences(recordings.iter().map(|one| one.dir.as_path()).zip(&conditions));
    findings.extend(reference_drift(recordings));
    findings
}

/// The rules for several recordings, in the order in which their findings are reported.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    let single = [&run_findings::NO_RECORDING].into_iter();
    single.chain(conditions::rules()).chain([&initial_state::DIFFERENT_STATES, &reference::REFERENCE_DRIFT])
}
