//! Which rate to measure next, decided from the rates measured so far.
//!
//! The search assumes that where a rate meets the goal every lower one does. Measurements are noisy, so that two of them
//! may contradict that: then both are measured again and the majority counts. The two rates that decide in the end are
//! measured more than once in any case.

use manometer_workload::kv::RATE_MAX;

/// The precision of the answer: the ratio of the lowest rate that misses the goal to the highest that meets it.
const PRECISION: f64 = 1.05;
/// The factor by which the rate grows or shrinks until it is bracketed.
const FACTOR: f64 = 2.0;
/// The lowest rate tried, as a share of a closed loop's rate, but at least one request per second.
const LOWEST_PART: f64 = 1.0 / 1024.0;
/// The most measurements of one rate, and in total.
const TRIES: usize = 3;
const STEPS_MAX: usize = 64;

/// One measured rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trial {
    /// The rate in requests due per second.
    pub rate: f64,
    /// Whether it met the goal.
    pub met: bool,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// Measure this rate.
    Measure(f64),
    /// The search is over: the highest rate that meets the goal, if there is one.
    Done(Option<f64>),
}

/// A search for the highest rate that meets a goal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Search {
    first: f64,
}

/// All measurements of one rate.
#[derive(Debug, Clone, Copy)]
struct TrialCounts {
    rate: f64,
    met: usize,
    times: usize,
}

impl TrialCounts {
    fn is_met(self) -> bool {
        2 * self.met > self.times
    }
}

impl Search {
    /// A search that starts with the rate of a closed loop.
    pub fn new(closed_rate: f64) -> Self {
        Self { first: closed_rate.clamp(1.0, RATE_MAX) }
    }

    /// The next step after `points`.
    pub fn next(&self, points: &[Trial]) -> Step {
        let trials = trials_of(points);
        if trials.is_empty() {
            return Step::Measure(round(self.first));
        }
        if points.len() >= STEPS_MAX {
            return Step::Done(bracket(&trials).0);
        }
        if let Some(rate) = contradiction(&trials) {
            return Step::Measure(rate);
        }
        match bracket(&trials) {
            (Some(met), None) if met >= RATE_MAX => Step::Done(Some(met)),
            (Some(met), None) => Step::Measure(round((met * FACTOR).min(RATE_MAX))),
            (None, Some(missed)) if missed <= self.lowest() => confirmed(&trials, &[missed], None),
            (None, Some(missed)) => Step::Measure(round((missed / FACTOR).max(self.lowest()))),
            (Some(met), Some(missed)) if missed / met <= PRECISION => confirmed(&trials, &[missed, met], Some(met)),
            (Some(met), Some(missed)) => Step::Measure(round((met * missed).sqrt())),
            (None, None) => Step::Done(None),
        }
    }

    fn lowest(&self) -> f64 {
        round((self.first * LOWEST_PART).max(1.0))
    }
}

/// Rounds to whole numbers where that makes no difference.
fn round(rate: f64) -> f64 {
    if rate >= 1000.0 { rate.round() } else { (rate * 100.0).round() / 100.0 }
}

/// The measurements by rate, in ascending order.
fn trials_of(points: &[Trial]) -> Vec<TrialCounts> {
    let mut all: Vec<TrialCounts> = Vec::new();
    for point in points {
        match all.iter_mut().find(|tried| tried.rate == point.rate) {
            Some(tried) => {
                tried.met += usize::from(point.met);
                tried.times += 1;
            }
            None => all.push(TrialCounts { rate: point.rate, met: usize::from(point.met), times: 1 }),
        }
    }
    all.sort_by(|one, other| one.rate.total_cmp(&other.rate));
    all
}

/// The answer, if each of `rates` was measured more than once without a tie; else measures again.
fn confirmed(trials: &[TrialCounts], rates: &[f64], answer: Option<f64>) -> Step {
    let unsure = |one: &&TrialCounts| one.times < 2 || (2 * one.met == one.times && one.times < TRIES);
    let again = trials.iter().filter(|one| rates.contains(&one.rate)).find(unsure);
    again.map_or(Step::Done(answer), |one| Step::Measure(one.rate))
}

/// The rate to measure again: the least measured one among those that contradict one another.
fn contradiction(trials: &[TrialCounts]) -> Option<f64> {
    let (_, missed) = bracket(trials);
    let met_above =
        trials.iter().rev().find(|one| one.is_met()).filter(|one| missed.is_some_and(|missed| one.rate > missed))?;
    let between =
        trials.iter().filter(|one| missed.is_some_and(|missed| one.rate >= missed) && one.rate <= met_above.rate);
    between.filter(|one| one.times < TRIES).min_by_key(|one| one.times).map(|one| one.rate)
}

/// The highest rate that meets the goal below the lowest that misses it, and the latter.
fn bracket(trials: &[TrialCounts]) -> (Option<f64>, Option<f64>) {
    let missed = trials.iter().find(|one| !one.is_met()).map(|one| one.rate);
    let below = trials.iter().take_while(|one| one.is_met()).last().map(|one| one.rate);
    (below, missed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches with `measure`. Returns the answer and the number of measurements.
    fn search(first: f64, mut measure: impl FnMut(f64, usize) -> bool) -> (Option<f64>, usize) {
        let search = Search::new(first);
        let mut points = Vec::new();
        loop {
            match search.next(&points) {
                Step::Done(answer) => return (answer, points.len()),
                Step::Measure(rate) => {
                    let before = points.iter().filter(|point: &&Trial| point.rate == rate).count();
                    points.push(Trial { rate, met: measure(rate, before) });
                }
            }
        }
    }

    #[test]
    fn the_answer_is_met_and_close_to_one_that_is_not() {
        for limit in [3.0, 700.0, 12_345.0, 99_000.0, 150_000.0, 4e6] {
            let (answer, steps) = search(100_000.0, |rate, _| rate <= limit);
            match answer {
                Some(answer) => {
                    assert!(answer <= limit && answer * PRECISION * 1.01 >= limit, "{answer} for {limit}");
                }
                None => assert!(limit < 100_000.0 * LOWEST_PART),
            }
            assert!(steps <= 24, "{steps} steps for {limit}");
        }
    }

    #[test]
    fn nothing_is_found_where_nothing_is_met_and_the_most_where_everything_is() {
        let (answer, steps) = search(1000.0, |_, _| false);
        assert!(answer.is_none() && steps <= 14, "{steps}");
        assert_eq!(search(1000.0, |_, _| true).0, Some(RATE_MAX));
        assert!(search(f64::NAN.max(0.0), |_, _| false).0.is_none());
    }

    #[test]
    fn one_bad_measurement_does_not_decide() {
        let (answer, _) = search(64_000.0, |rate, before| rate <= 20_000.0 && !(rate == 16_000.0 && before == 0));
        assert!(answer.is_some_and(|answer| answer > 18_500.0 && answer <= 20_000.0), "{answer:?}");
        let (answer, _) = search(64_000.0, |rate, before| rate <= 20_000.0 || (rate == 32_000.0 && before == 0));
        assert!(answer.is_some_and(|answer| answer > 18_500.0 && answer <= 20_000.0), "{answer:?}");
    }

    #[test]
    fn pure_noise_comes_to_an_end() {
        let mut state = 1_u64;
        let (_, steps) = search(50_000.0, |_, _| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 63 == 1
        });
        assert!(steps <= STEPS_MAX, "{steps}");
    }
}
