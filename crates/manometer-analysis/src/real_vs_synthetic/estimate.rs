//! A value with its 95 % interval.

use serde::Serialize;

use crate::statistics::SIGNIFICANCE;
use crate::statistics::moments::mean;
use crate::statistics::student::critical_value;

/// A mean, or a difference of means, with its 95 % interval over repeats or over blocks of time.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Estimate {
    /// The value.
    pub mean: Option<f64>,
    /// The interval's lower end.
    pub ci_low: Option<f64>,
    /// The interval's upper end.
    pub ci_high: Option<f64>,
    /// The number of repeats or blocks.
    pub samples: usize,
    /// Why something is null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
}

impl Estimate {
    /// The mean of `values`.
    pub fn of(values: &[f64]) -> Self {
        Self::of_several(values, 1)
    }

    /// The mean of `values`, one of `comparisons` whose intervals hold together with 95 % (Bonferroni).
    pub fn of_several(values: &[f64], comparisons: usize) -> Self {
        let Some(mean) = mean(values) else {
            return Self { reason: Some("nothing was measured"), ..Self::default() };
        };
        let samples = values.len();
        let degrees_of_freedom = samples as f64 - 1.0;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let half_width = critical_value(SIGNIFICANCE / comparisons.max(1) as f64, degrees_of_freedom)
            .map(|critical| critical * (squares / degrees_of_freedom / samples as f64).sqrt());
        Self {
            mean: Some(mean),
            ci_low: half_width.map(|half| mean - half),
            ci_high: half_width.map(|half| mean + half),
            samples,
            reason: half_width.is_none().then_some("an interval needs two repeats"),
        }
    }

    /// The geometric mean of `ratios`.
    pub fn of_ratios(ratios: &[f64]) -> Self {
        let logarithms: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
        Self::of(&logarithms).map(f64::exp)
    }

    /// Applies `change` to the mean and to the ends of its interval.
    pub(super) fn map(self, change: impl Fn(f64) -> f64) -> Self {
        let [mean, ci_low, ci_high] = [self.mean, self.ci_low, self.ci_high].map(|value| value.map(&change));
        Self { mean, ci_low, ci_high, ..self }
    }

    /// Whether it differs significantly from 0.
    pub fn is_significant(&self) -> bool {
        self.ci_low.is_some_and(|low| low > 0.0) || self.ci_high.is_some_and(|high| high < 0.0)
    }
}
