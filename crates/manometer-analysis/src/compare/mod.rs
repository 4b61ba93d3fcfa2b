//! Recordings beside each other: whether two differ, by how much and how sure that is, and where a series of them
//! changed.
//!
//! `docs/compare.md` says how. What one recording means is left to [`crate::summarise`].

mod own;
mod pair;
mod read;
mod reference;
pub(crate) mod rules;
mod series;
mod state;
mod unlike;

use std::path::PathBuf;

use manometer_measure::RecordingError;
use manometer_measure::plan::{Criterion, Settings};
use serde::Serialize;

use crate::statistics::bootstrap::Side;

pub use pair::{Comparison, PhaseComparison, Pressures, pair};
pub use read::{Group, Run, RunPhase, Runs, recordings_in};
pub use reference::{reference_drift, repeats};
pub use series::{ChangeOfPhase, PhaseSeries, SeriesComparison, series};
pub use unlike::{Conditions, unlike};

/// Differences of less than this share do not matter, unless said otherwise.
pub const BOUND: f64 = 0.05;

/// Recordings that cannot be compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// One cannot be read.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// A folder holds none.
    #[error("{} is neither a recording nor a folder of recordings (`runs/001`, `runs/002` …)", .0.display())]
    NoRecording(PathBuf),
    /// Nobody is judged in one.
    #[error("{} has no primary: nobody's performance is judged in it, so there is nothing to compare", .0.display())]
    NoPrimary(PathBuf),
    /// They judge by different criteria.
    #[error("they are judged by different criteria: {a} by {by_a}, {b} by {by_b}", a = a.display(), b = b.display())]
    UnlikeCriteria {
        /// The one.
        a: PathBuf,
        /// Its criterion.
        by_a: String,
        /// The other.
        b: PathBuf,
        /// Its criterion.
        by_b: String,
    },
    /// No phase is in both.
    #[error(
        "{} and {} have no phase in common: a phase is the same where its id, its label and its settings are; {detail}",
        a.display(), b.display()
    )]
    NothingInCommon {
        /// The one.
        a: PathBuf,
        /// The other.
        b: PathBuf,
        /// What each has.
        detail: String,
    },
    /// The bound makes no sense.
    #[error("a bound of {0} makes no sense: write a share above 0 and below 1, such as 5% or 0.05")]
    Bound(f64),
}

fn words(criterion: &Criterion) -> String {
    format!("{} in {}", criterion.metric, criterion.unit)
}

/// A number with its 95 % interval.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Interval {
    /// The number.
    pub value: Option<f64>,
    /// The interval's lower end.
    pub ci_low: Option<f64>,
    /// The interval's upper end.
    pub ci_high: Option<f64>,
    /// Why something is null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Interval {
    fn of(value: f64, ends: Option<(f64, f64)>, reason: &str) -> Self {
        Self {
            value: value.is_finite().then_some(value),
            ci_low: ends.map(|ends| ends.0),
            ci_high: ends.map(|ends| ends.1),
            reason: ends.is_none().then(|| reason.to_owned()),
        }
    }

    fn missing(reason: &str) -> Self {
        Self { reason: Some(reason.to_owned()), ..Self::default() }
    }
}

/// What can be said of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The whole interval of the ratio lies within the bound around 1.
    Same,
    /// The whole interval lies outside of it.
    Different,
    /// Neither.
    Unknown,
}

/// Which way a difference goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// The later one is better.
    Better,
    /// The later one is worse.
    Worse,
}

impl Direction {
    /// Which way `ratio`, the later by the earlier, goes.
    fn of(ratio: f64, criterion: &Criterion) -> Self {
        match (ratio > 1.0, criterion.better) {
            (true, manometer_measure::plan::Better::Higher) | (false, manometer_measure::plan::Better::Lower) => {
                Self::Better
            }
            _ => Self::Worse,
        }
    }
}

/// What one side reached in a phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reached {
    /// The mean over its runs.
    pub mean: Option<f64>,
    /// How many runs measured it.
    pub runs: usize,
}

impl Reached {
    fn of(runs: &[&RunPhase]) -> Self {
        let means: Vec<f64> = runs.iter().filter_map(|phase| phase.mean).collect();
        Self { mean: crate::statistics::moments::mean(&means), runs: means.len() }
    }
}

/// Checks that `bound` is a share.
fn checked_bound(bound: f64) -> Result<f64, CompareError> {
    if bound > 0.0 && bound < 1.0 { Ok(bound) } else { Err(CompareError::Bound(bound)) }
}

/// Whether nothing was set by a sweep.
fn is_empty(settings: &Settings) -> bool {
    settings.is_empty()
}

/// How `ends`, the interval of a ratio, lies to the bound.
fn verdict(ends: Option<(f64, f64)>, bound: f64) -> Verdict {
    match ends {
        Some((low, high)) if low >= 1.0 - bound && high <= 1.0 + bound => Verdict::Same,
        Some((low, high)) if high < 1.0 - bound || low > 1.0 + bound => Verdict::Different,
        _ => Verdict::Unknown,
    }
}

/// The most further runs that are told; more are not worth a number.
const MOST_RUNS: usize = 1_000;

/// About how many further runs on each side make the interval narrow enough for a verdict; nothing where no number up
/// to [`MOST_RUNS`] does, because the ratio lies too near the bound.
fn runs_needed(a: &Side, b: &Side, bound: f64) -> Option<usize> {
    let ratio = b.value / a.value;
    let room = [1.0 - bound, 1.0 + bound].iter().map(|edge| (ratio - edge).abs()).fold(f64::INFINITY, f64::min);
    let narrow = |more: &usize| {
        crate::statistics::bootstrap::half_width_with(a, b, *more).is_some_and(|half_width| half_width < room)
    };
    (1..=MOST_RUNS).find(narrow)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_needs_the_whole_interval() {
        let of = |low, high| verdict(Some((low, high)), 0.05);
        assert_eq!(of(0.96, 1.04), Verdict::Same);
        assert_eq!(of(0.97, 0.99), Verdict::Same, "surely a difference, and surely none that matters");
        assert_eq!(of(0.80, 0.94), Verdict::Different);
        assert_eq!(of(1.06, 1.50), Verdict::Different);
        assert_eq!(of(0.90, 0.96), Verdict::Unknown);
        assert_eq!(of(0.50, 2.00), Verdict::Unknown);
        assert_eq!(verdict(None, 0.05), Verdict::Unknown);
    }

    #[test]
    fn a_bound_is_a_share() {
        assert!(checked_bound(0.05).is_ok());
        for wrong in [0.0, -0.1, 1.0, 5.0, f64::NAN] {
            assert!(checked_bound(wrong).unwrap_err().to_string().contains("5%"), "{wrong}");
        }
    }
}
