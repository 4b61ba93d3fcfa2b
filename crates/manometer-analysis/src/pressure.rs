//! Performance and pressure: the mean of the criterion in a phase, and the share of `w0`'s that is lost.

use manometer_measure::plan::BetterDirection;

use crate::estimate::{IntervalEstimate, MeanEstimate};
use crate::statistics::SampleMean;
use crate::statistics::fieller::ratio_interval;
use crate::statistics::moments::{mean, quantiles};

/// The quantiles reported where there is no interval.
const QUANTILES: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];

pub(crate) const TOO_SHORT: &str = "the phase is too short for a confidence interval: run it longer";

/// The performance of a workload in a phase: as reported, and as computed with.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Performance {
    pub(crate) estimate: MeanEstimate,
    /// The mean with its standard error; `None` where there is no interval.
    pub(crate) sample_mean: Option<SampleMean>,
}

impl Performance {
    /// The mean of one number per sample interval, with its confidence interval where there are enough samples.
    pub(crate) fn of(values: &[f64], unit: &str) -> Self {
        Self::with(values, SampleMean::of(values), unit)
    }

    /// The mean of one number per sample interval, with the standard error that the other phases of its run give it.
    pub(crate) fn with(values: &[f64], sample_mean: Option<SampleMean>, unit: &str) -> Self {
        let Some(mean) = mean(values).filter(|mean| mean.is_finite()) else {
            return Self::missing(unit, "no whole sample interval lies in the phase");
        };
        let interval = sample_mean.and_then(|sample_mean| sample_mean.interval());
        let estimate = MeanEstimate {
            mean: Some(mean),
            // Neither a throughput nor a latency is below 0.
            ci_low: interval.map(|(low, _)| low.max(0.0)),
            ci_high: interval.map(|(_, high)| high),
            samples: values.len(),
            unit: unit.to_owned(),
            quantiles: if interval.is_none() { quantiles(values, QUANTILES) } else { None },
            reason: interval.is_none().then(|| TOO_SHORT.to_owned()),
            needed: None,
        };
        Self { estimate, sample_mean: interval.and(sample_mean) }
    }

    /// The same performance without advice on its length.
    pub(crate) fn without_needed_length(mut self) -> Self {
        self.estimate.needed = None;
        self
    }

    /// A performance that was not measured, and why.
    pub(crate) fn missing(unit: &str, reason: &str) -> Self {
        let estimate =
            MeanEstimate { unit: unit.to_owned(), reason: Some(reason.to_owned()), ..MeanEstimate::default() };
        Self { estimate, sample_mean: None }
    }
}

/// The pressure of the baseline itself: 0 by definition.
pub(crate) fn baseline_pressure() -> IntervalEstimate {
    IntervalEstimate::of(0.0, Some((0.0, 0.0)), "")
}

/// The pressure of a phase from the criterion's values in the baseline and in that phase, one per sample interval.
pub fn pressure_of(baseline: &[f64], phase: &[f64], unit: &str, better: BetterDirection) -> IntervalEstimate {
    pressure(&Performance::of(baseline, unit), &Performance::of(phase, unit), better)
}

/// The pressure of `phase` against `baseline`: 1 − phase / baseline where higher is better, phase / baseline − 1 where
/// lower is better (definition 3 of the Storiks thesis), with Fieller's interval of the ratio.
pub(crate) fn pressure(baseline: &Performance, phase: &Performance, better: BetterDirection) -> IntervalEstimate {
    let Some(baseline_mean) = baseline.estimate.mean else {
        return IntervalEstimate::missing("the baseline was not measured");
    };
    let Some(phase_mean) = phase.estimate.mean else {
        return IntervalEstimate::missing(phase.estimate.reason.as_deref().unwrap_or("the phase was not measured"));
    };
    let value = loss(phase_mean / baseline_mean, better);
    if baseline_mean <= 0.0 || !value.is_finite() {
        return IntervalEstimate::missing("the baseline is 0");
    }
    let (Some(baseline), Some(phase)) = (baseline.sample_mean, phase.sample_mean) else {
        return IntervalEstimate::of(value, None, TOO_SHORT);
    };
    let ends = pressure_interval(&baseline, &phase, better);
    IntervalEstimate::of(value, ends, "no confidence interval: the baseline is not significantly above 0")
}

/// The interval of the pressure of `phase` against `baseline`; `None` where `baseline` is not significantly above 0.
pub(crate) fn pressure_interval(
    baseline: &SampleMean,
    phase: &SampleMean,
    better: BetterDirection,
) -> Option<(f64, f64)> {
    ratio_interval(phase, baseline).map(|ends| loss_interval(ends, better))
}

/// What a `ratio` to the baseline is as a loss.
pub(crate) fn loss(ratio: f64, better: BetterDirection) -> f64 {
    match better {
        BetterDirection::Higher => 1.0 - ratio,
        BetterDirection::Lower => ratio - 1.0,
    }
}

/// The interval of a loss from that of the ratio. No throughput and no latency is below 0, and no ratio of them: what an
/// interval has there is cut off.
pub(crate) fn loss_interval((low, high): (f64, f64), better: BetterDirection) -> (f64, f64) {
    let (one, other) = (loss(low.max(0.0), better), loss(high.max(0.0), better));
    (one.min(other), one.max(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(mean: f64) -> Performance {
        Performance::of(&(0..100).map(|t| mean + f64::from((t * 7919) % 13) - 6.0).collect::<Vec<_>>(), "ops/s")
    }

    #[test]
    fn the_sign_follows_the_better_direction() {
        let lost = pressure(&level(100.0), &level(25.0), BetterDirection::Higher);
        assert!((lost.value.unwrap() - 0.75).abs() < 0.01);
        assert!(lost.ci_low.unwrap() < lost.value.unwrap() && lost.value.unwrap() < lost.ci_high.unwrap());
        let slower = pressure(&level(100.0), &level(300.0), BetterDirection::Lower);
        assert!((slower.value.unwrap() - 2.0).abs() < 0.05);
        assert!(slower.ci_low.unwrap() < slower.ci_high.unwrap());
        assert!(pressure(&level(100.0), &level(142.0), BetterDirection::Higher).value.unwrap() < 0.0);
    }

    #[test]
    fn no_end_of_an_interval_is_impossible() {
        let mean = |mean, standard_error| Performance {
            sample_mean: Some(SampleMean { mean, standard_error, degrees_of_freedom: 8.0 }),
            estimate: MeanEstimate { mean: Some(mean), ..MeanEstimate::default() },
        };
        let all_but_lost = pressure(&mean(100.0, 3.0), &mean(1.0, 2.0), BetterDirection::Higher);
        assert_eq!((all_but_lost.value, all_but_lost.ci_high), (Some(0.99), Some(1.0)));
        let fast = pressure(&mean(100.0, 3.0), &mean(1.0, 2.0), BetterDirection::Lower);
        assert_eq!(fast.ci_low, Some(-1.0));
        let mostly_idle: Vec<f64> = (0..60).map(|t| if t == 30 { 100.0 } else { 0.0 }).collect();
        assert_eq!(Performance::of(&mostly_idle, "ops/s").estimate.ci_low, Some(0.0));
    }

    #[test]
    fn an_unmeasured_phase_has_no_pressure_and_a_reason() {
        let missing = Performance::missing("ops/s", "the worker died");
        assert_eq!(
            pressure(&level(100.0), &missing, BetterDirection::Higher).reason.as_deref(),
            Some("the worker died")
        );
        assert_eq!(pressure(&missing, &level(100.0), BetterDirection::Higher).value, None);
        let idle = Performance::of(&[0.0; 100], "ops/s");
        let against_zero = pressure(&idle, &level(100.0), BetterDirection::Higher);
        assert!(against_zero.value.is_none() && against_zero.reason.is_some());
    }

    #[test]
    fn a_short_phase_has_quantiles_instead_of_an_interval() {
        let short = Performance::of(&[5.0, 1.0, 3.0], "ops/s");
        assert_eq!((short.estimate.mean, short.estimate.ci_low, short.estimate.samples), (Some(3.0), None, 3));
        assert_eq!(short.estimate.quantiles.unwrap()[2], 3.0);
        let estimate = pressure(&level(100.0), &short, BetterDirection::Higher);
        assert!(estimate.value.is_some() && estimate.ci_low.is_none() && estimate.reason.is_some());
    }
}
