//! Which rate to measure next, decided from the rates measured so far.
//!
//! The search assumes that where a rate meets the goal every lower one does. Measurements are noisy, so that two of them
//! may contradict that: then both are measured again and the majority counts. Once the answer lies between two close rates,
//! the ends of its interval are measured until a binomial test shows that one is met and the other missed.

use manometer_workload::kv::RATE_MAX;

/// How close the two rates are between which the answer lies: within this factor.
pub const PRECISION: f64 = 1.05;
/// By how much the rate grows or shrinks until the answer lies between two rates.
const FACTOR: f64 = 2.0;
/// The lowest rate that is tried: this part of what a closed loop reaches, but not below one a second.
const LOWEST_PART: f64 = 1.0 / 1024.0;
/// How often one rate is measured at most where rates contradict one another.
const TRIALS_MAX: usize = 3;
/// How often one rate is measured at most to show that it is met or missed: the first trial, and one miss among eight
/// more.
const TRIALS_TO_SHOW: usize = 9;
/// How many measurements there are at most.
const STEPS_MAX: usize = 64;
/// The probability by chance at which a rate is shown to be met, or missed.
const SIGNIFICANCE: f64 = 0.05;

/// One measured rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateTrial {
    /// The rate at which requests were due, a second.
    pub rate: f64,
    /// Whether it met the goal.
    pub met: bool,
}

/// The highest rate that meets the goal, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Capacity {
    /// The highest rate that met the goal in most of its trials, with all lower ones; `None` where there is none.
    pub rate: Option<f64>,
    /// The highest rate that is shown to meet it in more than half of all trials; `None` where none is.
    pub low: Option<f64>,
    /// The lowest rate that is shown to miss it in more than half of all trials; `None` where none is.
    pub high: Option<f64>,
}

impl Capacity {
    /// Whether a rate is shown to meet the goal; false where even the lowest is shown to miss it; `None` where neither is
    /// shown.
    pub fn is_met(&self) -> Option<bool> {
        match (self.low, self.rate, self.high) {
            (Some(_), ..) => Some(true),
            (None, None, Some(_)) => Some(false),
            _ => None,
        }
    }
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SearchStep {
    /// Measure this rate.
    Measure(f64),
    /// The search is over.
    Done(Capacity),
}

/// A search for the highest rate that meets a goal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Search {
    first: f64,
}

/// How often a rate was tried, and how often it met the goal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateTrials {
    /// Requests due a second.
    pub rate: f64,
    /// How often it met the goal.
    pub met: usize,
    /// How often it was tried.
    pub trials: usize,
}

impl RateTrials {
    /// The tried rates, ascending.
    pub fn of(trials: &[RateTrial]) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for trial in trials {
            match all.iter_mut().find(|tried| tried.rate == trial.rate) {
                Some(tried) => {
                    tried.met += usize::from(trial.met);
                    tried.trials += 1;
                }
                None => all.push(Self { rate: trial.rate, met: usize::from(trial.met), trials: 1 }),
            }
        }
        all.sort_by(|one, other| one.rate.total_cmp(&other.rate));
        all
    }

    /// Whether it met the goal in most of its trials. Once of two is not most.
    pub fn is_met(self) -> bool {
        2 * self.met > self.trials
    }

    /// Whether chance would hardly make it meet the goal as often, if it did in half of all trials. The first trial
    /// does not count: it chose the rate.
    pub fn is_shown_met(self) -> bool {
        self.trials > 1 && at_least(self.met.saturating_sub(1), self.trials - 1) <= SIGNIFICANCE
    }

    /// The same for missing it.
    pub fn is_shown_missed(self) -> bool {
        let missed = self.trials - self.met;
        self.trials > 1 && at_least(missed.saturating_sub(1), self.trials - 1) <= SIGNIFICANCE
    }
}

/// The probability of `successes` or more among `trials` that succeed half of the time.
fn at_least(successes: usize, trials: usize) -> f64 {
    // The coefficients of a row of Pascal's triangle, one from the other.
    let mut coefficient = 1.0;
    let mut sum = 0.0;
    for taken in 0..=trials {
        if taken >= successes {
            sum += coefficient;
        }
        coefficient *= (trials - taken) as f64 / (taken + 1) as f64;
    }
    sum / 2_f64.powi(trials as i32)
}

impl Search {
    /// A search that begins with what a closed loop reached.
    pub fn new(closed_rate: f64) -> Self {
        Self { first: closed_rate.clamp(1.0, RATE_MAX) }
    }

    /// What to do after `points`.
    pub fn next(&self, points: &[RateTrial]) -> SearchStep {
        let trials = RateTrials::of(points);
        if trials.is_empty() {
            return SearchStep::Measure(round(self.first));
        }
        if points.len() >= STEPS_MAX {
            return SearchStep::Done(capacity(&trials));
        }
        if let Some(rate) = contradiction(&trials) {
            return SearchStep::Measure(rate);
        }
        match bracket(&trials) {
            (Some(met), None) if met < RATE_MAX => SearchStep::Measure(round((met * FACTOR).min(RATE_MAX))),
            (None, Some(missed)) if missed > self.lowest() => {
                SearchStep::Measure(round((missed / FACTOR).max(self.lowest())))
            }
            (Some(met), Some(missed)) if missed / met > PRECISION => SearchStep::Measure(round((met * missed).sqrt())),
            (met, missed) => {
                let unshown = self.candidate_met(&trials, met).or_else(|| candidate_missed(&trials, missed));
                unshown.map_or_else(|| SearchStep::Done(capacity(&trials)), SearchStep::Measure)
            }
        }
    }

    fn lowest(&self) -> f64 {
        round((self.first * LOWEST_PART).max(1.0))
    }

    /// The rate to measure so that one at or below `met` is shown to be met; `None` where one is, or none can be.
    fn candidate_met(&self, trials: &[RateTrials], met: Option<f64>) -> Option<f64> {
        let mut rate = met?;
        loop {
            match trials_at(trials, rate) {
                Some(tried) if tried.is_shown_met() => return None,
                Some(tried) if tried.trials >= TRIALS_TO_SHOW || tried.is_shown_missed() => {
                    let below = trials.iter().rev().find(|other| other.rate < rate).map(|other| other.rate);
                    let next = round(rate / PRECISION).max(self.lowest());
                    if next >= rate {
                        return None;
                    }
                    // A rate that was tried already is as good as a new one close to it.
                    rate = below.filter(|below| *below >= next / PRECISION).unwrap_or(next);
                }
                _ => return Some(rate),
            }
        }
    }
}

/// The rate to measure so that one at or above `missed` is shown to be missed; `None` where one is, or none can be.
fn candidate_missed(trials: &[RateTrials], missed: Option<f64>) -> Option<f64> {
    let mut rate = missed?;
    loop {
        match trials_at(trials, rate) {
            Some(tried) if tried.is_shown_missed() => return None,
            Some(tried) if tried.trials >= TRIALS_TO_SHOW || tried.is_shown_met() => {
                let above = trials.iter().find(|other| other.rate > rate).map(|other| other.rate);
                let next = round((rate * PRECISION).min(RATE_MAX));
                if next <= rate {
                    return None;
                }
                rate = above.filter(|above| *above <= next * PRECISION).unwrap_or(next);
            }
            _ => return Some(rate),
        }
    }
}

fn trials_at(trials: &[RateTrials], rate: f64) -> Option<RateTrials> {
    trials.iter().copied().find(|tried| tried.rate == rate)
}

/// What the trials say of the capacity.
fn capacity(trials: &[RateTrials]) -> Capacity {
    let high = trials.iter().find(|tried| tried.is_shown_missed()).map(|tried| tried.rate);
    let is_below_high = |tried: &&RateTrials| high.is_none_or(|high| tried.rate < high);
    let low = trials.iter().filter(is_below_high).rev().find(|tried| tried.is_shown_met()).map(|tried| tried.rate);
    Capacity { rate: bracket(trials).0, low, high }
}

/// Whole numbers where that changes nothing that matters.
fn round(rate: f64) -> f64 {
    if rate >= 1000.0 { rate.round() } else { (rate * 100.0).round() / 100.0 }
}

/// The rate that is measured again: the one that was measured least among those that contradict one another.
fn contradiction(trials: &[RateTrials]) -> Option<f64> {
    let (_, missed) = bracket(trials);
    let met_above =
        trials.iter().rev().find(|one| one.is_met()).filter(|one| missed.is_some_and(|missed| one.rate > missed))?;
    let between =
        trials.iter().filter(|one| missed.is_some_and(|missed| one.rate >= missed) && one.rate <= met_above.rate);
    between.filter(|one| one.trials < TRIALS_MAX).min_by_key(|one| one.trials).map(|one| one.rate)
}

/// The highest rate that is met below the lowest that is missed, and the latter.
fn bracket(trials: &[RateTrials]) -> (Option<f64>, Option<f64>) {
    let missed = trials.iter().find(|one| !one.is_met()).map(|one| one.rate);
    let below = trials.iter().take_while(|one| one.is_met()).last().map(|one| one.rate);
    (below, missed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches with `measure`; returns the answer and how many measurements it took.
    fn search(first: f64, mut measure: impl FnMut(f64, usize) -> bool) -> (Capacity, usize) {
        let search = Search::new(first);
        let mut points = Vec::new();
        loop {
            match search.next(&points) {
                SearchStep::Done(capacity) => return (capacity, points.len()),
                SearchStep::Measure(rate) => {
                    let before = points.iter().filter(|point: &&RateTrial| point.rate == rate).count();
                    points.push(RateTrial { rate, met: measure(rate, before) });
                }
            }
        }
    }

    #[test]
    fn the_interval_holds_the_limit_and_is_narrow() {
        for limit in [700.0, 12_345.0, 99_000.0, 150_000.0, 4e6] {
            let (capacity, steps) = search(100_000.0, |rate, _| rate <= limit);
            let (low, high) = (capacity.low.unwrap(), capacity.high.unwrap());
            assert!(low <= limit && limit < high && high / low <= PRECISION * 1.01, "{capacity:?} for {limit}");
            assert_eq!(capacity.rate, Some(low));
            assert!(steps <= 32, "{steps} steps for {limit}");
        }
        let (capacity, _) = search(100_000.0, |rate, _| rate <= 3.0);
        assert_eq!((capacity.rate, capacity.low), (None, None));
        assert!(capacity.high.is_some_and(|high| high < 100_000.0 * LOWEST_PART * 1.01), "{capacity:?}");
    }

    #[test]
    fn nothing_is_found_where_nothing_is_met_and_the_most_where_everything_is() {
        let (capacity, steps) = search(1000.0, |_, _| false);
        assert!(capacity.rate.is_none() && capacity.low.is_none() && capacity.high.is_some() && steps <= 18, "{steps}");
        let (capacity, _) = search(1000.0, |_, _| true);
        assert_eq!((capacity.rate, capacity.low, capacity.high), (Some(RATE_MAX), Some(RATE_MAX), None));
        assert!(search(f64::NAN.max(0.0), |_, _| false).0.rate.is_none());
    }

    #[test]
    fn one_bad_measurement_does_not_decide() {
        let holds = |capacity: Capacity| capacity.low.unwrap() > 18_500.0 && capacity.low.unwrap() <= 20_000.0;
        let (capacity, _) = search(64_000.0, |rate, before| rate <= 20_000.0 && !(rate == 16_000.0 && before == 0));
        assert!(holds(capacity), "{capacity:?}");
        let (capacity, _) = search(64_000.0, |rate, before| rate <= 20_000.0 || (rate == 32_000.0 && before == 0));
        assert!(holds(capacity), "{capacity:?}");
    }

    #[test]
    fn a_rate_met_once_and_missed_once_is_not_met() {
        let tried = |met, trials| RateTrials { rate: 1.0, met, trials };
        assert!(!tried(1, 2).is_met() && !tried(1, 2).is_shown_met() && !tried(1, 2).is_shown_missed());
        assert!(tried(2, 3).is_met() && !tried(2, 3).is_shown_met());
        assert!(tried(6, 6).is_shown_met() && !tried(5, 5).is_shown_met(), "the first trial does not count");
        assert!(tried(8, 9).is_shown_met() && !tried(7, 9).is_shown_met());
        assert!(tried(0, 6).is_shown_missed() && tried(1, 9).is_shown_missed());
    }

    #[test]
    fn the_binomial_tail_is_exact() {
        assert_eq!(at_least(5, 5), 1.0 / 32.0);
        assert_eq!(at_least(7, 8), 9.0 / 256.0);
        assert_eq!((at_least(0, 7), at_least(0, 0)), (1.0, 1.0));
    }

    #[test]
    fn rates_that_are_met_now_and_then_widen_the_interval() {
        // Between 10,000 and 14,000 every other trial meets the goal.
        let mut trials = 0;
        let (capacity, steps) = search(50_000.0, |rate, _| {
            trials += 1;
            rate < 10_000.0 || (rate < 14_000.0 && trials % 2 == 0)
        });
        assert!(capacity.low.is_some_and(|low| low < 14_000.0), "{capacity:?}");
        assert!(capacity.high.is_none_or(|high| high >= 10_000.0), "{capacity:?}");
        assert!(steps <= STEPS_MAX, "{steps}");
    }

    #[test]
    fn an_end_covers_the_capacity_in_nineteen_of_twenty_searches() {
        // The chance to meet the goal falls with the rate and is a half at 10,000.
        let mut state = 1_u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let (mut low_wrong, mut high_wrong) = (0, 0);
        for _ in 0..1000 {
            let (capacity, _) = search(40_000.0, |rate, _| uniform() < 1.0 / (1.0 + (rate / 10_000.0).powi(20)));
            low_wrong += usize::from(capacity.low.is_some_and(|low| low > 10_000.0));
            high_wrong += usize::from(capacity.high.is_some_and(|high| high < 10_000.0));
        }
        assert!(low_wrong <= 50 && high_wrong <= 50, "{low_wrong} and {high_wrong} of 1000");
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
