//! The hierarchical bootstrap over runs and batches: confidence intervals for means over several runs.
//!
//! Runs are resampled with replacement, and within each resampled run its batches (Davison & Hinkley 1997, section 3.8;
//! Kalibera & Jones 2013). The plain procedure has two biases: the means of runs already contain the noise of their
//! batches, which would count twice, and few runs vary too little about their own mean. Therefore the runs are shrunk
//! towards their mean until runs and batches together have the variance of the runs, deviations are enlarged by
//! √(n / (n − 1)) (Rao & Wu 1988), and the quantiles are widened by the ratio of Student's t to the normal quantile
//! (Hesterberg 2015). A single run shows nothing of the variance between runs: only its batches are resampled.

use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use statrs::distribution::{ContinuousCDF as _, Normal};

use super::SIGNIFICANCE;
use super::autocorrelation::autocorrelation_time;
use super::batches::{FEWEST_BATCHES, SampleMean, batch_count};
use super::moments::{mean, quantiles};
use super::student::{combined_degrees_of_freedom, critical_value};

/// The number of bootstrap resamples.
pub const RESAMPLES: usize = 10_000;

/// The noise of the mean of one series, estimated from its batches.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchNoise {
    /// The deviations of the batch means, scaled so that the mean of as many draws has the series' standard error.
    deviations: Vec<f64>,
    variance: f64,
    degrees_of_freedom: f64,
}

impl BatchNoise {
    /// The noise of `sample_mean`, the mean of `series`; `None` where the series is shorter than its batches are many.
    ///
    /// The shape comes from the batch means, the size from the standard error, which is the better estimate.
    pub fn of(series: &[f64], sample_mean: &SampleMean) -> Option<Self> {
        let count = batch_count(series.len(), autocorrelation_time(series)).unwrap_or(FEWEST_BATCHES);
        let means: Vec<f64> = (0..count)
            .filter_map(|batch| mean(&series[batch * series.len() / count..(batch + 1) * series.len() / count]))
            .collect();
        let centre = mean(&means)?;
        let squares: f64 = means.iter().map(|mean| (mean - centre).powi(2)).sum();
        let scale = if squares > 0.0 { sample_mean.standard_error * count as f64 / squares.sqrt() } else { 0.0 };
        let deviations = means.iter().map(|mean| (mean - centre) * scale).collect();
        Some(Self { deviations, variance: sample_mean.variance(), degrees_of_freedom: sample_mean.degrees_of_freedom })
    }

    /// The variance of the series' mean.
    pub fn variance(&self) -> f64 {
        self.variance
    }

    fn draw(&self, random: &mut Xoshiro256PlusPlus) -> f64 {
        let count = self.deviations.len();
        (0..count).map(|_| self.deviations[random.random_range(0..count)]).sum::<f64>() / count as f64
    }
}

/// A quantity as one run measured it.
#[derive(Debug, Clone, PartialEq)]
pub struct RunValue {
    /// The quantity.
    pub value: f64,
    /// The sources of noise within the run, each with the weight by which it moves the quantity; empty where the run was
    /// too short to estimate it.
    pub noise: Vec<(f64, BatchNoise)>,
}

impl RunValue {
    fn variance(&self) -> f64 {
        self.noise.iter().map(|(weight, noise)| weight * weight * noise.variance).sum()
    }

    fn degrees_of_freedom(&self) -> Option<f64> {
        let parts: Vec<(f64, f64)> = self
            .noise
            .iter()
            .map(|(weight, noise)| (weight * weight * noise.variance, noise.degrees_of_freedom))
            .collect();
        combined_degrees_of_freedom(&parts)
    }

    fn draw(&self, random: &mut Xoshiro256PlusPlus) -> f64 {
        self.noise.iter().map(|(weight, noise)| weight * noise.draw(random)).sum()
    }
}

/// The mean of a quantity over the runs of one side, with its bootstrap resamples.
#[derive(Debug, Clone, PartialEq)]
pub struct BootstrapMean {
    /// The mean over the runs.
    pub value: f64,
    /// The number of runs.
    pub runs: usize,
    /// The variance of a single run about the true mean; with one run, only the variance that its batches show.
    pub variance_of_run: f64,
    degrees_of_freedom: Option<f64>,
    draws: Vec<f64>,
}

impl BootstrapMean {
    /// Resamples the mean of `run_values`; `None` without runs, and for a single run without batches.
    pub fn of(run_values: &[RunValue], random: &mut Xoshiro256PlusPlus) -> Option<Self> {
        let runs = run_values.len();
        let values: Vec<f64> = run_values.iter().map(|run| run.value).collect();
        let value = mean(&values)?;
        let within = run_values.iter().map(RunValue::variance).sum::<f64>() / runs as f64;
        if let [only] = run_values {
            if only.noise.is_empty() {
                return None;
            }
            let draws = (0..RESAMPLES).map(|_| value + only.draw(random)).collect();
            return Some(Self {
                value,
                runs,
                variance_of_run: within,
                degrees_of_freedom: only.degrees_of_freedom(),
                draws,
            });
        }
        let between = values.iter().map(|each| (each - value).powi(2)).sum::<f64>() / (runs as f64 - 1.0);
        let scale = ResamplingScale::of(between, within, runs);
        let mut draw = || {
            let deviations = (0..runs).map(|_| {
                let run = &run_values[random.random_range(0..runs)];
                scale.runs * (run.value - value) + scale.batches * run.draw(random)
            });
            value + deviations.sum::<f64>() / runs as f64
        };
        let draws = (0..RESAMPLES).map(|_| draw()).collect();
        let degrees_of_freedom = (between > 0.0).then_some(runs as f64 - 1.0);
        Some(Self { value, runs, variance_of_run: between, degrees_of_freedom, draws })
    }

    /// The variance of the mean.
    pub fn variance(&self) -> f64 {
        self.variance_of_run / self.runs as f64
    }
}

/// The factors for the deviations of runs and of batches, so that both together have the variance of the runs.
struct ResamplingScale {
    runs: f64,
    batches: f64,
}

impl ResamplingScale {
    fn of(between: f64, within: f64, runs: usize) -> Self {
        if between <= 0.0 {
            return Self { runs: 0.0, batches: 0.0 };
        }
        let share_of_batches = (within / between).min(1.0);
        let enlarged = (runs as f64 / (runs as f64 - 1.0)).sqrt();
        let batches = if within > 0.0 { (between * share_of_batches / within).sqrt() } else { 0.0 };
        Self { runs: enlarged * (1.0 - share_of_batches).sqrt(), batches }
    }
}

/// The 95 % interval of B − A.
pub fn difference_interval(a: &BootstrapMean, b: &BootstrapMean) -> Option<(f64, f64)> {
    let degrees_of_freedom =
        degrees_of_freedom(&[(a.variance(), a.degrees_of_freedom), (b.variance(), b.degrees_of_freedom)]);
    let draws: Vec<f64> = a.draws.iter().zip(&b.draws).map(|(a, b)| b - a).collect();
    interval(b.value - a.value, &draws, degrees_of_freedom)
}

/// The 95 % interval of B / A; `None` where A is not significantly above 0.
///
/// Where both are above 0 in every resample, the interval is computed on the logarithm, so that the interval of A / B is
/// its inverse.
pub fn ratio_interval(a: &BootstrapMean, b: &BootstrapMean) -> Option<(f64, f64)> {
    let ratio = b.value / a.value;
    let degrees_of_freedom = degrees_of_freedom(&ratio_parts(a, b, 0));
    let is_above_0 = critical(a.degrees_of_freedom)? * a.variance().sqrt() < a.value;
    if !ratio.is_finite() || !is_above_0 || a.draws.iter().any(|draw| *draw <= 0.0) {
        return None;
    }
    let draws = a.draws.iter().zip(&b.draws).map(|(a, b)| b / a);
    if ratio > 0.0 && b.draws.iter().all(|draw| *draw > 0.0) {
        let (low, high) = interval(ratio.ln(), &draws.map(f64::ln).collect::<Vec<_>>(), degrees_of_freedom)?;
        return Some((low.exp(), high.exp()));
    }
    interval(ratio, &draws.collect::<Vec<_>>(), degrees_of_freedom)
}

/// The expected half width of the 95 % interval of B / A with `more` additional runs on each side.
pub fn half_width_with(a: &BootstrapMean, b: &BootstrapMean, more: usize) -> Option<f64> {
    let parts = ratio_parts(a, b, more);
    let variance: f64 = parts.iter().map(|(variance, _)| variance).sum();
    Some(critical(degrees_of_freedom(&parts))? * variance.sqrt())
}

/// The contribution of each side to the variance of B / A, with its degrees of freedom, with `more` additional runs.
fn ratio_parts(a: &BootstrapMean, b: &BootstrapMean, more: usize) -> [(f64, Option<f64>); 2] {
    let ratio = b.value / a.value;
    let part = |side: &BootstrapMean, weight: f64| {
        let runs = (side.runs + more) as f64;
        let degrees_of_freedom = if more == 0 { side.degrees_of_freedom } else { Some(runs - 1.0) };
        (weight * weight * side.variance_of_run / runs, degrees_of_freedom)
    };
    [part(a, ratio / a.value), part(b, 1.0 / a.value)]
}

/// The degrees of freedom of the sum; `None` where all variances are 0.
fn degrees_of_freedom(parts: &[(f64, Option<f64>)]) -> Option<f64> {
    let known: Vec<(f64, f64)> =
        parts.iter().filter_map(|(variance, degrees_of_freedom)| Some((*variance, (*degrees_of_freedom)?))).collect();
    combined_degrees_of_freedom(&known)
}

/// Student's critical value; the normal one without degrees of freedom, where all variances are 0.
fn critical(degrees_of_freedom: Option<f64>) -> Option<f64> {
    degrees_of_freedom
        .map_or_else(|| Some(normal_critical()), |degrees_of_freedom| critical_value(SIGNIFICANCE, degrees_of_freedom))
}

fn normal_critical() -> f64 {
    Normal::standard().inverse_cdf(1.0 - SIGNIFICANCE / 2.0)
}

fn interval(value: f64, draws: &[f64], degrees_of_freedom: Option<f64>) -> Option<(f64, f64)> {
    let tail = SIGNIFICANCE / 2.0;
    let [low, high] = quantiles(draws, [tail, 1.0 - tail])?;
    let widening = critical(degrees_of_freedom)? / normal_critical();
    let ends = (value + (low - value).min(0.0) * widening, value + (high - value).max(0.0) * widening);
    (ends.0.is_finite() && ends.1.is_finite()).then_some(ends)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;

    use super::*;

    fn random() -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(1)
    }

    fn run(level: f64) -> RunValue {
        let series: Vec<f64> = (0..200).map(|t| level + f64::from((t * 7919) % 13) - 6.0).collect();
        let measured = SampleMean::of(&series).unwrap();
        RunValue { value: measured.mean, noise: vec![(1.0, BatchNoise::of(&series, &measured).unwrap())] }
    }

    fn bare(value: f64) -> RunValue {
        RunValue { value, noise: Vec::new() }
    }

    fn variance_of_draws(side: &BootstrapMean) -> f64 {
        let centre = mean(&side.draws).unwrap();
        side.draws.iter().map(|draw| (draw - centre).powi(2)).sum::<f64>() / side.draws.len() as f64
    }

    #[test]
    fn resamples_have_the_variance_of_the_mean() {
        let many: Vec<RunValue> = [90.0, 97.0, 101.0, 104.0, 111.0].map(run).into();
        let alone = [run(100.0)];
        let short: Vec<RunValue> = [90.0, 100.0, 110.0].map(bare).into();
        for run_values in [&many[..], &alone, &short] {
            let side = BootstrapMean::of(run_values, &mut random()).unwrap();
            let ratio = variance_of_draws(&side) / side.variance();
            assert!((ratio - 1.0).abs() < 0.05, "{ratio} of {} runs", side.runs);
        }
        let side = BootstrapMean::of(&short, &mut random()).unwrap();
        assert!((side.variance_of_run - 100.0).abs() < 1e-9);
    }

    #[test]
    fn runs_that_differ_less_than_their_batches_have_the_variance_of_runs() {
        let side = BootstrapMean::of(&[run(100.0), run(100.01), run(99.99)], &mut random()).unwrap();
        assert!((variance_of_draws(&side) / side.variance() - 1.0).abs() < 0.05);
    }

    #[test]
    fn the_interval_of_two_repeats_is_as_wide_as_students_t() {
        let (a, b) = ([bare(99.0), bare(101.0)], [bare(198.0), bare(202.0)]);
        let mut random = random();
        let (a, b) = (BootstrapMean::of(&a, &mut random).unwrap(), BootstrapMean::of(&b, &mut random).unwrap());
        let (low, high) = ratio_interval(&a, &b).unwrap();
        let half = half_width_with(&a, &b, 0).unwrap();
        assert!(((high - low) / 2.0 / half - 1.0).abs() < 0.15, "{low} {high} {half}");
        assert!(half_width_with(&a, &b, 8).unwrap() < half / 3.0);
    }

    #[test]
    fn without_variance_the_interval_is_exact_and_without_information_there_is_none() {
        let still = BootstrapMean::of(&[bare(5.0), bare(5.0)], &mut random()).unwrap();
        assert_eq!(ratio_interval(&still, &still), Some((1.0, 1.0)));
        assert_eq!(difference_interval(&still, &still), Some((0.0, 0.0)));
        assert_eq!(BootstrapMean::of(&[bare(5.0)], &mut random()), None);
        assert_eq!(BootstrapMean::of(&[], &mut random()), None);
        let zero = BootstrapMean::of(&[bare(0.0), bare(0.0)], &mut random()).unwrap();
        assert_eq!(ratio_interval(&zero, &still), None);
        assert_eq!(ratio_interval(&still, &zero), Some((0.0, 0.0)));
    }
}
