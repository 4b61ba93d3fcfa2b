//! How long a run would have to be for a confidence interval, or for a narrow one.
//!
//! A longer phase is more of the same: its mean has less variance by the factor of its length, and more degrees of
//! freedom by the same factor. More rounds of an interleaved plan are more pairs of blocks. The variance is known from one
//! run only, and that of the next one scatters as well: a length is advised at which the next interval is narrow enough
//! in four of five repetitions. Where a phase was not stationary, the advice is too short.

use manometer_measure::plan::BetterDirection;
use statrs::distribution::{ContinuousCDF as _, FisherSnedecor};

use crate::estimate::NeededLength;
use crate::interleaved::{MIN_ROUNDS, width_over_rounds};
use crate::pressure::{Performance, pressure_interval};
use crate::prose::capitalised;
use crate::statistics::SampleMean;
use crate::statistics::batches::MOST_BATCHES;
use crate::statistics::memory::WAVE_SAMPLES;

/// An interval of a pressure that is wider than this is too wide: a tenth of the performance in `w0`, or of that in the
/// phase, where that is more.
pub const GREATEST_WIDTH: f64 = 0.10;

/// The share of repetitions whose interval is at most as wide as an advised length promises.
pub const ASSURANCE: f64 = 0.8;

/// How sure an advised length is: [`ASSURANCE`] in words.
const ENOUGH: &str = "which is enough in four of five runs";

/// Longer runs than this many times the measured ones are not advised: the extrapolation would mean nothing.
const GREATEST_FACTOR: f64 = 10_000.0;

/// The steps of the search, each of which halves its range of factors (on a logarithmic scale).
const SEARCH_STEPS: usize = 20;

/// The length at which a phase of `values`, one every `sample_s` seconds, has an interval; `None` where it is not known.
pub(crate) fn for_interval(values: &[f64], sample_s: f64) -> Option<NeededLength> {
    let phase_s = SampleMean::samples_needed(values) as f64 * sample_s;
    let reason = format!("for a confidence interval run each phase for about {}", duration(phase_s));
    (phase_s.is_finite() && phase_s > 0.0).then_some(NeededLength { phase_s, rounds: None, width: None, reason })
}

/// The measured phases, or rounds, whose pressure is to have a narrower interval.
#[derive(Debug, Clone)]
pub(crate) enum ComparedPhases<'a> {
    /// `w0` and a phase with neighbours, each with its length in seconds.
    Ladder {
        /// `w0`.
        baseline: (&'a Performance, f64),
        /// The phase.
        phase: (&'a Performance, f64),
    },
    /// Blocks of both in the same rounds.
    Rounds {
        /// The means of `w0` and of the phase in each round.
        rounds: Vec<(f64, f64)>,
        /// The measured length of a block in seconds.
        block_s: f64,
        /// The number of rounds after which the order is balanced.
        balanced: usize,
    },
}

impl ComparedPhases<'_> {
    /// The length at which the interval of the pressure is `width` wide, where it is wider now or there is none; `None` where
    /// it is as narrow, and where no length is known to do. `purpose` is what the length is needed for.
    pub(crate) fn needed(&self, width: f64, better: BetterDirection, purpose: &str) -> Option<NeededLength> {
        let is_wide = self.expected_width(1.0, better).is_none_or(|now| now > width);
        is_wide.then(|| self.least_length(width, better, 1.0, purpose))?
    }

    /// The least length, from `least` times the measured one on, at which the interval of the pressure is `width` wide; `None`
    /// where none is known.
    pub(crate) fn least_length(
        &self,
        width: f64,
        better: BetterDirection,
        least: f64,
        purpose: &str,
    ) -> Option<NeededLength> {
        match self {
            Self::Ladder { baseline, phase } => for_ladder((*baseline, *phase), width, (better, least), purpose),
            Self::Rounds { rounds, block_s, balanced } => {
                for_rounds(rounds, (*block_s, *balanced), (width, least), purpose)
            }
        }
    }

    /// The width that the interval of a run longer by `factor` is expected to have; `None` where it has none.
    pub(crate) fn expected_width(&self, factor: f64, better: BetterDirection) -> Option<f64> {
        match self {
            Self::Ladder { baseline, phase } => ladder_width((baseline.0, phase.0), factor, better, |_, _| Some(1.0)),
            Self::Rounds { rounds, .. } => {
                let count = (rounds.len() as f64 * factor).floor() as usize;
                width_over_rounds(rounds, count, 1.0)
            }
        }
    }
}

/// The greatest width that is not too wide for an interval of this `pressure`: an eightfold latency need not be known to a
/// tenth of the latency in `w0`.
pub(crate) fn greatest_width(pressure: f64, better: BetterDirection) -> f64 {
    let ratio = match better {
        BetterDirection::Higher => 1.0 - pressure,
        BetterDirection::Lower => 1.0 + pressure,
    };
    GREATEST_WIDTH * ratio.max(1.0)
}

/// What an interval of a pressure no wider than `width` is needed for.
pub(crate) fn narrow_purpose(width: f64) -> String {
    format!("for an interval of the pressure no wider than {width:.2}")
}

fn for_ladder(
    ((baseline, baseline_s), (phase, phase_s)): ((&Performance, f64), (&Performance, f64)),
    width: f64,
    (better, least): (BetterDirection, f64),
    purpose: &str,
) -> Option<NeededLength> {
    if baseline.sample_mean.is_none() || phase.sample_mean.is_none() {
        let missing = [baseline, phase].into_iter().filter_map(|performance| performance.estimate.needed.clone());
        return missing.max_by(|one, other| one.phase_s.total_cmp(&other.phase_s));
    }
    let is_narrow =
        |factor: f64| ladder_width((baseline, phase), factor, better, scatter).is_some_and(|assured| assured <= width);
    let needed_s = least_factor(least, is_narrow)? * baseline_s.max(phase_s);
    let reason = format!("{purpose} run each phase for about {}, {ENOUGH}", duration(needed_s));
    let is_known = needed_s.is_finite() && needed_s > 0.0;
    is_known.then_some(NeededLength { phase_s: needed_s, rounds: None, width: Some(width), reason })
}

/// The width of the interval where both phases are longer by `factor`, their standard errors multiplied by what `scatter`
/// says of the degrees of freedom then and now.
fn ladder_width(
    (baseline, phase): (&Performance, &Performance),
    factor: f64,
    better: BetterDirection,
    scatter: impl Fn(f64, f64) -> Option<f64>,
) -> Option<f64> {
    let longer = |performance: &Performance| {
        let now = performance.sample_mean?;
        let then = lengthened(now, factor, performance.estimate.samples);
        let scatter = scatter(then.degrees_of_freedom, now.degrees_of_freedom)?;
        Some(SampleMean { standard_error: then.standard_error * scatter, ..then })
    };
    let (low, high) = pressure_interval(&longer(baseline)?, &longer(phase)?, better)?;
    Some(high - low)
}

fn for_rounds(
    rounds: &[(f64, f64)],
    (block_s, balanced): (f64, usize),
    (width, least): (f64, f64),
    purpose: &str,
) -> Option<NeededLength> {
    let needed = |count: usize, width: Option<f64>, purpose: &str| NeededLength {
        phase_s: count as f64 * block_s,
        rounds: Some(count),
        width,
        reason: match width {
            Some(_) => format!("{purpose} run about {count} rounds, {ENOUGH}"),
            None => format!("{purpose} run {count} rounds"),
        },
    };
    let whole = |count: f64| (count.ceil() as usize).next_multiple_of(balanced.max(1));
    let measured = rounds.len() as f64;
    if rounds.len() < MIN_ROUNDS {
        return Some(needed(whole(MIN_ROUNDS as f64), None, "for a confidence interval"));
    }
    let is_narrow = |factor: f64| {
        let count = (measured * factor).floor().max(MIN_ROUNDS as f64);
        let scatter = scatter(count - 1.0, measured - 1.0);
        let assured = scatter.and_then(|scatter| width_over_rounds(rounds, count as usize, scatter));
        assured.is_some_and(|assured| assured <= width)
    };
    let factor = least_factor(least, is_narrow)?;
    Some(needed(whole(measured * factor), Some(width), purpose))
}

/// By how much the standard error of a repetition, with `then` degrees of freedom, exceeds that of the run, with `now`, in
/// one of five cases at most (the ratio of two variances: Fisher's F).
fn scatter(then: f64, now: f64) -> Option<f64> {
    let ratio = FisherSnedecor::new(then, now).ok()?.inverse_cdf(ASSURANCE);
    Some(ratio.sqrt()).filter(|scatter| scatter.is_finite())
}

/// The mean of a phase of `samples` samples that is longer by `factor`. A long phase has the degrees of freedom of its slow
/// waves, however long it is.
fn lengthened(mean: SampleMean, factor: f64, samples: usize) -> SampleMean {
    let freedom = mean.degrees_of_freedom * factor;
    let is_long = samples as f64 * factor >= WAVE_SAMPLES as f64;
    let most = ((MOST_BATCHES - 1) / 2 * 2) as f64;
    SampleMean {
        mean: mean.mean,
        standard_error: mean.standard_error / factor.sqrt(),
        degrees_of_freedom: if is_long { freedom.min(most) } else { freedom },
    }
}

/// The least factor from `least` on at which `is_enough`, which stays true once it is; `None` beyond [`GREATEST_FACTOR`].
fn least_factor(least: f64, is_enough: impl Fn(f64) -> bool) -> Option<f64> {
    if is_enough(least) {
        return Some(least);
    }
    if !is_enough(GREATEST_FACTOR) {
        return None;
    }
    let mut range = (least.ln(), GREATEST_FACTOR.ln());
    for _ in 0..SEARCH_STEPS {
        let middle = f64::midpoint(range.0, range.1);
        range = if is_enough(middle.exp()) { (range.0, middle) } else { (middle, range.1) };
    }
    Some(range.1.exp())
}

impl NeededLength {
    /// What to do, as a sentence that names the `phase` that needs most: `For a confidence interval run each phase for about
    /// 4 min; w3 needs most.`
    pub fn advice(&self, phase: &str) -> String {
        format!("{}; {phase} needs most.", capitalised(&self.reason))
    }
}

/// A duration, rounded up to two significant digits: `40 s`, `3.9 min`, `2 h`.
pub fn duration(seconds: f64) -> String {
    match seconds {
        _ if seconds < 100.0 => format!("{} s", rounded_up(seconds)),
        _ if seconds < 6_000.0 => format!("{} min", rounded_up(seconds / 60.0)),
        _ => format!("{} h", rounded_up(seconds / 3_600.0)),
    }
}

/// What `value` may exceed a rounded number by, as a share: the advised length is no more exact than that.
const ROUNDING_TOLERANCE: f64 = 0.005;

/// `value` rounded up to two significant digits.
fn rounded_up(value: f64) -> f64 {
    let least = value * (1.0 - ROUNDING_TOLERANCE);
    if least <= 0.0 {
        return 0.0;
    }
    let digits = 1 - least.log10().floor() as i32;
    // Powers of ten from 1 on are exact.
    let unit = 10_f64.powi(digits.abs());
    if digits >= 0 { (least * unit).ceil() / unit } else { (least / unit).ceil() * unit }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HIGHER: BetterDirection = BetterDirection::Higher;

    fn performance(mean: f64, standard_error: f64) -> Performance {
        let sample_mean = Some(SampleMean { mean, standard_error, degrees_of_freedom: 8.0 });
        Performance { sample_mean, ..Performance::default() }
    }

    fn for_means(a: (f64, f64), b: (f64, f64)) -> Option<NeededLength> {
        let (a, b) = (performance(a.0, a.1), performance(b.0, b.1));
        let phases = ComparedPhases::Ladder { baseline: (&a, 60.0), phase: (&b, 60.0) };
        phases.needed(GREATEST_WIDTH, HIGHER, &narrow_purpose(GREATEST_WIDTH))
    }

    #[test]
    fn the_needed_length_gives_the_width_with_a_margin_for_the_scatter() {
        let needed = for_means((100.0, 4.0), (50.0, 4.0)).unwrap();
        let (a, b) = (performance(100.0, 4.0), performance(50.0, 4.0));
        let phases = ComparedPhases::Ladder { baseline: (&a, 60.0), phase: (&b, 60.0) };
        let expected = phases.expected_width(needed.phase_s / 60.0, HIGHER).unwrap();
        assert!(expected < 0.9 * GREATEST_WIDTH && expected > 0.5 * GREATEST_WIDTH, "{expected}");
        // Four times the error needs at most sixteen times the length; less, as the degrees of freedom grow too.
        let wider = for_means((100.0, 8.0), (50.0, 8.0)).unwrap();
        let factor = wider.phase_s / needed.phase_s;
        assert!((3.0..=4.0).contains(&factor), "{factor}");
        let reason = &needed.reason;
        assert!(reason.contains("0.10") && reason.ends_with(" min, which is enough in four of five runs"), "{reason}");
        assert!(
            needed
                .advice("w1")
                .starts_with("For an interval of the pressure no wider than 0.10 run each phase for about ")
        );
        assert!(needed.advice("w1").ends_with(" runs; w1 needs most."));
    }

    #[test]
    fn an_interval_may_be_a_tenth_of_the_larger_performance() {
        assert_eq!([0.6, 0.0, -1.0].map(|loss| greatest_width(loss, HIGHER)), [0.10, 0.10, 0.20]);
        assert_eq!([-0.5, 0.0, 7.0].map(|rise| greatest_width(rise, BetterDirection::Lower)), [0.10, 0.10, 0.80]);
    }

    #[test]
    fn a_narrow_interval_needs_nothing_and_a_hopeless_one_has_no_length() {
        assert_eq!(for_means((100.0, 0.1), (50.0, 0.1)), None);
        assert_eq!(for_means((0.0, 1.0), (50.0, 1.0)), None);
    }

    #[test]
    fn the_degrees_of_freedom_of_a_long_phase_do_not_grow() {
        let mean = SampleMean { mean: 1.0, standard_error: 1.0, degrees_of_freedom: 6.0 };
        assert_eq!(lengthened(mean, 2.0, 100).degrees_of_freedom, 12.0);
        assert_eq!(lengthened(mean, 4.0, 100).degrees_of_freedom, 8.0);
        assert_eq!(lengthened(mean, 4.0, 100).standard_error, 0.5);
    }

    /// Rounds whose phase keeps half of `w0`, with noise of the share `noise`.
    fn rounds(count: u32, noise: f64) -> ComparedPhases<'static> {
        let one = |round: u32| {
            let pattern = f64::from(round * 7919 % 13) - 6.0;
            (100.0, 50.0 + noise * 10.0 * pattern)
        };
        ComparedPhases::Rounds { rounds: (0..count).map(one).collect(), block_s: 1.0, balanced: 4 }
    }

    #[test]
    fn rounds_are_advised_in_whole_squares() {
        let needed = |rounds: ComparedPhases<'_>| rounds.needed(0.10, HIGHER, "for a test");
        let (some, more) = (needed(rounds(20, 0.5)).unwrap(), needed(rounds(20, 1.0)).unwrap());
        let (some, more) = (some.rounds.unwrap(), more.rounds.unwrap());
        assert!(some > 20 && some.is_multiple_of(4) && more.is_multiple_of(4), "{some} {more}");
        assert!((3.0..=4.2).contains(&(more as f64 / some as f64)), "{some} {more}");
        assert_eq!(needed(rounds(20, 0.05)), None, "it is narrow");
        let few = needed(rounds(4, 0.5)).unwrap();
        assert_eq!((few.rounds, few.width), (Some(8), None));
        assert_eq!(few.reason, "for a confidence interval run 8 rounds");
        assert_eq!(few.phase_s, 8.0);
    }

    #[test]
    fn durations_are_rounded_up_to_two_digits() {
        assert_eq!([0.0, 4.21, 12.2, 60.02, 61.0].map(duration), ["0 s", "4.2 s", "13 s", "60 s", "61 s"]);
        assert_eq!([100.0, 180.003, 230.0, 4_140.0].map(duration), ["1.7 min", "3 min", "3.9 min", "69 min"]);
        assert_eq!([7_201.0, 12_700.0, 1.3e6].map(duration), ["2 h", "3.6 h", "360 h"]);
    }
}

#[cfg(test)]
#[path = "needed_length_tests.rs"]
mod simulated;
