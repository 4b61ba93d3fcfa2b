//! How long the phases of both sides have to be for a comparison of single runs to decide the gate.

use super::runs::{Measurement, RunPhase};

/// The lengths that the sides need, in seconds; `None` for a side that is long enough, and where no length is known.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct NeededLengths {
    pub(super) a_s: Option<f64>,
    pub(super) b_s: Option<f64>,
    /// The rounds that make these lengths in interleaved plans, in whole squares; `None` in ladders.
    pub(super) rounds: Option<usize>,
}

impl NeededLengths {
    /// The lengths at which the gate is decided, whose `edge` the interval of the `ratio` includes; without an interval the
    /// shortest lengths that have one. None with repeats, whose number decides.
    pub(super) fn of(
        a: &[Measurement<'_>],
        b: &[Measurement<'_>],
        ratio: Option<(f64, (f64, f64))>,
        edge: f64,
    ) -> Self {
        let ([(_, a)], [(_, b)]) = (a, b) else { return Self::default() };
        let (a_s, b_s) = match ratio {
            // The width falls with the root of the length.
            Some((ratio, (low, high))) => longer(a, b, ((high - low) / 2.0 / (ratio - edge).abs()).powi(2)),
            None => (a.needed_s, b.needed_s),
        };
        let known = |seconds: Option<f64>| seconds.filter(|seconds| seconds.is_finite() && *seconds > 0.0);
        let (a_s, b_s) = (known(a_s), known(b_s));
        Self { a_s, b_s, rounds: rounds(a, a_s).max(rounds(b, b_s)) }
    }

    /// The longer of both.
    pub(super) fn longest_s(self) -> Option<f64> {
        self.a_s.into_iter().chain(self.b_s).max_by(f64::total_cmp)
    }
}

/// The lengths at which the variance of the ratio is less by `factor`: of the noisier side alone if it makes most of the
/// variance that is to remain, else of both.
fn longer(a: &RunPhase, b: &RunPhase, factor: f64) -> (Option<f64>, Option<f64>) {
    let both = (Some(a.length_s * factor), Some(b.length_s * factor));
    let Some((noise_a, noise_b)) = relative_variance(a).zip(relative_variance(b)) else { return both };
    let wanted = (noise_a + noise_b) / factor;
    let alone = |noisy: f64, quiet: f64| (quiet <= wanted / 2.0).then(|| noisy / (wanted - quiet));
    match noise_a > noise_b {
        true => alone(noise_a, noise_b).map_or(both, |factor| (Some(a.length_s * factor), None)),
        false => alone(noise_b, noise_a).map_or(both, |factor| (None, Some(b.length_s * factor))),
    }
}

/// The variance of the mean, as a share of its square.
fn relative_variance(phase: &RunPhase) -> Option<f64> {
    Some(phase.noise.as_ref()?.variance() / phase.mean?.powi(2)).filter(|share| share.is_finite())
}

/// The number of rounds whose blocks are measured for `needed_s`; `None` in a ladder.
fn rounds(phase: &RunPhase, needed_s: Option<f64>) -> Option<usize> {
    let rounds = phase.blocks as f64 * needed_s.filter(|_| phase.blocks > 0)? / phase.length_s;
    Some((rounds.ceil() as usize).next_multiple_of(phase.balanced_rounds.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::SampleMean;
    use crate::statistics::bootstrap::BatchNoise;

    fn phase(length_s: f64, standard_error: f64) -> RunPhase {
        let series: Vec<f64> = (0..60).map(|index| 100.0 + f64::from(index % 7)).collect();
        let sample_mean = SampleMean { mean: 100.0, standard_error, degrees_of_freedom: 8.0 };
        RunPhase { mean: Some(100.0), length_s, noise: BatchNoise::of(&series, &sample_mean), ..RunPhase::default() }
    }

    #[test]
    fn the_noisy_side_is_lengthened_alone_where_that_is_enough() {
        let (a_s, b_s) = longer(&phase(5_400.0, 0.1), &phase(600.0, 3.0), 9.0);
        assert_eq!(a_s, None);
        assert!((5_400.0..5_500.0).contains(&b_s.unwrap()), "{b_s:?}");
        assert_eq!(longer(&phase(600.0, 3.0), &phase(600.0, 3.0), 4.0), (Some(2_400.0), Some(2_400.0)));
        let (a_s, b_s) = longer(&phase(5_400.0, 2.9), &phase(600.0, 3.0), 4.0);
        assert_eq!((a_s, b_s), (Some(21_600.0), Some(2_400.0)), "each side by its own length");
    }

    #[test]
    fn rounds_are_whole_squares() {
        let phase = RunPhase { blocks: 6, length_s: 6.0, balanced_rounds: 4, ..RunPhase::default() };
        assert_eq!(rounds(&phase, Some(13.0)), Some(16));
        assert_eq!(rounds(&RunPhase { blocks: 0, ..phase }, Some(13.0)), None);
    }
}
