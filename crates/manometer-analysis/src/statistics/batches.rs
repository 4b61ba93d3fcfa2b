//! How sure a mean is that comes from samples which remember each other.
//!
//! The series is divided into batches of at least three autocorrelation times, ten where that many fit;
//! with fewer than five there is no interval. The classical batch-means estimate (Schmeiser 1982; Flegal &
//! Jones 2010) reads the error of the mean from the differences between the k batch means: k - 1 contrasts
//! with sharp edges. Compaction makes a saw-tooth, and sharp edges that do not fall in step with it count
//! its teeth as noise: such intervals cover up to 100 % instead of 95 %, and too little where lag-1
//! autocorrelation is 0.87. So the contrasts among the batches are taken as smooth waves instead, sine and
//! cosine of one to (k - 1) / 2 turns over the series (Foley & Goldsman 1999; Phillips 2005; Lazarus, Lewis,
//! Stock & Watson 2018). A saw-tooth leaks into them as much as its cut end shifts the mean, and not more.
//! `tests/coverage.rs` measures what is covered.

use std::f64::consts::TAU;

use super::SIGNIFICANCE;
use super::autocorrelation::autocorrelation_time;
use super::moments::mean;
use super::student::{combined_freedom, critical_value, p_value};

/// A batch holds at least this many autocorrelation times.
pub const TIMES_PER_BATCH: f64 = 3.0;

/// With fewer batches there is no interval.
pub const FEWEST_BATCHES: usize = 5;

/// More batches would make them shorter for little gain (Schmeiser 1982).
pub const MOST_BATCHES: usize = 10;

/// A mean with its uncertainty, in the unit of the samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// The mean of all samples.
    pub mean: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// The degrees of freedom of the standard error.
    pub freedom: f64,
}

impl Measured {
    /// The mean of `series` with the standard error that the series' slow waves show (two for every
    /// whole wave, hence an even number of degrees of freedom); nothing where the
    /// series has fewer than five batches of three autocorrelation times.
    pub fn of(series: &[f64]) -> Option<Self> {
        let waves = (batch_count(series.len(), autocorrelation_time(series))? - 1) / 2;
        let (mean, freedom) = (mean(series)?, 2.0 * waves as f64);
        let squares: f64 = (1..=waves).map(|turns| wave_power(series, turns)).sum();
        let standard_error = (squares / freedom / series.len() as f64).sqrt();
        (mean.is_finite() && standard_error.is_finite()).then_some(Self { mean, standard_error, freedom })
    }

    /// The 95 % interval, its lower and its upper end.
    pub fn interval(&self) -> Option<(f64, f64)> {
        let half_width = critical_value(SIGNIFICANCE, self.freedom)? * self.standard_error;
        Some((self.mean - half_width, self.mean + half_width))
    }

    /// The variance of the mean.
    pub fn variance(&self) -> f64 {
        self.standard_error * self.standard_error
    }

    /// The two-sided p-value of Welch's test (1947) that both means are the same.
    pub fn difference_p_value(&self, other: &Self) -> f64 {
        let difference = self.mean - other.mean;
        let parts = [(self.variance(), self.freedom), (other.variance(), other.freedom)];
        let test = combined_freedom(&parts)
            .and_then(|freedom| p_value(difference / (self.variance() + other.variance()).sqrt(), freedom));
        // Without any scatter every difference is one.
        test.unwrap_or(if difference == 0.0 { 1.0 } else { 0.0 })
    }
}

/// How many batches `samples` samples make whose autocorrelation time is `time` samples: as many of three
/// times as fit, at most ten; nothing for fewer than five.
pub fn batch_count(samples: usize, time: f64) -> Option<usize> {
    let fit = (samples as f64 / (TIMES_PER_BATCH * time)).floor() as usize;
    (fit >= FEWEST_BATCHES).then_some(fit.min(MOST_BATCHES))
}

/// The squared length of the projection of `series` on the cosine and the sine that turn `turns` times over
/// it: 2/n |Σ x(t) exp(2πi · turns · t / n)|². No turn above 0 sees the mean.
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
    fn a_constant_is_known_exactly() {
        let measured = Measured::of(&[7.0; 100]).unwrap();
        assert_eq!(measured.mean, 7.0);
        assert!(measured.standard_error < 1e-12);
    }

    #[test]
    fn too_short_a_series_has_no_interval() {
        assert_eq!(Measured::of(&[]), None);
        assert_eq!(Measured::of(&[1.0, 2.0, 3.0, 2.0, 1.0, 2.0]), None);
        let drift: Vec<f64> = (0..600).map(f64::from).collect();
        assert_eq!(Measured::of(&drift), None);
    }

    #[test]
    fn waves_are_blind_to_the_mean_and_to_each_other() {
        let wave: Vec<f64> = (0..64).map(|t| 5.0 + (TAU * 3.0 * f64::from(t) / 64.0 + 0.4).cos()).collect();
        for turns in 1..5 {
            let expected = if turns == 3 { 32.0 } else { 0.0 };
            assert!((wave_power(&wave, turns) - expected).abs() < 1e-9, "{turns}");
        }
    }

    #[test]
    fn equal_means_do_not_differ_and_exact_ones_do() {
        let a = Measured { mean: 10.0, standard_error: 1.0, freedom: 9.0 };
        assert_eq!(a.difference_p_value(&a), 1.0);
        assert!(a.difference_p_value(&Measured { mean: 20.0, ..a }) < 1e-4);
        let exact = Measured { standard_error: 0.0, ..a };
        assert_eq!(exact.difference_p_value(&exact), 1.0);
        assert_eq!(exact.difference_p_value(&Measured { mean: 11.0, ..exact }), 0.0);
    }
}
