//! The pressure of a phase from its blocks and those of `w0` in the same rounds.

use manometer_measure::plan::BetterDirection;

use crate::estimate::IntervalEstimate;
use crate::pressure::{loss, loss_interval};
use crate::statistics::SIGNIFICANCE;
use crate::statistics::moments::mean;
use crate::statistics::student::{critical_value, p_value};

/// Fewer rounds give no interval: with four, one unusual block decides.
pub const MIN_ROUNDS: usize = 5;

/// The pressure over rounds, each given as the means of `w0` and of the phase in it, with Fieller's 95 % interval for paired
/// means (Fieller 1954): every ratio R for which the differences phase − R · `w0` of the rounds have a mean that is not
/// significantly different from 0 (Student's t over rounds).
///
/// What changes both blocks of a round in proportion cancels in its difference; what is left is independent from round to
/// round, because the order within each round is random.
pub fn pressure_of_rounds(rounds: &[(f64, f64)], better: BetterDirection) -> IntervalEstimate {
    let rounds: Vec<(f64, f64)> = rounds.iter().copied().filter(|(one, other)| (one + other).is_finite()).collect();
    let (baseline, phase) = (BlockMoments::of(&rounds, |round| round.0), BlockMoments::of(&rounds, |round| round.1));
    let (Some(baseline), Some(phase)) = (baseline, phase) else {
        return IntervalEstimate::missing("no round was measured");
    };
    if baseline.mean <= 0.0 {
        return IntervalEstimate::missing("the baseline is 0");
    }
    let value = loss(phase.mean / baseline.mean, better);
    if rounds.len() < MIN_ROUNDS {
        return IntervalEstimate::of(value, None, &format!("no confidence interval: fewer than {MIN_ROUNDS} rounds"));
    }
    let covariance = covariance(&rounds, (baseline.mean, phase.mean));
    let interval = ratio_interval(&baseline, &phase, covariance, rounds.len());
    let ends = interval.map(|ends| loss_interval(ends, better));
    IntervalEstimate::of(value, ends, "no confidence interval: the baseline is not significantly above 0")
}

/// The width that the interval of the same blocks would have over `count` rounds with `scatter` times their standard
/// deviations; `None` where it would have none.
pub(crate) fn width_over_rounds(rounds: &[(f64, f64)], count: usize, scatter: f64) -> Option<f64> {
    let (baseline, phase) = (BlockMoments::of(rounds, |round| round.0)?, BlockMoments::of(rounds, |round| round.1)?);
    let covariance = scatter * scatter * covariance(rounds, (baseline.mean, phase.mean));
    let scattered = |moments: BlockMoments| BlockMoments { variance: scatter * scatter * moments.variance, ..moments };
    let is_enough = count >= MIN_ROUNDS && rounds.len() >= 2 && baseline.mean > 0.0;
    let (low, high) =
        ratio_interval(&scattered(baseline), &scattered(phase), covariance, count).filter(|_| is_enough)?;
    Some(high - low)
}

/// The two-sided p-value of the paired t test over rounds: whether both phases have the same mean. `None` for fewer than
/// five rounds.
pub fn difference_p_value(rounds: &[(f64, f64)]) -> Option<f64> {
    let differences: Vec<(f64, f64)> = rounds.iter().map(|(one, other)| (other - one, 0.0)).collect();
    let differences = BlockMoments::of(&differences, |round| round.0).filter(|_| rounds.len() >= MIN_ROUNDS)?;
    let standard_error = (differences.variance / rounds.len() as f64).sqrt();
    if standard_error == 0.0 {
        return Some(if differences.mean == 0.0 { 1.0 } else { 0.0 });
    }
    p_value(differences.mean / standard_error, rounds.len() as f64 - 1.0)
}

/// The mean and the variance of the blocks of one phase.
struct BlockMoments {
    mean: f64,
    variance: f64,
}

impl BlockMoments {
    fn of(rounds: &[(f64, f64)], side: impl Fn(&(f64, f64)) -> f64) -> Option<Self> {
        let values: Vec<f64> = rounds.iter().map(side).collect();
        let mean = mean(&values)?;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Some(Self { mean, variance: squares / (values.len().max(2) - 1) as f64 })
    }
}

fn covariance(rounds: &[(f64, f64)], (baseline, phase): (f64, f64)) -> f64 {
    let products: f64 = rounds.iter().map(|(one, other)| (one - baseline) * (other - phase)).sum();
    products / (rounds.len().max(2) - 1) as f64
}

/// Fieller's interval of the ratio of `phase` to `baseline`; `None` where the baseline is not significantly above 0.
fn ratio_interval(baseline: &BlockMoments, phase: &BlockMoments, covariance: f64, rounds: usize) -> Option<(f64, f64)> {
    let share = critical_value(SIGNIFICANCE, rounds as f64 - 1.0)?.powi(2) / rounds as f64;
    let square = baseline.mean.powi(2) - share * baseline.variance;
    if square <= 0.0 {
        return None;
    }
    let middle = (phase.mean * baseline.mean - share * covariance) / square;
    let constant = (phase.mean.powi(2) - share * phase.variance) / square;
    let half_width = (middle * middle - constant).max(0.0).sqrt();
    let (low, high) = (middle - half_width, middle + half_width);
    (low.is_finite() && high.is_finite()).then_some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HIGHER: BetterDirection = BetterDirection::Higher;

    /// Rounds in which `w0` wanders widely and the phase keeps about `ratio` of it.
    fn wandering(ratio: f64) -> Vec<(f64, f64)> {
        let round = |round: u32| {
            let level = 30_000.0 + f64::from(round * 7919 % 50) * 1_000.0;
            (level, level * ratio * (1.0 + 0.01 * (f64::from(round * 104_729 % 7) - 3.0)))
        };
        (1..=20).map(round).collect()
    }

    #[test]
    fn drift_between_rounds_cancels() {
        let pressure = pressure_of_rounds(&wandering(0.4), HIGHER);
        let (low, high) = (pressure.ci_low.unwrap(), pressure.ci_high.unwrap());
        assert!(low < 0.6 && 0.6 < high && high - low < 0.02, "{pressure:?}");
        let longer = pressure_of_rounds(&wandering(3.0), BetterDirection::Lower);
        assert!((longer.value.unwrap() - 2.0).abs() < 0.05 && longer.ci_low < longer.value, "{longer:?}");
    }

    #[test]
    fn the_difference_is_just_significant_at_the_ends() {
        let rounds = [(10.0, 7.0), (12.0, 9.5), (8.0, 5.0), (11.0, 8.1), (9.0, 7.2), (10.5, 6.6)];
        let pressure = pressure_of_rounds(&rounds, HIGHER);
        for end in [pressure.ci_low.unwrap(), pressure.ci_high.unwrap()] {
            let differences = rounds.map(|(baseline, phase)| (0.0, phase - (1.0 - end) * baseline));
            assert!((difference_p_value(&differences).unwrap() - SIGNIFICANCE).abs() < 1e-9, "{end}");
        }
    }

    #[test]
    fn what_cannot_have_an_interval_has_its_reason() {
        let reason = |rounds: &[(f64, f64)]| pressure_of_rounds(rounds, HIGHER).reason.unwrap();
        assert!(reason(&wandering(0.4)[..4]).contains("fewer than 5 rounds"));
        assert!(reason(&[]).contains("no round"));
        assert!(reason(&[(0.0, 1.0); 9]).contains("baseline is 0"));
        let mostly_idle = [(0.0, 1.0), (0.0, 2.0), (90.0, 1.0), (0.0, 2.0), (0.0, 2.0)];
        assert!(reason(&mostly_idle).contains("not significantly above 0"));
        assert_eq!(difference_p_value(&[(1.0, 2.0); 4]), None);
    }

    #[test]
    fn rounds_without_a_number_do_not_count() {
        let mut rounds = wandering(0.4);
        let without = pressure_of_rounds(&rounds, HIGHER);
        rounds.push((f64::NAN, 1.0));
        assert_eq!(pressure_of_rounds(&rounds, HIGHER), without);
    }

    #[test]
    fn exact_blocks_have_an_exact_pressure() {
        let pressure = pressure_of_rounds(&[(100.0, 25.0); 6], HIGHER);
        assert_eq!((pressure.value, pressure.ci_low, pressure.ci_high), (Some(0.75), Some(0.75), Some(0.75)));
        assert_eq!(difference_p_value(&[(100.0, 25.0); 6]), Some(0.0));
        assert_eq!(difference_p_value(&[(7.0, 7.0); 6]), Some(1.0));
    }
}
