//! Numbers with their intervals, units and reasons, as `summary.json` has them.

use serde::{Deserialize, Serialize};

/// The mean of a phase's sample intervals, with its 95 % confidence interval.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct MeanEstimate {
    /// The mean.
    pub mean: Option<f64>,
    /// The interval's lower end.
    pub ci_low: Option<f64>,
    /// The interval's upper end.
    pub ci_high: Option<f64>,
    /// The number of sample intervals, or of blocks in an interleaved plan.
    pub samples: usize,
    /// The unit of the mean and its interval.
    pub unit: String,
    /// The 5 %, 25 %, 50 %, 75 % and 95 % quantiles of the sample intervals; only where there is no interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantiles: Option<[f64; 5]>,
    /// Why something is null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The length of the phase that would give an interval, where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed: Option<NeededLength>,
}

/// A number with its 95 % confidence interval, such as a pressure or a ratio.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct IntervalEstimate {
    /// The number.
    pub value: Option<f64>,
    /// The interval's lower end.
    pub ci_low: Option<f64>,
    /// The interval's upper end.
    pub ci_high: Option<f64>,
    /// Why something is null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The length of the phases that would give an interval, or a narrower one, where there is none or it is wide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed: Option<NeededLength>,
}

impl IntervalEstimate {
    /// `value` with the ends of its interval, or `reason` where there are none.
    pub(crate) fn of(value: f64, ends: Option<(f64, f64)>, reason: &str) -> Self {
        Self {
            value: value.is_finite().then_some(value),
            ci_low: ends.map(|(low, _)| low),
            ci_high: ends.map(|(_, high)| high),
            reason: ends.is_none().then(|| reason.to_owned()),
            needed: None,
        }
    }

    /// Whether the interval lies wholly above or below 0; not without an interval.
    pub(crate) fn excludes_0(&self) -> bool {
        self.ci_low.zip(self.ci_high).is_some_and(|(low, high)| low > 0.0 || high < 0.0)
    }

    /// A number that was not measured, and why.
    pub(crate) fn missing(reason: &str) -> Self {
        Self { reason: Some(reason.to_owned()), ..Self::default() }
    }
}

/// The length of a phase that would give a confidence interval, or one narrow enough in four of five repetitions; estimated
/// from the phase's own variance and the memory of its run, or from its rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NeededLength {
    /// The measured length in seconds of each phase that the interval is computed from.
    pub phase_s: f64,
    /// The number of rounds that make this length in an interleaved plan; absent in a ladder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<usize>,
    /// The width that the interval then has at most, in the unit of the number; null where any interval is missing.
    pub width: Option<f64>,
    /// What this length is needed for, as text.
    pub reason: String,
}

/// The latencies of one operation in a phase, in microseconds.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LatencySummary {
    /// The median.
    pub p50: Option<f64>,
    /// The 90th percentile.
    pub p90: Option<f64>,
    /// The 99th percentile.
    pub p99: Option<f64>,
    /// The 99.9th percentile.
    pub p999: Option<f64>,
    /// The maximum.
    pub max: Option<f64>,
    /// The number of requests.
    pub samples: u64,
}
