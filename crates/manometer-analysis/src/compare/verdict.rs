//! The verdict on a phase of a comparison, and what it needs.

use manometer_measure::plan::{BetterDirection, Criterion, Settings};
use serde::Serialize;

use super::error::CompareError;
use super::runs::RunPhase;
use crate::statistics::bootstrap::{BootstrapMean, half_width_with};
use crate::statistics::moments::mean;

/// The default bound: differences of less than this share do not matter.
pub const DEFAULT_BOUND: f64 = 0.05;

/// Whether two performances differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseVerdict {
    /// The whole interval of the ratio lies within the bound around 1.
    Same,
    /// The whole interval lies outside the bound.
    Different,
    /// Neither.
    Unknown,
}

impl PhaseVerdict {
    /// The verdict for a ratio with the interval `ends`.
    pub(super) fn of(ends: Option<(f64, f64)>, bound: f64) -> Self {
        match ends {
            Some((low, high)) if low >= 1.0 - bound && high <= 1.0 + bound => Self::Same,
            Some((low, high)) if high < 1.0 - bound || low > 1.0 + bound => Self::Different,
            _ => Self::Unknown,
        }
    }
}

/// The direction of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// The later performance is better.
    Better,
    /// The later performance is worse.
    Worse,
}

impl Direction {
    /// The direction of `ratio`, the later performance divided by the earlier.
    pub(super) fn of(ratio: f64, criterion: &Criterion) -> Self {
        match (ratio > 1.0, criterion.better) {
            (true, BetterDirection::Higher) | (false, BetterDirection::Lower) => Self::Better,
            _ => Self::Worse,
        }
    }
}

/// The mean performance of one side in a phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeanOverRuns {
    /// The mean over its runs.
    pub mean: Option<f64>,
    /// The number of runs in which the phase was measured.
    pub runs: usize,
}

impl MeanOverRuns {
    pub(super) fn of(phases: &[&RunPhase]) -> Self {
        let means: Vec<f64> = phases.iter().filter_map(|phase| phase.mean).collect();
        Self { mean: mean(&means), runs: means.len() }
    }
}

/// Whether a sweep set nothing.
pub(super) fn is_empty(settings: &Settings) -> bool {
    settings.is_empty()
}

/// Checks that `bound` is a share.
pub(super) fn checked_bound(bound: f64) -> Result<f64, CompareError> {
    if bound > 0.0 && bound < 1.0 { Ok(bound) } else { Err(CompareError::Bound(bound)) }
}

/// The most additional runs that are suggested.
const MAX_RUNS: usize = 1_000;

/// The estimated number of additional runs on each side that makes the interval narrow enough for a verdict; `None` where
/// [`MAX_RUNS`] are not enough, because the ratio is too close to the bound.
pub(super) fn runs_needed(a: &BootstrapMean, b: &BootstrapMean, bound: f64) -> Option<usize> {
    let ratio = b.value / a.value;
    let margin = [1.0 - bound, 1.0 + bound].iter().map(|edge| (ratio - edge).abs()).fold(f64::INFINITY, f64::min);
    (1..=MAX_RUNS).find(|more| half_width_with(a, b, *more).is_some_and(|half_width| half_width < margin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_needs_the_whole_interval() {
        let of = |low, high| PhaseVerdict::of(Some((low, high)), 0.05);
        assert_eq!(of(0.96, 1.04), PhaseVerdict::Same);
        assert_eq!(of(0.97, 0.99), PhaseVerdict::Same, "a significant difference that does not matter");
        assert_eq!(of(0.80, 0.94), PhaseVerdict::Different);
        assert_eq!(of(1.06, 1.50), PhaseVerdict::Different);
        assert_eq!(of(0.90, 0.96), PhaseVerdict::Unknown);
        assert_eq!(of(0.50, 2.00), PhaseVerdict::Unknown);
        assert_eq!(PhaseVerdict::of(None, 0.05), PhaseVerdict::Unknown);
    }

    #[test]
    fn a_bound_is_a_share() {
        assert!(checked_bound(0.05).is_ok());
        for wrong in [0.0, -0.1, 1.0, 5.0, f64::NAN] {
            assert!(checked_bound(wrong).unwrap_err().to_string().contains("5%"), "{wrong}");
        }
    }
}
