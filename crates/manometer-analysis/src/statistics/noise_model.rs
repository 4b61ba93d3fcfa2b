//! Models of the noise of a throughput: what remembers, and the saw-tooth of compaction.
//!
//! A model is an AR(1) process of variance 1 plus a saw-tooth of unknown phase. Its autocovariance gives what a series
//! of `n` samples shows of it, the variances of its cosine contrasts, and what it does not show: the variance of its mean.

use std::f64::consts::PI;

/// The lag-1 autocorrelations of the AR(1) part.
const COEFFICIENTS: [f64; 8] = [0.0, 0.3, 0.5, 0.65, 0.8, 0.87, 0.93, 0.965];

/// An autocorrelation time of this many samples, that of 0.93, is possible however short the series is.
const ALWAYS_POSSIBLE_TIME: f64 = 28.0;

/// A longer autocorrelation time is possible up to this share of the series.
const POSSIBLE_SHARE: f64 = 1.0 / 8.0;

/// Half heights of the saw-tooth, in standard deviations of the AR(1) part.
const HEIGHTS: [f64; 2] = [1.0, 2.0];

/// The shortest and the longest period of the saw-tooth in samples, and the number of periods, at equal ratios.
const PERIODS: (f64, f64, i32) = (14.0, 160.0, 14);

/// How much one period differs from the next: the standard deviation as a share of the period.
const JITTERS: [f64; 2] = [0.0, 0.06];

/// The prior probability that there is no saw-tooth.
const WITHOUT_SAW: f64 = 0.3;

/// The harmonics of a saw-tooth that are added up.
const HARMONICS: u32 = 8;

/// Of slow contrasts, this many are used at most: the mean's variance depends on the slow end alone.
pub const MOST_CONTRASTS: usize = 64;

/// The prior of models is tilted towards those whose mean varies most, by this power of the ratio of the mean's variance to
/// that of the contrasts, for series of up to [`TILTED_SAMPLES`] samples, and in inverse proportion to the samples
/// beyond. So short a series shows little of a long memory, and an interval should rather be too wide.
const TILT: f64 = 1.2;
const TILTED_SAMPLES: f64 = 24.0;

/// What a model says of a series of some length.
#[derive(Debug, Clone, PartialEq)]
pub struct NoiseModel {
    /// The logarithm of its prior probability; −∞ where its memory is too long for the series.
    pub log_prior: f64,
    /// The variance of each cosine contrast.
    pub contrasts: Vec<f64>,
    /// The variance of the mean.
    pub mean: f64,
}

/// The models of a series of `samples` samples, in an order that does not depend on its length.
pub fn noise_models(samples: usize) -> Vec<NoiseModel> {
    let kernel = Kernel::of(samples);
    let autoregressive: Vec<(f64, (Vec<f64>, f64))> = COEFFICIENTS
        .iter()
        .map(|coefficient| (*coefficient, kernel.variances(&powers(*coefficient, samples))))
        .collect();
    let saws = saw_teeth(samples).into_iter().map(|saw| kernel.variances(&saw)).collect::<Vec<_>>();
    let saw_prior = (1.0 - WITHOUT_SAW) / (saws.len() * HEIGHTS.len()) as f64;
    let mut models = Vec::new();
    for (coefficient, (contrasts, mean)) in &autoregressive {
        let is_possible = time(*coefficient) <= f64::max(ALWAYS_POSSIBLE_TIME, POSSIBLE_SHARE * samples as f64);
        let log_prior = |prior: f64| if is_possible { prior.ln() } else { f64::NEG_INFINITY };
        models.push(NoiseModel { log_prior: log_prior(WITHOUT_SAW), contrasts: contrasts.clone(), mean: *mean });
        for ((saw_contrasts, saw_mean), height) in saws.iter().flat_map(|saw| HEIGHTS.map(|height| (saw, height))) {
            let power = height * height;
            models.push(NoiseModel {
                log_prior: log_prior(saw_prior),
                contrasts: contrasts.iter().zip(saw_contrasts).map(|(noise, saw)| noise + power * saw).collect(),
                mean: mean + power * saw_mean,
            });
        }
    }
    tilt_priors(&mut models, samples);
    models
}

/// The autocorrelation time of an AR(1) process, in samples.
fn time(coefficient: f64) -> f64 {
    (1.0 + coefficient) / (1.0 - coefficient)
}

fn tilt_priors(models: &mut [NoiseModel], samples: usize) {
    let power = TILT * f64::min(1.0, TILTED_SAMPLES / samples as f64);
    for model in models {
        let contrasts = model.contrasts.iter().sum::<f64>() / model.contrasts.len() as f64;
        model.log_prior += power * (samples as f64 * model.mean / contrasts).ln();
    }
}

/// The autocovariances of an AR(1) process of variance 1 at the lags below `samples`.
fn powers(coefficient: f64, samples: usize) -> Vec<f64> {
    std::iter::successors(Some(1.0), |power| Some(power * coefficient)).take(samples).collect()
}

/// The autocovariances of all saw-teeth of half height 1.
fn saw_teeth(samples: usize) -> Vec<Vec<f64>> {
    let (shortest, longest, count) = PERIODS;
    let ratio: f64 = longest / shortest;
    let periods = (0..count).map(|step| shortest * ratio.powf(f64::from(step) / f64::from(count - 1)));
    periods.flat_map(|period| JITTERS.map(|jitter| saw_tooth(period, jitter, samples))).collect()
}

/// The autocovariance of a saw-tooth from 1 down to −1 of random phase, as an interval of one sample sees it: harmonic k
/// has the power 2 / (π k)². Where periods differ, its phase walks at random.
fn saw_tooth(period: f64, jitter: f64, samples: usize) -> Vec<f64> {
    let harmonic = |k: u32, lag: f64| {
        let turns = f64::from(k) / period;
        let seen = (PI * turns).sin() / (PI * turns);
        let decay = (2.0 * PI * f64::from(k) * jitter).powi(2) * lag / period / 2.0;
        2.0 / (PI * f64::from(k)).powi(2) * seen * seen * (2.0 * PI * turns * lag).cos() * (-decay).exp()
    };
    (0..samples).map(|lag| (1..=HARMONICS).map(|k| harmonic(k, lag as f64)).sum()).collect()
}

/// The cosine contrasts of `series`, √(2/n) Σ x(t) cos(π j (t + ½) / n) for j = 1, 2 …: orthonormal, and orthogonal to the
/// mean; the first one follows a trend.
pub fn contrasts(series: &[f64]) -> Vec<f64> {
    let n = series.len() as f64;
    let contrast = |j: usize| {
        let step = PI * j as f64 / n;
        let sum: f64 = series.iter().enumerate().map(|(t, value)| value * (step * (t as f64 + 0.5)).cos()).sum();
        (2.0 / n).sqrt() * sum
    };
    (1..=contrast_count(series.len())).map(contrast).collect()
}

fn contrast_count(samples: usize) -> usize {
    samples.saturating_sub(1).min(MOST_CONTRASTS)
}

/// The weights of the autocovariances in the variances of the contrasts and of the mean.
struct Kernel {
    /// By contrast, the weights of the lags from 1.
    contrasts: Vec<Vec<f64>>,
    mean: Vec<f64>,
}

impl Kernel {
    /// The weight of lag h in the variance of contrast j is 2 ((1 − h/n) cos(ah) − sin(ah) / (n sin a)) with a = π j / n: the
    /// product of two cosines, summed over the series.
    fn of(samples: usize) -> Self {
        let n = samples as f64;
        let of_contrast = |j: usize| {
            let a = PI * j as f64 / n;
            let weight = |h: f64| 2.0 * ((1.0 - h / n) * (a * h).cos() - (a * h).sin() / (n * a.sin()));
            (1..samples).map(|h| weight(h as f64)).collect()
        };
        Self {
            contrasts: (1..=contrast_count(samples)).map(of_contrast).collect(),
            mean: (1..samples).map(|h| 2.0 * (1.0 - h as f64 / n) / n).collect(),
        }
    }

    /// The variances of the contrasts and of the mean of a process with these autocovariances from lag 0 on.
    fn variances(&self, autocovariances: &[f64]) -> (Vec<f64>, f64) {
        let (variance, lags) = (autocovariances[0], &autocovariances[1..]);
        let weighted = |weights: &[f64]| weights.iter().zip(lags).map(|(weight, value)| weight * value).sum::<f64>();
        let contrasts = self.contrasts.iter().map(|weights| variance + weighted(weights)).collect();
        (contrasts, variance / autocovariances.len() as f64 + weighted(&self.mean))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The variance of Σ w(t) x(t), term by term.
    fn quadratic(weights: &[f64], autocovariances: &[f64]) -> f64 {
        let pairs =
            weights.iter().enumerate().flat_map(|(s, a)| weights.iter().enumerate().map(move |(t, b)| (s, a, t, b)));
        pairs.map(|(s, a, t, b)| a * b * autocovariances[s.abs_diff(t)]).sum()
    }

    #[test]
    fn the_variances_are_those_of_the_covariance_matrix() {
        let n = 30;
        for autocovariances in [powers(0.87, n), saw_tooth(17.0, 0.06, n)] {
            let (contrasts, mean) = Kernel::of(n).variances(&autocovariances);
            let expected = quadratic(&vec![1.0 / n as f64; n], &autocovariances);
            assert!((mean - expected).abs() < 1e-12, "{mean} {expected}");
            for j in [1, 2, 7, n - 1] {
                let weight = |t: usize| (2.0 / n as f64).sqrt() * (PI * j as f64 * (t as f64 + 0.5) / n as f64).cos();
                let expected = quadratic(&(0..n).map(weight).collect::<Vec<_>>(), &autocovariances);
                assert!((contrasts[j - 1] - expected).abs() < 1e-12, "{j}: {} {expected}", contrasts[j - 1]);
            }
        }
    }

    #[test]
    fn contrasts_keep_the_spread_around_the_mean() {
        let series: Vec<f64> = (0..40).map(|t| 7.0 + f64::from(t * 7919 % 13)).collect();
        let mean = series.iter().sum::<f64>() / 40.0;
        let spread: f64 = series.iter().map(|value| (value - mean).powi(2)).sum();
        let squares: f64 = contrasts(&series).iter().map(|contrast| contrast * contrast).sum();
        assert!((squares / spread - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_saw_has_the_variance_of_a_saw() {
        // A long period has the variance 1/3 of a saw-tooth, but for the harmonics that are left out.
        let variance = saw_tooth(1_000.0, 0.0, 1)[0];
        assert!((variance - 1.0 / 3.0).abs() < 0.03, "{variance}");
    }

    #[test]
    fn models_have_one_order_and_a_long_memory_needs_a_long_series() {
        let (short, long) = (noise_models(12), noise_models(600));
        assert_eq!(short.len(), long.len());
        let possible = |models: &[NoiseModel]| models.iter().filter(|model| model.log_prior.is_finite()).count();
        assert!(possible(&short) < possible(&long) && possible(&long) == long.len());
        assert!(
            (short[0].mean - 1.0 / 12.0).abs() < 1e-12
                && short[0].contrasts.iter().all(|one| (one - 1.0).abs() < 1e-12)
        );
    }
}
