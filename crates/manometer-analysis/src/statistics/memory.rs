//! The means of the phases of one run, with the memory of the run estimated from all its phases together.
//!
//! A phase of two minutes shows little of its own autocorrelation. Its noise, however, comes from the same engine, device
//! and compaction as that of the other phases, regardless of its level and size. Each noise model (`noise_model`) has a
//! likelihood in each phase, from the phase's cosine contrasts with its own, unknown variance. The phases vote together;
//! a phase whose contrasts fit the others' models badly has its own estimate. What the models say of the mean's
//! variance makes a mixture of Student's distributions, whose quantiles give the standard error and its degrees of
//! freedom. `docs/decisions/0011-memory-of-a-run.md` has the reasons, `tests/integration/coverage.rs` the coverage.

use std::collections::BTreeMap;

use statrs::distribution::{ContinuousCDF as _, StudentsT};

use super::SIGNIFICANCE;
use super::autocorrelation::autocorrelation_time;
use super::batches::{FEWEST_BATCHES, SampleMean, TIMES_PER_BATCH};
use super::moments::mean;
use super::noise_model::{NoiseModel, contrasts, noise_models};
use super::student::critical_value;

/// A shorter series has no interval.
pub const FEWEST_SAMPLES: usize = 12;

/// Of longer series only the slow waves of `batches` are used, and for the memory of the run this much of them.
pub const MOST_SAMPLES: usize = 600;

/// The slow waves are used from this many samples on, where the series has enough batches.
pub const WAVE_SAMPLES: usize = 300;

/// The prior probability that a phase has another memory than its run.
const OWN_MEMORY: f64 = 0.02;

/// The second probability at which the mixture is matched: what the tests of many pairs depend on.
const FAR_TAIL: f64 = 1e-4;

/// The mixture is computed with this many classes of standard errors.
const CLASSES: usize = 16;

/// The bisections of a quantile.
const SEARCH_STEPS: usize = 26;

/// Squares below this share of the squared mean are rounding errors: the series is constant.
const ROUNDING: f64 = 1e-20;

impl SampleMean {
    /// The mean of `series` alone, without the other phases of its run; `None` where it is too short.
    pub fn of(series: &[f64]) -> Option<Self> {
        sample_means(&[series]).pop()?
    }

    /// The number of samples, more of the same, with which `series` would have an interval.
    pub fn samples_needed(series: &[f64]) -> usize {
        if series.len() < FEWEST_SAMPLES {
            return FEWEST_SAMPLES;
        }
        (FEWEST_BATCHES as f64 * TIMES_PER_BATCH * autocorrelation_time(series)).ceil() as usize
    }
}

/// The means of the phases of one `run`, a series each; `None` for a series of fewer than [`FEWEST_SAMPLES`], and for a long
/// one whose autocorrelation does not decay within it.
pub fn sample_means(run: &[&[f64]]) -> Vec<Option<SampleMean>> {
    let by_waves: Vec<Option<SampleMean>> = run.iter().map(|series| of_waves(series)).collect();
    let is_modelled = |phase: usize| by_waves[phase].is_none() && is_modelled_length(run[phase].len());
    if !(0..run.len()).any(is_modelled) {
        return by_waves;
    }
    let models = models_by_length(run);
    let evidence: Vec<Option<ContrastEvidence>> =
        run.iter().map(|series| ContrastEvidence::of(series, models.get(&modelled_length(series))?)).collect();
    let mut total: Vec<f64> = Vec::new();
    for evidence in evidence.iter().flatten() {
        total.resize(evidence.log_likelihoods.len(), 0.0);
        total.iter_mut().zip(&evidence.log_likelihoods).for_each(|(sum, log)| *sum += log);
    }
    let phases = run.iter().zip(by_waves).zip(&evidence).enumerate();
    phases
        .map(|(phase, ((series, waves), evidence))| match evidence {
            _ if !is_modelled_length(series.len()) || waves.is_some() => waves,
            Some(evidence) => evidence.sample_mean(series, &total, &models[&modelled_length(run[phase])]),
            None => constant(series),
        })
        .collect()
}

fn is_modelled_length(samples: usize) -> bool {
    (FEWEST_SAMPLES..=MOST_SAMPLES).contains(&samples)
}

fn modelled_length(series: &[f64]) -> usize {
    series.len().min(MOST_SAMPLES)
}

/// The mean by slow waves, where the series is long enough.
fn of_waves(series: &[f64]) -> Option<SampleMean> {
    (series.len() >= WAVE_SAMPLES).then(|| SampleMean::of_waves(series))?
}

fn models_by_length(run: &[&[f64]]) -> BTreeMap<usize, Vec<NoiseModel>> {
    let lengths = run.iter().map(|series| modelled_length(series)).filter(|length| *length >= FEWEST_SAMPLES);
    let mut models = BTreeMap::new();
    for length in lengths {
        models.entry(length).or_insert_with(|| noise_models(length));
    }
    models
}

/// The mean of a series without variance is exact; `None` where the series holds numbers that are none.
fn constant(series: &[f64]) -> Option<SampleMean> {
    let mean = mean(series).filter(|mean| mean.is_finite())?;
    Some(SampleMean { mean, standard_error: 0.0, degrees_of_freedom: (series.len() - 1) as f64 })
}

/// What the contrasts of one phase say of each model.
struct ContrastEvidence {
    log_likelihoods: Vec<f64>,
    /// The variance of the mean, from the phase's own variance.
    variances: Vec<f64>,
    contrasts: usize,
}

impl ContrastEvidence {
    /// The evidence of `series`; `None` where it is constant or too short.
    ///
    /// The variance of the phase has the prior 1 / σ² and is integrated out.
    fn of(series: &[f64], models: &[NoiseModel]) -> Option<Self> {
        let series = &series[..modelled_length(series)];
        let squares: Vec<f64> = contrasts(series).iter().map(|contrast| contrast * contrast).collect();
        let spread: f64 = squares.iter().sum();
        let level = mean(series)?;
        if !spread.is_finite() || spread <= ROUNDING * level * level * series.len() as f64 {
            return None;
        }
        let count = squares.len() as f64;
        let of_model = |model: &NoiseModel| {
            let scaled: f64 = squares.iter().zip(&model.contrasts).map(|(square, variance)| square / variance).sum();
            let logs: f64 = model.contrasts.iter().map(|variance| variance.ln()).sum();
            (-0.5 * logs - 0.5 * count * scaled.ln(), scaled / count * model.mean)
        };
        let (log_likelihoods, variances) = models.iter().map(of_model).unzip();
        Some(Self { log_likelihoods, variances, contrasts: squares.len() })
    }

    /// The mean of `series`, given the sum of the log likelihoods of all phases, its own among them.
    fn sample_mean(&self, series: &[f64], total: &[f64], models: &[NoiseModel]) -> Option<SampleMean> {
        let prior = normalised(models.iter().map(|model| model.log_prior).collect());
        let others = total.iter().zip(&self.log_likelihoods).map(|(total, own)| total - own);
        let others = normalised(others.zip(models).map(|(log, model)| log + model.log_prior).collect());
        let mixed = others.iter().zip(&prior).map(|(others, own)| (1.0 - OWN_MEMORY) * others + OWN_MEMORY * own);
        let posterior = normalised(mixed.zip(&self.log_likelihoods).map(|(prior, log)| prior.ln() + log).collect());
        let mixture = Mixture::of(&posterior, &self.variances, self.contrasts as f64)?;
        let (standard_error, degrees_of_freedom) = mixture.matched()?;
        let mean = mean(series)?;
        (mean.is_finite() && standard_error.is_finite()).then_some(SampleMean {
            mean,
            standard_error,
            degrees_of_freedom,
        })
    }
}

/// The probabilities with these logarithms, up to a common factor.
fn normalised(logarithms: Vec<f64>) -> Vec<f64> {
    let greatest = logarithms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let shares: Vec<f64> = logarithms.iter().map(|log| (log - greatest).exp()).collect();
    let sum: f64 = shares.iter().sum();
    shares.iter().map(|share| share / sum).collect()
}

/// A mixture of Student's distributions around 0, of the same degrees of freedom.
struct Mixture {
    /// By class: its probability and standard error.
    classes: Vec<(f64, f64)>,
    student: StudentsT,
    degrees_of_freedom: f64,
}

impl Mixture {
    /// The mixture of distributions with these `weights` and `variances`, those of like variance together.
    fn of(weights: &[f64], variances: &[f64], degrees_of_freedom: f64) -> Option<Self> {
        let logs = || variances.iter().map(|variance| variance.ln());
        let (least, greatest) = (logs().fold(f64::MAX, f64::min), logs().fold(f64::MIN, f64::max));
        let width = f64::max((greatest - least) / CLASSES as f64, f64::MIN_POSITIVE);
        let mut sums = [(0.0, 0.0); CLASSES];
        for ((weight, variance), log) in weights.iter().zip(variances).zip(logs()) {
            let class = &mut sums[(((log - least) / width) as usize).min(CLASSES - 1)];
            *class = (class.0 + weight, class.1 + weight * variance);
        }
        let classes = sums.into_iter().filter(|(weight, _)| *weight > 0.0);
        let classes = classes.map(|(weight, sum)| (weight, (sum / weight).sqrt())).collect();
        Some(Self { classes, student: StudentsT::new(0.0, 1.0, degrees_of_freedom).ok()?, degrees_of_freedom })
    }

    /// The distance from 0 that is exceeded, on either side, with `probability`.
    fn exceeded(&self, probability: f64) -> Option<f64> {
        let greatest = self.classes.iter().map(|(_, error)| *error).fold(0.0, f64::max);
        let mut range = (0.0, greatest * critical_value(probability, self.degrees_of_freedom)?);
        for _ in 0..SEARCH_STEPS {
            let middle = f64::midpoint(range.0, range.1);
            let tail = |(weight, error): &(f64, f64)| 2.0 * weight * self.student.cdf(-middle / error);
            let beyond: f64 = self.classes.iter().map(tail).sum();
            range = if beyond > probability { (middle, range.1) } else { (range.0, middle) };
        }
        Some(range.1)
    }

    /// The standard error and degrees of freedom of the Student's distribution with the same 95 % interval and, as far as its
    /// degrees of freedom allow, the same far tail.
    fn matched(&self) -> Option<(f64, f64)> {
        let half_width = self.exceeded(SIGNIFICANCE)?;
        let tail = self.exceeded(FAR_TAIL)? / half_width;
        let tail_at = |freedom: f64| Some(critical_value(FAR_TAIL, freedom)? / critical_value(SIGNIFICANCE, freedom)?);
        let mut range = (1.0, self.degrees_of_freedom);
        for _ in 0..SEARCH_STEPS {
            let middle = f64::midpoint(range.0, range.1);
            range = if tail_at(middle)? > tail { (middle, range.1) } else { (range.0, middle) };
        }
        Some((half_width / critical_value(SIGNIFICANCE, range.0)?, range.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(t: usize) -> f64 {
        ((t * 7919) % 13) as f64 - 6.0
    }

    fn series(samples: usize, level: f64) -> Vec<f64> {
        (0..samples).map(|t| level + noise(t)).collect()
    }

    #[test]
    fn a_mixture_of_one_is_students_distribution() {
        let mixture = Mixture::of(&[0.25, 0.75], &[4.0, 4.0], 9.0).unwrap();
        assert!((mixture.exceeded(0.05).unwrap() / 2.0 - 2.262).abs() < 1e-3);
        let (error, freedom) = mixture.matched().unwrap();
        assert!((error - 2.0).abs() < 1e-3 && (freedom - 9.0).abs() < 1e-3, "{error} {freedom}");
    }

    #[test]
    fn a_mixture_exceeds_its_quantiles_as_often_as_they_say() {
        let mixture = Mixture::of(&[0.9, 0.1], &[1.0, 100.0], 20.0).unwrap();
        let (half_width, far) = (mixture.exceeded(0.05).unwrap(), mixture.exceeded(FAR_TAIL).unwrap());
        let beyond = |distance: f64, error: f64| 2.0 * mixture.student.cdf(-distance / error);
        assert!((0.9 * beyond(half_width, 1.0) + 0.1 * beyond(half_width, 10.0) - 0.05).abs() < 1e-6);
        let (error, freedom) = mixture.matched().unwrap();
        assert!((error * critical_value(SIGNIFICANCE, freedom).unwrap() / half_width - 1.0).abs() < 1e-6);
        assert!((error * critical_value(FAR_TAIL, freedom).unwrap() / far - 1.0).abs() < 1e-3);
    }

    #[test]
    fn other_phases_make_the_interval_of_a_short_one_narrower() {
        let phases: Vec<Vec<f64>> = (0..12).map(|phase| series(24, 100.0 * f64::from(phase + 1))).collect();
        let run: Vec<&[f64]> = phases.iter().map(Vec::as_slice).collect();
        let width = |mean: &Option<SampleMean>| mean.unwrap().interval().map(|(low, high)| high - low).unwrap();
        let (alone, together) = (width(&sample_means(&run[..1])[0]), width(&sample_means(&run)[0]));
        assert!(together < 0.8 * alone, "{together} {alone}");
    }

    #[test]
    fn a_phase_unlike_the_others_keeps_its_own_memory() {
        let mut phases: Vec<Vec<f64>> = (0..12).map(|_| series(24, 100.0)).collect();
        phases.push((0..24).map(|t| 100.0 + 0.2 * noise(t) + 3.0 * t as f64).collect());
        let run: Vec<&[f64]> = phases.iter().map(Vec::as_slice).collect();
        let means = sample_means(&run);
        let drifting = means[12].unwrap();
        let as_independent = (24.0_f64 * 24.0 * 9.0 / 12.0 / 24.0).sqrt();
        assert!(drifting.standard_error > 1.5 * as_independent, "{drifting:?} {as_independent}");
    }

    #[test]
    fn the_size_of_the_noise_is_each_phases_own() {
        let (small, large) = (series(60, 100.0), series(60, 100.0).iter().map(|x| 10.0 * x).collect::<Vec<_>>());
        let means = sample_means(&[&small, &large]);
        let (small, large) = (means[0].unwrap(), means[1].unwrap());
        assert!((large.standard_error / small.standard_error - 10.0).abs() < 1e-6);
        assert!((large.degrees_of_freedom - small.degrees_of_freedom).abs() < 1e-6);
    }

    #[test]
    fn too_short_a_series_has_no_mean_with_an_error_and_a_constant_one_is_exact() {
        assert!(sample_means(&[&series(11, 5.0), &[]]).iter().all(Option::is_none));
        assert!(sample_means(&[&series(12, 5.0)])[0].is_some());
        let exact = sample_means(&[&[7.0; 24], &series(24, 5.0)])[0].unwrap();
        assert_eq!((exact.mean, exact.standard_error), (7.0, 0.0));
        assert_eq!(sample_means(&[&[f64::NAN; 24]]), [None]);
        assert!(sample_means(&[]).is_empty());
    }
}
