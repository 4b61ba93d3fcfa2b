//! The mean of autocorrelated samples and its standard error; of a long series from its slow waves.
//!
//! Short series are the business of [`memory`](super::memory). A long one is divided into k batches of at least three
//! autocorrelation times: ten where they fit, and no interval with fewer than five. Classical batch means (Schmeiser 1982; Flegal & Jones 2010) estimate the standard error from
//! the differences between the batch means: k - 1 contrasts with sharp edges. Compaction makes a saw-tooth; sharp
//! edges out of step with it count the teeth as noise, so that intervals cover up to 100 % instead of 95 %, and too
//! little where the lag-1 autocorrelation is 0.87. The contrasts used here are smooth waves instead: sine and cosine of
//! one to (k - 1) / 2 turns over the series (Foley & Goldsman 1999; Phillips 2005; Lazarus, Lewis, Stock & Watson
//! 2018). A saw-tooth leaks into them only as much as its cut end shifts the mean. `tests/integration/coverage.rs` measures the
//! coverage.

use std::f64::consts::TAU;

use super::SIGNIFICANCE;
use super::autocorrelation::autocorrelation_time;
use super::moments::mean;
use super::student::{combined_degrees_of_freedom, critical_value, p_value};

/// A batch holds at least this many autocorrelation times.
pub const TIMES_PER_BATCH: f64 = 3.0;

/// Fewer batches give no interval.
pub const FEWEST_BATCHES: usize = 5;

/// More batches would be shorter, for little gain (Schmeiser 1982).
pub const MOST_BATCHES: usize = 10;

/// A mean with its standard error, in the unit of the samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SampleMean {
    /// The mean of all samples.
    pub mean: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// The degrees of freedom of the standard error.
    pub degrees_of_freedom: f64,
}

impl SampleMean {
    /// The mean of `series` with the standard error from its slow waves (sine and cosine of each, hence an even number
    /// of degrees of freedom); `None` where the series has fewer than five batches of three autocorrelation times.
    pub fn of_waves(series: &[f64]) -> Option<Self> {
        let waves = (batch_count(series.len(), autocorrelation_time(series))? - 1) / 2;
        let (mean, degrees_of_freedom) = (mean(series)?, 2.0 * waves as f64);
        let squares: f64 = (1..=waves).map(|turns| wave_power(series, turns)).sum();
        let standard_error = (squares / degrees_of_freedom / series.len() as f64).sqrt();
        (mean.is_finite() && standard_error.is_finite()).then_some(Self { mean, standard_error, degrees_of_freedom })
    }

    /// The lower and the upper end of the 95 % confidence interval.
    pub fn interval(&self) -> Option<(f64, f64)> {
        let half_width = critical_value(SIGNIFICANCE, self.degrees_of_freedom)? * self.standard_error;
        Some((self.mean - half_width, self.mean + half_width))
    }

    /// The variance of the mean.
    pub fn variance(&self) -> f64 {
        self.standard_error * self.standard_error
    }

    /// The two-sided p-value of Welch's test (1947) of equal means.
    pub fn difference_p_value(&self, other: &Self) -> f64 {
        let difference = self.mean - other.mean;
        let parts = [(self.variance(), self.degrees_of_freedom), (other.variance(), other.degrees_of_freedom)];
        let test = combined_degrees_of_freedom(&parts).and_then(|degrees_of_freedom| {
            p_value(difference / (self.variance() + other.variance()).sqrt(), degrees_of_freedom)
        });
        // Without variance, every difference is significant.
        test.unwrap_or(if difference == 0.0 { 1.0 } else { 0.0 })
    }
}

/// The number of batches in `samples` samples with an autocorrelation time of `time` samples: as many of three times as
/// fit, at most ten; `None` for fewer than five.
pub fn batch_count(samples: usize, time: f64) -> Option<usize> {
    let fit = (samples as f64 / (TIMES_PER_BATCH * time)).floor() as usize;
    (fit >= FEWEST_BATCHES).then_some(fit.min(MOST_BATCHES))
}

/// The squared length of the projection of `series` on the cosine and sine of `turns` turns over it:
/// 2/n |Σ x(t) exp(2πi · turns · t / n)|². It is orthogonal to the mean for every `turns` above 0.
fn wave_power(series: &[f64], turns: usize) -> f64 {
    let step = TAU * turns as f64 / series.len() as f64;
    let (cosine, sine) = series.iter().enumerate().fold((0.0, 0.0), |(cosine, sine), (t, value)| {
        let (sine_at, cosine_at) = (step * t as f64).sin_cos();
        (cosine + value * cosine_at, sine + value * sine_at)
    });
    2.0 * (cosine * cosine + sine * sine) / series.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_follow_the_autocorrelation_time() {
        assert_eq!(batch_count(600, 1.0), Some(10));
        assert_eq!(batch_count(600, 25.0), Some(8));
        assert_eq!(batch_count(600, 40.0), Some(5));
        assert_eq!(batch_count(600, 41.0), None);
        assert_eq!(batch_count(10, 1.0), None);
    }

    #[test]
    fn a_constant_series_has_no_standard_error() {
        for constant in [&[7.0; 100][..], &[7.0; 400]] {
            let sample_mean = SampleMean::of(constant).unwrap();
            assert_eq!(sample_mean.mean, 7.0);
            assert!(sample_mean.standard_error < 1e-12);
        }
    }

    #[test]
    fn too_short_a_series_has_no_interval() {
        assert_eq!(SampleMean::of(&[]), None);
        assert_eq!(SampleMean::of(&[1.0, 2.0, 3.0, 2.0, 1.0, 2.0]), None);
        let drift = |samples: i32| (0..samples).map(f64::from).collect::<Vec<_>>();
        assert_eq!(SampleMean::of(&drift(700)), None);
        let (low, high) = SampleMean::of(&drift(600)).and_then(|mean| mean.interval()).unwrap();
        let independent = 2.0 * 1.96 * (600.0_f64 * 600.0 / 12.0 / 600.0).sqrt();
        assert!(high - low > 3.0 * independent, "a drift of 600 has a wide interval: {low} {high}");
    }

    #[test]
    fn waves_are_orthogonal_to_the_mean_and_to_each_other() {
        let wave: Vec<f64> = (0..64).map(|t| 5.0 + (TAU * 3.0 * f64::from(t) / 64.0 + 0.4).cos()).collect();
        for turns in 1..5 {
            let expected = if turns == 3 { 32.0 } else { 0.0 };
            assert!((wave_power(&wave, turns) - expected).abs() < 1e-9, "{turns}");
        }
    }

    #[test]
    fn welch_p_values_of_equal_and_of_exact_means() {
        let a = SampleMean { mean: 10.0, standard_error: 1.0, degrees_of_freedom: 9.0 };
        assert_eq!(a.difference_p_value(&a), 1.0);
        assert!(a.difference_p_value(&SampleMean { mean: 20.0, ..a }) < 1e-4);
        let exact = SampleMean { standard_error: 0.0, ..a };
        assert_eq!(exact.difference_p_value(&exact), 1.0);
        assert_eq!(exact.difference_p_value(&SampleMean { mean: 11.0, ..exact }), 0.0);
    }
}
