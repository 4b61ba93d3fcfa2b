//! Whether a phase is in steady state, and whether a warm-up is still visible in it.

use crate::statistics::SIGNIFICANCE;
use crate::statistics::moments::mean;
use crate::statistics::mser::warm_up_samples;
use crate::statistics::snia::{ROUNDS, Rounds};
use crate::statistics::trend::Trend;
use crate::time_series::TimeSeries;

/// The length of a round of the SNIA rule, where the phase is long enough for five.
const ROUND_S: f64 = 60.0;

/// The length of the end of a phase that the five rounds cover, where it is as long.
pub(crate) const ROUNDS_S: f64 = ROUND_S * ROUNDS as f64;

/// A round with fewer samples is not tested.
pub const FEWEST_SAMPLES_PER_ROUND: usize = 4;

/// A significant trend counts as drift from this share of the mean over the phase on; a smaller one is real but
/// harmless.
pub const HARMFUL_DRIFT: f64 = 0.05;

/// A warm-up is reported where truncating it would change the mean by this share.
pub const VISIBLE_WARM_UP: f64 = 0.02;

/// The steady-state test of a phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SteadyStateTest {
    /// The spread of its five rounds: its last five minutes, or its fifths if it is shorter.
    pub rounds: Rounds,
    /// The rise of the fitted line over the whole phase, as a share of the mean; below 0 it falls.
    pub drift: f64,
    /// The p-value of the hypothesis of no trend; in the results of a run corrected over its phases (Holm).
    pub drift_p_value: f64,
}

impl SteadyStateTest {
    /// Tests the `series` of a phase of `length_s` seconds; `None` where a round has too few samples or the mean is 0.
    pub fn of(series: &TimeSeries, length_s: f64) -> Option<Self> {
        let rounds = Rounds::of(round_averages(series, length_s)?)?;
        let mean = mean(&series.values).filter(|mean| *mean > 0.0)?;
        let trend = Trend::of(&series.values)?;
        Some(Self { rounds, drift: trend.rise / mean, drift_p_value: trend.p_value })
    }

    /// Whether the phase drifts, significantly and by enough to matter.
    pub fn has_drifted(&self) -> bool {
        self.drift_p_value <= SIGNIFICANCE && self.drift.abs() >= HARMFUL_DRIFT
    }

    /// Whether the phase is in steady state: its rounds agree and it does not drift.
    pub fn is_steady(&self) -> bool {
        self.rounds.is_steady() && !self.has_drifted()
    }
}

fn round_averages(series: &TimeSeries, length_s: f64) -> Option<[f64; ROUNDS]> {
    let round_s = f64::min(ROUND_S, length_s / ROUNDS as f64);
    let first_s = length_s - round_s * ROUNDS as f64;
    let mut rounds: [Vec<f64>; ROUNDS] = Default::default();
    for (end_s, value) in series.end_s.iter().zip(&series.values) {
        // An interval belongs to the round in which it ends, the round's own end included.
        let round = ((end_s - first_s) / round_s).ceil() - 1.0;
        if round >= 0.0 && round < ROUNDS as f64 {
            rounds[round as usize].push(*value);
        }
    }
    if rounds.iter().any(|round| round.len() < FEWEST_SAMPLES_PER_ROUND) {
        return None;
    }
    let mut averages = [0.0; ROUNDS];
    for (average, round) in averages.iter_mut().zip(&rounds) {
        *average = mean(round)?;
    }
    Some(averages)
}

/// A visible warm-up. It is reported, never truncated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WarmUp {
    /// Its length, in seconds from the start of the phase.
    pub length_s: f64,
    /// The change of the mean without it, as a share of the mean.
    pub shift: f64,
}

/// The warm-up that MSER-5 finds in the first half of `series`, where it matters.
pub fn visible_warm_up(series: &TimeSeries) -> Option<WarmUp> {
    let samples = warm_up_samples(&series.values);
    let last = *series.end_s.get(samples.checked_sub(1)?)?;
    let whole = mean(&series.values).filter(|mean| *mean > 0.0)?;
    let shift = (mean(series.values.get(samples..)?)? - whole) / whole;
    (shift.abs() >= VISIBLE_WARM_UP).then_some(WarmUp { length_s: last, shift })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(values: impl IntoIterator<Item = f64>) -> TimeSeries {
        let values: Vec<f64> = values.into_iter().collect();
        TimeSeries { end_s: (1..=values.len()).map(|second| second as f64).collect(), values }
    }

    fn noise(t: usize) -> f64 {
        ((t * 7919) % 13) as f64 - 6.0
    }

    #[test]
    fn a_level_phase_is_steady_and_a_falling_one_is_not() {
        let level = SteadyStateTest::of(&series((0..60).map(|t| 100.0 + noise(t))), 60.0).unwrap();
        assert!(level.is_steady(), "{level:?}");
        let falling = SteadyStateTest::of(&series((0..60).map(|t| 100.0 - t as f64 + noise(t))), 60.0).unwrap();
        assert!(falling.has_drifted() && !falling.is_steady(), "{falling:?}");
    }

    #[test]
    fn a_slow_drift_that_passes_the_snia_rule_is_found() {
        let drifting = series((0..600).map(|t| 100.0 + 0.03 * t as f64 + 0.2 * noise(t)));
        let test = SteadyStateTest::of(&drifting, 600.0).unwrap();
        assert!(test.rounds.is_steady() && test.has_drifted(), "{test:?}");
    }

    #[test]
    fn the_rounds_of_a_long_phase_are_its_last_five_minutes() {
        let late = series((0..600).map(|t| if t < 300 { 50.0 } else { 100.0 }));
        assert_eq!(SteadyStateTest::of(&late, 600.0).unwrap().rounds, Rounds { range: 0.0, excursion: 0.0 });
    }

    #[test]
    fn too_few_samples_are_not_tested() {
        assert_eq!(SteadyStateTest::of(&series([100.0; 10]), 10.0), None);
        assert_eq!(SteadyStateTest::of(&series([0.0; 60]), 60.0), None);
        assert_eq!(SteadyStateTest::of(&TimeSeries::default(), 0.0), None);
    }

    #[test]
    fn a_warm_up_is_reported_where_it_matters() {
        let slow = series((0..100).map(|t| if t < 20 { 10.0 } else { 100.0 + noise(t) }));
        let warm_up = visible_warm_up(&slow).unwrap();
        assert!((15.0..=25.0).contains(&warm_up.length_s) && warm_up.shift > 0.2, "{warm_up:?}");
        assert_eq!(visible_warm_up(&series((0..100).map(|t| 100.0 + noise(t)))), None);
        assert_eq!(visible_warm_up(&TimeSeries::default()), None);
    }
}
