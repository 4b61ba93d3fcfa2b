//! How sure a mean over several runs is: the hierarchical bootstrap over runs and batches.
//!
//! Runs are drawn with replacement, and within each drawn run its batches (Davison & Hinkley 1997, section 3.8;
//! Kalibera & Jones 2013). Drawn plainly this is wrong twice: means of runs already hold the noise of their batches,
//! so that it would count double, and few runs scatter too little about their own mean. So the runs are drawn towards
//! their mean until runs and batches together scatter as the runs did, deviations are enlarged by √(n / (n − 1))
//! (Rao & Wu 1988), and the quantiles are moved apart as Student's t is wider than the normal distribution
//! (Hesterberg 2015). With a single run nothing is known of how runs differ: its batches alone are drawn.

use rand::RngExt as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use statrs::distribution::{ContinuousCDF as _, Normal};

use super::SIGNIFICANCE;
use super::autocorrelation::autocorrelation_time;
use super::batches::{Measured, batch_count};
use super::moments::{mean, quantiles};
use super::student::{combined_freedom, critical_value};

/// How often a bootstrap draws.
pub const RESAMPLES: usize = 10_000;

/// What the batches of one series say of the error of its mean.
#[derive(Debug, Clone, PartialEq)]
pub struct Noise {
    /// The batches' deviations, so that the mean of as many draws has the series' standard error.
    deviations: Vec<f64>,
    variance: f64,
    freedom: f64,
}

impl Noise {
    /// The noise of the mean of `series`, which is `measured`; nothing where it has no batches.
    ///
    /// The shape is that of the batch means, the size that of the standard error: the slow waves know it better.
    pub fn of(series: &[f64], measured: &Measured) -> Option<Self> {
        let count = batch_count(series.len(), autocorrelation_time(series))?;
        let means: Vec<f64> = (0..count)
            .filter_map(|batch| mean(&series[batch * series.len() / count..(batch + 1) * series.len() / count]))
            .collect();
        let centre = mean(&means)?;
        let squares: f64 = means.iter().map(|mean| (mean - centre).powi(2)).sum();
        let scale = if squares > 0.0 { measured.standard_error * count as f64 / squares.sqrt() } else { 0.0 };
        let deviations = means.iter().map(|mean| (mean - centre) * scale).collect();
        Some(Self { deviations, variance: measured.variance(), freedom: measured.freedom })
    }

    fn draw(&self, random: &mut Xoshiro256PlusPlus) -> f64 {
        let count = self.deviations.len();
        (0..count).map(|_| self.deviations[random.random_range(0..count)]).sum::<f64>() / count as f64
    }
}

/// What one run says of a quantity.
#[derive(Debug, Clone, PartialEq)]
pub struct Unit {
    /// The quantity.
    pub value: f64,
    /// What makes it unsure within the run, each with the weight by which it moves the quantity; empty where the
    /// run was too short to tell.
    pub noise: Vec<(f64, Noise)>,
}

impl Unit {
    fn variance(&self) -> f64 {
        self.noise.iter().map(|(weight, noise)| weight * weight * noise.variance).sum()
    }

    fn freedom(&self) -> Option<f64> {
        let parts: Vec<(f64, f64)> =
            self.noise.iter().map(|(weight, noise)| (weight * weight * noise.variance, noise.freedom)).collect();
        combined_freedom(&parts)
    }

    fn draw(&self, random: &mut Xoshiro256PlusPlus) -> f64 {
        self.noise.iter().map(|(weight, noise)| weight * noise.draw(random)).sum()
    }
}

/// The mean of a quantity over the runs of one side, and how it might have come out.
#[derive(Debug, Clone, PartialEq)]
pub struct Side {
    /// The mean over the runs.
    pub value: f64,
    /// How many runs.
    pub runs: usize,
    /// The variance of a single run about the side's true mean; of one run alone only what its batches show.
    pub variance_of_run: f64,
    freedom: Option<f64>,
    draws: Vec<f64>,
}

impl Side {
    /// Draws the mean over `units`; nothing without units, and of a single one without batches.
    pub fn of(units: &[Unit], random: &mut Xoshiro256PlusPlus) -> Option<Self> {
        let runs = units.len();
        let values: Vec<f64> = units.iter().map(|unit| unit.value).collect();
        let value = mean(&values)?;
        let within = units.iter().map(Unit::variance).sum::<f64>() / runs as f64;
        if let [only] = units {
            if only.noise.is_empty() {
                return None;
            }
            let draws = (0..RESAMPLES).map(|_| value + only.draw(random)).collect();
            return Some(Self { value, runs, variance_of_run: within, freedom: only.freedom(), draws });
        }
        let between = values.iter().map(|each| (each - value).powi(2)).sum::<f64>() / (runs as f64 - 1.0);
        let spread = Spread::of(between, within, runs);
        let mut draw = || {
            let drawn = (0..runs).map(|_| {
                let unit = &units[random.random_range(0..runs)];
                spread.of_runs * (unit.value - value) + spread.of_batches * unit.draw(random)
            });
            value + drawn.sum::<f64>() / runs as f64
        };
        let draws = (0..RESAMPLES).map(|_| draw()).collect();
        let freedom = (between > 0.0).then_some(runs as f64 - 1.0);
        Some(Self { value, runs, variance_of_run: between, freedom, draws })
    }

    /// The variance of the mean.
    pub fn variance(&self) -> f64 {
        self.variance_of_run / self.runs as f64
    }
}

/// By how much deviations of runs and of batches are enlarged or shrunk, so that together they scatter as the runs.
struct Spread {
    of_runs: f64,
    of_batches: f64,
}

impl Spread {
    fn of(between: f64, within: f64, runs: usize) -> Self {
        if between <= 0.0 {
            return Self { of_runs: 0.0, of_batches: 0.0 };
        }
        let share_of_batches = (within / between).min(1.0);
        let enlarged = (runs as f64 / (runs as f64 - 1.0)).sqrt();
        let of_batches = if within > 0.0 { (between * share_of_batches / within).sqrt() } else { 0.0 };
        Self { of_runs: enlarged * (1.0 - share_of_batches).sqrt(), of_batches }
    }
}

/// The 95 % interval of B − A.
pub fn difference_interval(a: &Side, b: &Side) -> Option<(f64, f64)> {
    let freedom = freedom(&[(a.variance(), a.freedom), (b.variance(), b.freedom)]);
    let draws: Vec<f64> = a.draws.iter().zip(&b.draws).map(|(a, b)| b - a).collect();
    interval(b.value - a.value, &draws, freedom)
}

/// The 95 % interval of B / A; nothing where A is not surely above 0.
///
/// Where both are above 0 in every draw the interval is that of the logarithm, so that A / B has the interval turned
/// over.
pub fn ratio_interval(a: &Side, b: &Side) -> Option<(f64, f64)> {
    let ratio = b.value / a.value;
    let freedom = freedom(&ratio_parts(a, b, 0));
    let surely_above = critical(a.freedom)? * a.variance().sqrt() < a.value;
    if !ratio.is_finite() || !surely_above || a.draws.iter().any(|draw| *draw <= 0.0) {
        return None;
    }
    let draws = a.draws.iter().zip(&b.draws).map(|(a, b)| b / a);
    if ratio > 0.0 && b.draws.iter().all(|draw| *draw > 0.0) {
        let (low, high) = interval(ratio.ln(), &draws.map(f64::ln).collect::<Vec<_>>(), freedom)?;
        return Some((low.exp(), high.exp()));
    }
    interval(ratio, &draws.collect::<Vec<_>>(), freedom)
}

/// The half width that the 95 % interval of B / A would have with `more` further runs on each side.
pub fn half_width_with(a: &Side, b: &Side, more: usize) -> Option<f64> {
    let parts = ratio_parts(a, b, more);
    let variance: f64 = parts.iter().map(|(variance, _)| variance).sum();
    Some(critical(freedom(&parts))? * variance.sqrt())
}

/// What each side adds to the variance of B / A, with its degrees of freedom, with `more` further runs on each.
fn ratio_parts(a: &Side, b: &Side, more: usize) -> [(f64, Option<f64>); 2] {
    let ratio = b.value / a.value;
    let part = |side: &Side, weight: f64| {
        let runs = (side.runs + more) as f64;
        let freedom = if more == 0 { side.freedom } else { Some(runs - 1.0) };
        (weight * weight * side.variance_of_run / runs, freedom)
    };
    [part(a, ratio / a.value), part(b, 1.0 / a.value)]
}

/// Degrees of freedom of the sum; nothing where nothing scatters.
fn freedom(parts: &[(f64, Option<f64>)]) -> Option<f64> {
    let known: Vec<(f64, f64)> =
        parts.iter().filter_map(|(variance, freedom)| Some((*variance, (*freedom)?))).collect();
    combined_freedom(&known)
}

/// Student's critical value; where nothing scatters, the normal one does as well.
fn critical(freedom: Option<f64>) -> Option<f64> {
    freedom.map_or_else(|| Some(normal_critical()), |freedom| critical_value(SIGNIFICANCE, freedom))
}

fn normal_critical() -> f64 {
    Normal::standard().inverse_cdf(1.0 - SIGNIFICANCE / 2.0)
}

fn interval(value: f64, draws: &[f64], freedom: Option<f64>) -> Option<(f64, f64)> {
    let tail = SIGNIFICANCE / 2.0;
    let [low, high] = quantiles(draws, [tail, 1.0 - tail])?;
    let wider = critical(freedom)? / normal_critical();
    let ends = (value + (low - value).min(0.0) * wider, value + (high - value).max(0.0) * wider);
    (ends.0.is_finite() && ends.1.is_finite()).then_some(ends)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;

    use super::*;

    fn random() -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(1)
    }

    fn run(level: f64) -> Unit {
        let series: Vec<f64> = (0..200).map(|t| level + f64::from((t * 7919) % 13) - 6.0).collect();
        let measured = Measured::of(&series).unwrap();
        Unit { value: measured.mean, noise: vec![(1.0, Noise::of(&series, &measured).unwrap())] }
    }

    fn bare(value: f64) -> Unit {
        Unit { value, noise: Vec::new() }
    }

    fn scatter(side: &Side) -> f64 {
        let centre = mean(&side.draws).unwrap();
        side.draws.iter().map(|draw| (draw - centre).powi(2)).sum::<f64>() / side.draws.len() as f64
    }

    #[test]
    fn draws_scatter_as_the_mean_does() {
        let many: Vec<Unit> = [90.0, 97.0, 101.0, 104.0, 111.0].map(run).into();
        let alone = [run(100.0)];
        let short: Vec<Unit> = [90.0, 100.0, 110.0].map(bare).into();
        for units in [&many[..], &alone, &short] {
            let side = Side::of(units, &mut random()).unwrap();
            let ratio = scatter(&side) / side.variance();
            assert!((ratio - 1.0).abs() < 0.05, "{ratio} of {} runs", side.runs);
        }
        let side = Side::of(&short, &mut random()).unwrap();
        assert!((side.variance_of_run - 100.0).abs() < 1e-9);
    }

    #[test]
    fn runs_that_differ_less_than_their_batches_still_scatter_as_runs() {
        let side = Side::of(&[run(100.0), run(100.01), run(99.99)], &mut random()).unwrap();
        assert!((scatter(&side) / side.variance() - 1.0).abs() < 0.05);
    }

    #[test]
    fn two_repeats_are_as_unsure_as_students_t_says() {
        let (a, b) = ([bare(99.0), bare(101.0)], [bare(198.0), bare(202.0)]);
        let mut random = random();
        let (a, b) = (Side::of(&a, &mut random).unwrap(), Side::of(&b, &mut random).unwrap());
        let (low, high) = ratio_interval(&a, &b).unwrap();
        let half = half_width_with(&a, &b, 0).unwrap();
        assert!(((high - low) / 2.0 / half - 1.0).abs() < 0.15, "{low} {high} {half}");
        assert!(half_width_with(&a, &b, 8).unwrap() < half / 3.0);
    }

    #[test]
    fn what_does_not_scatter_is_exact_and_what_cannot_be_told_is_nothing() {
        let still = Side::of(&[bare(5.0), bare(5.0)], &mut random()).unwrap();
        assert_eq!(ratio_interval(&still, &still), Some((1.0, 1.0)));
        assert_eq!(difference_interval(&still, &still), Some((0.0, 0.0)));
        assert_eq!(Side::of(&[bare(5.0)], &mut random()), None);
        assert_eq!(Side::of(&[], &mut random()), None);
        let zero = Side::of(&[bare(0.0), bare(0.0)], &mut random()).unwrap();
        assert_eq!(ratio_interval(&zero, &still), None);
        assert_eq!(ratio_interval(&still, &zero), Some((0.0, 0.0)));
    }
}
