//! Comparison of recordings: whether two differ, by how much and with what confidence, and where a series changed.
//!
//! `docs/compare.md` describes the method. What a single recording means is [`crate::summarise`]'s business.

mod conditions;
mod error;
mod gate;
mod initial_state;
mod judge;
mod needed_lengths;
mod pair;
mod reference;
mod result;
pub(crate) mod run_findings;
mod runs;
mod series;
mod verdict;
mod workloads;

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
pub use run_findings::skip_reason;
pub use runs::{ComparedRun, ComparedRuns, RunGroup, RunPhase, recordings_in};
pub use series::{PerformanceChange, PhaseSeries, SeriesComparison, compare_series};
pub(crate) use workloads::differences_from_plan;

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
    let of_runs = [&run_findings::NO_RECORDING, &run_findings::VOID_RECORDING].into_iter();
    let workloads = [&workloads::OTHER_PRIMARY, &workloads::OTHER_NEIGHBOURS, &workloads::OTHER_SETTINGS];
    let states = [&initial_state::DIFFERENT_STATES, &reference::REFERENCE_DRIFT];
    of_runs.chain(conditions::rules()).chain(workloads).chain(states)
}
