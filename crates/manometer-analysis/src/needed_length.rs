//! How long a phase would have to be for a confidence interval, or for a narrow one.
//!
//! A longer phase is more of the same: its mean has less variance by the factor of its length, and more degrees of
//! freedom by the same factor. Where the phase was not stationary, the estimate is too low.

use crate::estimate::{IntervalEstimate, NeededLength};
use crate::pressure::{Performance, pressure_interval};
use crate::statistics::SampleMean;
use manometer_measure::plan::BetterDirection;

/// An interval of a pressure that is wider than this is too wide: a tenth of the performance in `w0`.
pub const GREATEST_WIDTH: f64 = 0.10;

/// Longer phases than this many times the measured ones are not suggested: the extrapolation would mean nothing.
const GREATEST_FACTOR: f64 = 10_000.0;

/// The steps of the search, each of which halves its range of factors (on a logarithmic scale).
const SEARCH_STEPS: usize = 40;

/// The length at which a phase of `values`, one every `sample_s` seconds, has an interval; `None` where it is not known.
pub(crate) fn for_interval(values: &[f64], sample_s: f64) -> Option<NeededLength> {
    let phase_s = SampleMean::samples_needed(values) as f64 * sample_s;
    let reason = format!("for a confidence interval run each phase at least {}", duration(phase_s));
    (phase_s.is_finite() && phase_s > 0.0).then_some(NeededLength { phase_s, width: None, reason })
}

/// The length at which the interval of the pressure of `phase` against `baseline` is [`GREATEST_WIDTH`] wide; `None`
/// where it is narrower, or there is none at any length. The phases last `phase_s` and `baseline_s` seconds.
pub(crate) fn for_pressure(
    (baseline, baseline_s): (&Performance, f64),
    (phase, phase_s): (&Performance, f64),
    better: BetterDirection,
) -> Option<NeededLength> {
    let (Some(a), Some(b)) = (baseline.sample_mean, phase.sample_mean) else {
        let missing = [baseline, phase].into_iter().filter_map(|performance| performance.estimate.needed.clone());
        return missing.max_by(|one, other| one.phase_s.total_cmp(&other.phase_s));
    };
    let width_at = |factor: f64| {
        let (low, high) = pressure_interval(&lengthened(a, factor), &lengthened(b, factor), better)?;
        Some(high - low)
    };
    let factor = least_factor(|factor| width_at(factor).is_some_and(|width| width <= GREATEST_WIDTH))?;
    let needed_s = factor * baseline_s.max(phase_s);
    let reason = format!(
        "for an interval of the pressure no wider than {GREATEST_WIDTH:.2} run each phase at least {}",
        duration(needed_s)
    );
    let is_longer = factor > 1.0 && needed_s.is_finite() && needed_s > 0.0;
    is_longer.then(|| NeededLength { phase_s: needed_s, width: width_at(factor), reason })
}

/// The measured length of each phase, and the number of rounds, at which the interval of `pressure`, over `rounds` rounds of
/// `measured_s` seconds of each phase, is [`GREATEST_WIDTH`] wide: the width falls with the root of the rounds. `None` where
/// it is narrower, or there is none.
pub(crate) fn for_rounds(pressure: &IntervalEstimate, rounds: usize, measured_s: f64) -> Option<NeededLength> {
    let width = pressure.ci_high? - pressure.ci_low?;
    let factor = (width / GREATEST_WIDTH).powi(2);
    let needed = (rounds as f64 * factor).ceil();
    let reason =
        format!("for an interval of the pressure no wider than {GREATEST_WIDTH:.2} run at least {needed:.0} rounds");
    (factor > 1.0 && factor <= GREATEST_FACTOR).then_some(NeededLength {
        phase_s: factor * measured_s,
        width: Some(GREATEST_WIDTH),
        reason,
    })
}

/// The mean of a phase that is longer by `factor`.
pub(crate) fn lengthened(mean: SampleMean, factor: f64) -> SampleMean {
    SampleMean {
        mean: mean.mean,
        standard_error: mean.standard_error / factor.sqrt(),
        degrees_of_freedom: mean.degrees_of_freedom * factor,
    }
}

/// The least factor from 1 on at which `is_enough`, which stays true once it is; `None` beyond [`GREATEST_FACTOR`].
pub(crate) fn least_factor(is_enough: impl Fn(f64) -> bool) -> Option<f64> {
    if is_enough(1.0) {
        return Some(1.0);
    }
    if !is_enough(GREATEST_FACTOR) {
        return None;
    }
    let mut range = (0.0, GREATEST_FACTOR.ln());
    for _ in 0..SEARCH_STEPS {
        let middle = (range.0 + range.1) / 2.0;
        range = if is_enough(middle.exp()) { (range.0, middle) } else { (middle, range.1) };
    }
    Some(range.1.exp())
}

/// A duration, rounded up: `40 s`, `4 min`, `2 h`.
pub fn duration(seconds: f64) -> String {
    match seconds {
        _ if seconds <= 60.0 => format!("{:.0} s", seconds.ceil()),
        _ if seconds <= 7_200.0 => format!("{:.0} min", (seconds / 60.0).ceil()),
        _ => format!("{:.0} h", (seconds / 3_600.0).ceil()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn performance(mean: f64, standard_error: f64) -> Performance {
        let sample_mean = Some(SampleMean { mean, standard_error, degrees_of_freedom: 8.0 });
        Performance { sample_mean, ..Performance::default() }
    }

    fn for_means(a: (f64, f64), b: (f64, f64)) -> Option<NeededLength> {
        let (a, b) = (performance(a.0, a.1), performance(b.0, b.1));
        for_pressure((&a, 60.0), (&b, 60.0), BetterDirection::Higher)
    }

    #[test]
    fn the_needed_length_gives_the_width() {
        let needed = for_means((100.0, 4.0), (50.0, 4.0)).unwrap();
        assert!((needed.width.unwrap() - GREATEST_WIDTH).abs() < 1e-6, "{needed:?}");
        // Four times the error needs at most sixteen times the length; less, as the degrees of freedom grow too.
        let wider = for_means((100.0, 8.0), (50.0, 8.0)).unwrap();
        let factor = wider.phase_s / needed.phase_s;
        assert!((3.5..=4.0).contains(&factor), "{factor}");
        assert!(needed.reason.contains("0.10") && needed.reason.ends_with("min"), "{}", needed.reason);
    }

    #[test]
    fn a_narrow_interval_needs_nothing_and_a_hopeless_one_has_no_length() {
        assert_eq!(for_means((100.0, 0.1), (50.0, 0.1)), None);
        assert_eq!(for_means((0.0, 1.0), (50.0, 1.0)), None);
    }

    #[test]
    fn half_the_width_over_rounds_needs_four_times_the_rounds() {
        let pressure = IntervalEstimate::of(0.5, Some((0.4, 0.6)), "");
        let needed = for_rounds(&pressure, 20, 20.0).unwrap();
        assert!((needed.phase_s - 80.0).abs() < 1e-9 && needed.reason.ends_with("at least 80 rounds"), "{needed:?}");
        assert_eq!(for_rounds(&IntervalEstimate::of(0.5, Some((0.46, 0.54)), ""), 20, 20.0), None);
        assert_eq!(for_rounds(&IntervalEstimate::missing("none"), 20, 20.0), None);
    }

    #[test]
    fn durations_are_rounded_up() {
        assert_eq!([12.2, 60.0, 61.0, 230.0, 7_201.0].map(duration), ["13 s", "60 s", "2 min", "4 min", "3 h"]);
    }
}
